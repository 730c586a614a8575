// Bounds how often a token may be refreshed because the upstream refused it (ledger RF7).
// Domain: pure

/// Remembers the times of the last `limit` refreshes. Failed tries that may work later are not counted (ledger B-A3): an
/// endpoint that is down must not use up the window.
package struct RefreshWindow: Sendable {
    private let limit: Int
    private let length: UInt64
    private var times: [UInt64] = []

    /// At most `limit` refreshes in any `seconds`.
    package init(limit: Int, seconds: Int64) {
        self.limit = limit
        length = UInt64(max(0, seconds)) * 1_000_000_000
    }

    /// True when another refresh would exceed the limit.
    package mutating func isExceeded(at nanoseconds: UInt64) -> Bool {
        times.removeAll { nanoseconds >= $0 &+ length }
        return times.count >= limit
    }

    package mutating func count(at nanoseconds: UInt64) {
        if times.count < limit { times.append(nanoseconds) }
    }
}
