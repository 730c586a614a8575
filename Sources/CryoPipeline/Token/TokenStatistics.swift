// What happened to one token since the start: counts of its events, and when it last changed.
// Domain: shared

import CryoSync

package final class TokenStatistics: Sendable {
    /// How refreshes end, as metrics and the admin side name it.
    package enum RefreshEnd: String, Sendable, CaseIterable { case renewed, rejected, failed, dropped }

    private struct State {
        var counts: [RefreshEnd: UInt64] = [:]
        var changedAt: Int64?
        var hadToken: Bool
    }
    private let state: Mutex<State>

    /// `changedAt`: when the first token was taken, nil when there is none yet. Seconds since 1970.
    package init(changedAt: Int64?) { state = Mutex(State(changedAt: changedAt, hadToken: changedAt != nil)) }

    package func count(_ end: RefreshEnd) { state.withLock { $0.counts[end, default: 0] += 1 } }

    package func changed(at unixSeconds: Int64) {
        state.withLock { state in
            state.changedAt = unixSeconds
            state.hadToken = true
        }
    }

    package func count(of end: RefreshEnd) -> UInt64 { state.withLock { $0.counts[end] ?? 0 } }
    package var changedAt: Int64? { state.withLock { $0.changedAt } }
    /// There has been a token since the start.
    package var hadToken: Bool { state.withLock { $0.hadToken } }
}
