// Renews a token in the background before it ends, when it was used since it came: then nobody waits for the next one.
// Domain: cold (its own serial queue)

import CryoIO
package import CryoPipeline
import CryoSync
import Dispatch

/// An idle gateway lets its tokens end: the next use gets a new one. The gate bounds tries and backs off after failures.
package final class EarlyRefresher: Sendable {
    /// The clock may be set and a token replaced: nothing is planned further ahead.
    package static let lookSecondsMax: Int64 = 30

    private final class StoreReference {
        weak var store: CredentialStore?
    }

    private struct State {
        /// Counts starts, stops and nudges: a look belongs to the one it came from.
        var generation: UInt64 = 0
        var isRunning = false
        var reference = StoreReference()
    }

    private let queue = DispatchQueue(label: "cryonet.token.early")
    private let state = Mutex(State())

    package init() {}

    /// The store's report may call `nudge`: so the store is known later than this, and not kept alive by it.
    package func watch(_ store: CredentialStore) { state.withLock { $0.reference.store = store } }

    package func start() {
        let generation = state.withLock { state -> UInt64? in
            guard !state.isRunning else { return nil }
            state.isRunning = true
            state.generation += 1
            return state.generation
        }
        if let generation { schedule(generation, after: 0) }
    }

    package func stop() {
        state.withLock { state in
            state.isRunning = false
            state.generation += 1
        }
    }

    /// There is a new token: what was planned is no longer right.
    package func nudge() {
        let generation = state.withLock { state -> UInt64? in
            guard state.isRunning else { return nil }
            state.generation += 1
            return state.generation
        }
        if let generation { schedule(generation, after: 0) }
    }

    private func schedule(_ generation: UInt64, after seconds: Int64) {
        queue.asyncAfter(deadline: .now() + .seconds(Int(seconds))) { [weak self] in self?.look(generation) }
    }

    private func look(_ generation: UInt64) {
        let store = state.withLock { $0.isRunning && $0.generation == generation ? $0.reference.store : nil }
        guard let store else { return }
        let plan = Self.plan(store.snapshot(), now: Clock.unixMicroseconds() / 1_000_000)
        if plan.refreshes { store.refreshInBackground() }
        schedule(generation, after: plan.lookAgainSeconds)
    }

    struct Plan: Equatable {
        var refreshes: Bool
        var lookAgainSeconds: Int64
    }

    static func plan(_ credential: Credential?, now: Int64) -> Plan {
        guard let credential, let refreshAt = credential.refreshAt, let expiresAt = credential.expiresAt, now < expiresAt else {
            return Plan(refreshes: false, lookAgainSeconds: lookSecondsMax)
        }
        if now < refreshAt { return Plan(refreshes: false, lookAgainSeconds: min(refreshAt - now, lookSecondsMax)) }
        // One that is used only now refreshes itself.
        return credential.isUsed ? Plan(refreshes: true, lookAgainSeconds: 1) : Plan(refreshes: false, lookAgainSeconds: lookSecondsMax)
    }
}
