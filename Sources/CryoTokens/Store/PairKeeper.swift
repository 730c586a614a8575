// Owns a source's refresh token between refreshes, and its way to the disk.
// Domain: cold (called on the token's own queue)

import CryoIO
import CryoPipeline
import CryoSync
import Dispatch

/// The credential store may throw a refreshed pair away (a logout, another login); the refresh token it came with is
/// used up all the same. So the source remembers which one it presented last and what came of it.
final class PairKeeper: Sendable {
    private struct State {
        var refreshToken: Secret?
        /// The last one that must not be presented again: rotated or refused.
        var spent: Secret?
        /// `refreshToken` is that of a login from outside: what a refresh of an earlier login brings is not kept.
        var isAdopted = false
        /// A pair that another gateway renewed.
        var elsewhere: NewCredential?
        /// A pair that is not on disk yet.
        var unwritten: NewCredential?
        var isRetrying = false
        var retries: UInt32 = 0
    }

    /// Between two tries to write a pair that could not be written: the first and the longest.
    private static let retryMilliseconds: ClosedRange<UInt32> = 1000...30_000

    private let store: TokenStoreFile?
    private let monitor: TokenStoreMonitor
    private let report: @Sendable (TokenReport) -> Void
    private let state: Mutex<State>
    /// Serializes the writes of a refresh with those that are tried again.
    private let queue = DispatchQueue(label: "cryonet.token.store")

    init(
        store: TokenStoreFile?, refreshToken: Secret?, monitor: TokenStoreMonitor = TokenStoreMonitor(.memory),
        report: @escaping @Sendable (TokenReport) -> Void
    ) {
        self.store = store
        self.monitor = monitor
        self.report = report
        state = Mutex(State(refreshToken: refreshToken))
    }

    /// The refresh token to present now; nil when there is none that may still work.
    func refreshToken(for current: Credential?) -> Secret? {
        state.withLock { state in
            if let held = current?.refreshToken, !held.isEmpty, state.spent.map({ !$0.matches(held) }) ?? true { return held }
            return state.refreshToken
        }
    }

    /// Takes a new pair and returns it completed once it is on disk, or once it was said that it is not.
    func keep(_ new: NewCredential, presented: Secret?) -> NewCredential {
        var pair = new
        if pair.refreshToken == nil { pair.refreshToken = presented }
        let kept = pair.refreshToken
        queue.sync {
            let isOutdated = state.withLock { state -> Bool in
                if state.isAdopted, let presented, !(state.refreshToken?.matches(presented) ?? false) { return true }
                state.refreshToken = kept
                state.elsewhere = nil
                if let presented, let kept, !presented.matches(kept) { state.spent = presented }
                return false
            }
            if let store, !isOutdated { write(pair, to: store) }
        }
        return pair
    }

    /// A login from outside, nil for a logout: what was kept before is gone, also from the disk. Returns when that is done.
    func adopt(_ new: NewCredential?) {
        queue.sync {
            state.withLock { state in
                state.refreshToken = new?.refreshToken
                state.isAdopted = true
                state.elsewhere = nil
                state.unwritten = nil
            }
            guard let store else { return }
            if let new { return write(new, to: store) }
            do throws(SystemError) {
                try store.remove()
            } catch {
                let cause = String(describing: error)
                if monitor.fail(cause, as: .writeFailed) { report(.storeNotWritten(path: store.path, cause: cause)) }
            }
        }
    }

    /// The endpoint will never take that refresh token again. The file that holds it is set aside, else each start would
    /// prefer it to what the user puts into `initial`. A file that holds another one is left alone.
    func forget(_ refused: Secret?) {
        guard let refused else { return }
        state.withLock { state in
            state.spent = refused
            if let held = state.refreshToken, held.matches(refused) { state.refreshToken = nil }
            if let unwritten = state.unwritten?.refreshToken, unwritten.matches(refused) { state.unwritten = nil }
        }
        guard let store, case .pair(let pair, _) = store.read(), let stored = pair.refreshToken, stored.matches(refused) else { return }
        if case .success(let keptAs) = store.setAside(as: "rejected") {
            monitor.count(.refusedKeptAside)
            report(.storeSetAside(path: store.path, keptAs: keptAs))
        }
    }

    /// False while the file holds an older pair than this gateway.
    var isWritten: Bool { state.withLock { $0.unwritten == nil } }

    // MARK: Shared with other gateways

    /// Takes over a pair that another gateway renewed: what was held here is used up.
    func takeOver(_ pair: NewCredential) {
        state.withLock { state in
            if let held = state.refreshToken, let new = pair.refreshToken, !held.matches(new) { state.spent = held }
            state.refreshToken = pair.refreshToken ?? state.refreshToken
            state.elsewhere = pair
        }
    }

    /// What to refresh from: a pair that was taken over is later than the credential in use.
    func base(_ current: Credential?) -> Credential? {
        guard let later = state.withLock({ $0.elsewhere }), let current, !current.token.matches(later.token) else { return current }
        return Credential(
            token: later.token, refreshToken: later.refreshToken ?? current.refreshToken, expiresAt: later.expiresAt,
            version: current.version, revision: current.revision, injectedValue: [])
    }

    func holds(_ refreshToken: Secret?) -> Bool {
        guard let refreshToken else { return false }
        return state.withLock { $0.refreshToken.map { $0.matches(refreshToken) } ?? false }
    }

    var spent: Secret? { state.withLock { $0.spent } }

    // MARK: Writing

    /// A pair that can't be written is said to be so once, and tried again until it is written or a newer one is.
    private func write(_ pair: NewCredential, to store: TokenStoreFile) {
        do throws(StoreWriteError) {
            if let aside = try store.replace(with: pair) {
                monitor.count(.corruptKeptAside)
                report(.storeCorrupt(path: store.path, keptAs: aside.keptAs, cause: aside.cause))
            }
            monitor.count(.written)
            state.withLock { $0.unwritten = nil }
            if monitor.work() {
                store.clearMark()
                report(.storeWritten(path: store.path))
            }
        } catch {
            let cause = String(describing: error)
            if monitor.fail(cause, as: .writeFailed) { report(.storeNotWritten(path: store.path, cause: cause)) }
            state.withLock { $0.unwritten = pair }
            scheduleRetry(store)
        }
    }

    private func scheduleRetry(_ store: TokenStoreFile) {
        let retries = state.withLock { state -> UInt32? in
            if state.isRetrying { return nil }
            state.isRetrying = true
            state.retries += 1
            return state.retries
        }
        guard let retries else { return }
        let delay = min(Self.retryMilliseconds.lowerBound << min(retries - 1, 5), Self.retryMilliseconds.upperBound)
        queue.asyncAfter(deadline: .now() + .milliseconds(Int(delay))) { [weak self] in self?.retry(store) }
    }

    private func retry(_ store: TokenStoreFile) {
        let pair = state.withLock { state in
            state.isRetrying = false
            if state.unwritten == nil { state.retries = 0 }
            return state.unwritten
        }
        if let pair { write(pair, to: store) }
    }
}
