// Counts what happens to a token's store and knows whether it works, for the log, the metrics and the admin side.
// Domain: shared

import CryoSync

/// What may happen to a store, by name.
package enum TokenStoreOutcome: String, Sendable, CaseIterable {
    case written
    case writeFailed = "write_failed"
    /// What was there could not be understood and is kept beside the store.
    case corruptKeptAside = "corrupt_kept_aside"
    /// The pair was refused for good and is kept beside the store.
    case refusedKeptAside = "refused_kept_aside"
    /// The process before this one ended while a refresh was under way.
    case interrupted

    /// The file's lock can't be taken: another gateway that keeps its login there is not waited for.
    case notLocked = "not_locked"

    // Only where several gateways share a store.
    /// A newer pair of another gateway was taken instead of refreshing.
    case adopted
    /// Another gateway was refreshing.
    case leaseAwaited = "lease_awaited"
    /// The lease ran out while this gateway refreshed.
    case leaseLost = "lease_lost"
    /// Two gateways renewed from the same version; the pair that was there first counts.
    case conflict
    /// Another gateway was told that the login is over.
    case refusedElsewhere = "refused_elsewhere"
    /// A refresh by local rules: the shared store could not be asked.
    case refreshedAlone = "refreshed_alone"
    case unreachable
    case regained
}

package struct TokenStoreStatus: Sendable, Equatable {
    package enum Kind: String, Sendable { case memory, file, redis }

    package var kind: Kind
    /// Where it is; nil in memory.
    package var place: String?
    /// nil: it works, as far as is known.
    package var trouble: String?
    package var counts: [TokenStoreOutcome: UInt64] = [:]
}

package final class TokenStoreMonitor: Sendable {
    private let state: Mutex<TokenStoreStatus>

    package init(_ kind: TokenStoreStatus.Kind, place: String? = nil) { state = Mutex(TokenStoreStatus(kind: kind, place: place)) }

    package var status: TokenStoreStatus { state.withLock { $0 } }

    package func count(of outcome: TokenStoreOutcome) -> UInt64 { state.withLock { $0.counts[outcome] ?? 0 } }

    @discardableResult
    func count(_ outcome: TokenStoreOutcome) -> UInt64 {
        state.withLock { state in
            state.counts[outcome, default: 0] += 1
            return state.counts[outcome] ?? 0
        }
    }

    /// True when it worked before: the moment to say so.
    func fail(_ trouble: String, as outcome: TokenStoreOutcome) -> Bool {
        state.withLock { state in
            state.counts[outcome, default: 0] += 1
            defer { state.trouble = trouble }
            return state.trouble == nil
        }
    }

    /// True when it did not work before.
    func work() -> Bool {
        state.withLock { state in
            defer { state.trouble = nil }
            return state.trouble != nil
        }
    }
}
