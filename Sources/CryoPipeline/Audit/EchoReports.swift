// Counts answers that carried a live secret to a client, and says so.
// Domain: shared (one lock)

import CryoSync

package final class EchoReports: Sendable {
    private static let intervalNanoseconds: UInt64 = 60_000_000_000

    private let state = Mutex<(count: UInt64, saidAt: UInt64?)>((0, nil))
    private let warn: @Sendable (String) -> Void

    package init(warn: @escaping @Sendable (String) -> Void) { self.warn = warn }

    package var count: UInt64 { state.withLock { $0.count } }

    /// Says so once a minute.
    func note(route: String, isBlocked: Bool = false, nanoseconds: UInt64) {
        let count = state.withLock { state -> UInt64? in
            state.count += 1
            if let last = state.saidAt, nanoseconds < last &+ Self.intervalNanoseconds { return nil }
            state.saidAt = nanoseconds
            return state.count
        }
        guard let count else { return }
        let (what, whither) = isBlocked ? ("was stopped: it carried", "") : ("carried", " to the client")
        warn("an answer on route \(route) \(what) one of the gateway's secrets\(whither); \(count) so far")
    }
}
