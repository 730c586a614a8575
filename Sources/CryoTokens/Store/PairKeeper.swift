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
    }

    private let store: TokenStoreFile?
    private let report: @Sendable (TokenReport) -> Void
    private let state: Mutex<State>
    /// Writing is one at a time: a login may come while a refresh ends.
    private let disk = DispatchQueue(label: "cryonet.token.store")

    init(store: TokenStoreFile?, refreshToken: Secret?, report: @escaping @Sendable (TokenReport) -> Void) {
        self.store = store
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
    func keep(_ new: NewCredential, presented: Secret?) -> NewCredential { disk.sync { keepPair(new, presented: presented) } }

    /// A login from outside, nil for a logout: what was kept before is gone, also from the disk. Returns when that is done.
    func adopt(_ new: NewCredential?) {
        disk.sync {
            state.withLock { state in
                state.refreshToken = new?.refreshToken
                state.isAdopted = true
            }
            guard let store else { return }
            do throws(SystemError) {
                if let new { try store.write(new) } else { try store.remove() }
            } catch {
                report(.storeNotWritten(path: store.path, cause: String(describing: error)))
            }
        }
    }

    private func keepPair(_ new: NewCredential, presented: Secret?) -> NewCredential {
        var pair = new
        if pair.refreshToken == nil { pair.refreshToken = presented }
        let kept = pair.refreshToken
        let isOutdated = state.withLock { state -> Bool in
            if state.isAdopted, let presented, !(state.refreshToken?.matches(presented) ?? false) { return true }
            state.refreshToken = kept
            if let presented, let kept, !presented.matches(kept) { state.spent = presented }
            return false
        }
        guard let store, !isOutdated else { return pair }
        do throws(SystemError) {
            try store.write(pair)
        } catch {
            report(.storeNotWritten(path: store.path, cause: String(describing: error)))
        }
        return pair
    }

    /// The endpoint will never take that refresh token again. The file that holds it is set aside, else each start would
    /// prefer it to what the user puts into `initial`. A file that holds another one is left alone.
    func forget(_ refused: Secret?) {
        guard let refused else { return }
        state.withLock { state in
            state.spent = refused
            if let held = state.refreshToken, held.matches(refused) { state.refreshToken = nil }
        }
        guard let store, case .pair(let pair, _) = store.read(), let stored = pair.refreshToken, stored.matches(refused) else { return }
        if case .success(let keptAs) = store.setAside(as: "rejected") { report(.storeSetAside(path: store.path, keptAs: keptAs)) }
    }
}
