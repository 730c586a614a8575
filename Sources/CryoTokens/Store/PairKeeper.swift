// Owns a source's refresh token between refreshes, and its way to the disk.
// Domain: cold (called on the token's own queue)

import CryoIO
import CryoPipeline
import CryoSync

/// The credential store may throw a refreshed pair away (a logout, another login); the refresh token it came with is
/// used up all the same. So the source remembers which one it presented last and what came of it.
final class PairKeeper: Sendable {
    private struct State {
        var refreshToken: Secret?
        /// The last one that must not be presented again: rotated or refused.
        var spent: Secret?
    }

    private let store: TokenStoreFile?
    private let report: @Sendable (TokenReport) -> Void
    private let state: Mutex<State>

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
    func keep(_ new: NewCredential, presented: Secret?) -> NewCredential {
        var pair = new
        if pair.refreshToken == nil { pair.refreshToken = presented }
        let kept = pair.refreshToken
        state.withLock { state in
            state.refreshToken = kept
            if let presented, let kept, !presented.matches(kept) { state.spent = presented }
        }
        guard let store else { return pair }
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
