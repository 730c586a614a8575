// What the admin side is shown of the exchanges: finished ones as their audit records, running ones as events.
// Domain: shared

package import CryoSync

/// Made once for a gateway with an admin listener and kept over reloads.
package final class ExchangeFeed: Sendable {
    package static let exchangesMax = 10_000
    package static let exchangesBytesMax = 16 << 20
    package static let eventsMax = 8_192
    package static let eventsBytesMax = 2 << 20

    /// One audit record per exchange, redacted, under the exchange's id.
    package let exchanges: RecordRing
    /// What happens inside the exchanges; told only while somebody listens.
    package let events: RecordRing

    /// What readers came too late for, all together.
    package let exchangesDropped = Atomic<UInt64>(0)
    package let eventsDropped = Atomic<UInt64>(0)

    package init(
        exchanges: RecordRing = RecordRing(countMax: exchangesMax, bytesMax: exchangesBytesMax),
        events: RecordRing = RecordRing(countMax: eventsMax, bytesMax: eventsBytesMax)
    ) {
        self.exchanges = exchanges
        self.events = events
    }

    package func close() {
        exchanges.close()
        events.close()
    }
}
