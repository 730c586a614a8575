// What the configuration says about the streams of a route.
// Domain: pure

/// `routes[].streams`. By default nothing is added to a stream and nothing done about its end.
package struct StreamSettings: Sendable, Equatable {
    /// What becomes of an event stream whose upstream is lost in the middle.
    package enum Loss: String, Sendable, CaseIterable {
        /// The reply ends without its last chunk.
        case cut
        /// As `cut`, behind an event that tells the failure.
        case errorEvent = "error_event"
        /// Asked for again from the last event on; as `errorEvent` when that fails.
        case reconnect
    }

    /// Between two reads of a stream, in the place of the upstream's idle time: silence is normal there (ledger TO3).
    package var idleMilliseconds: UInt32 = 3_600_000
    /// The client gets a comment when it has had nothing for this long. 0: none.
    package var heartbeatMilliseconds: UInt32 = 0
    package var onLoss = Loss.cut
    package var reconnect = ReconnectSettings()

    package init() {}
}

package struct ReconnectSettings: Sendable, Equatable {
    /// Attempts without an event between them.
    package var limit: UInt32 = 3
    /// The wait before the first, doubled before each further one, where the stream has no `retry` of its own.
    package var delayMilliseconds: UInt32 = 1_000
    /// From the loss to the answer of the attempt that goes on.
    package var totalMilliseconds: UInt32 = 30_000

    package init() {}

    /// `asked`: the stream's own `retry`. A quarter more by chance, so that the clients of an upstream that has gone down do not come back
    /// all at once; never less than what was asked for.
    func delayNanoseconds(number: UInt32, asked: UInt64?, retryAfterSeconds: Int64?, random: UInt64) -> UInt64 {
        var delay = min(asked ?? UInt64(delayMilliseconds), Self.delayMillisecondsMax)
        delay = min(delay << UInt64(min(number, 16)), Self.delayMillisecondsMax)
        if let retryAfterSeconds, retryAfterSeconds > 0 {
            delay = max(delay, min(UInt64(retryAfterSeconds), Self.delayMillisecondsMax / 1000) * 1000)
        }
        return delay * 1_000_000 + random % max(delay * 250_000, 1)
    }

    /// A day: the total time is over long before.
    static let delayMillisecondsMax: UInt64 = 86_400_000
}
