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
        /// The last ones that must not be presented again: rotated or refused.
        var spent: [Secret] = []
        /// What the last refresh brought; nil once something else happened to the login.
        var latest: NewCredential?
        /// `refreshToken` is that of a login from outside: what a refresh of an earlier login brings is not kept.
        var isAdopted = false
        /// Counts logins from outside and ends: what a flight brings that began before the last one is not kept.
        var adoptions: UInt64 = 0
        /// A pair that another gateway renewed.
        var elsewhere: NewCredential?
        /// What is not on disk yet.
        var unwritten: NewCredential?
        /// What the file held when it was last read or written: anything else is another gateway's.
        var known: StoredLogin
        var isRetrying = false
        var retries: UInt32 = 0
    }

    /// Used up refresh tokens that are remembered.
    static let spentMax = 8
    /// Between two tries to write a pair that could not be written: the first and the longest.
    private static let retryMilliseconds: ClosedRange<UInt32> = 1000...30_000

    /// What a look at the file found.
    enum Look {
        /// Nothing that this gateway does not know.
        case same
        case pair(NewCredential)
        case loggedOut
    }

    private let store: TokenStoreFile?
    private let initial: @Sendable () -> InitialPair
    let monitor: TokenStoreMonitor
    private let report: @Sendable (TokenReport) -> Void
    private let state: Mutex<State>
    /// Where its source is asked. A reload may make another source for the same login: that one asks after this one.
    let asking = DispatchQueue(label: "cryonet.token.asking")
    /// Serializes the writes of a refresh with those that are tried again.
    private let queue = DispatchQueue(label: "cryonet.token.store")

    /// `holding`: what was read of the store. `initial` is asked at a logout.
    init(
        store: TokenStoreFile?, holding known: StoredLogin = .nothing, refreshToken: Secret?,
        initial: @escaping @Sendable () -> InitialPair = { InitialPair() }, monitor: TokenStoreMonitor = TokenStoreMonitor(.memory),
        report: @escaping @Sendable (TokenReport) -> Void
    ) {
        self.store = store
        self.initial = initial
        self.monitor = monitor
        self.report = report
        state = Mutex(State(refreshToken: refreshToken, known: known))
    }

    /// The refresh token to present now; nil when there is none that may still work.
    func refreshToken(for current: Credential?) -> Secret? {
        state.withLock { state in
            if let held = current?.refreshToken, !held.isEmpty, !state.spent.contains(where: { $0.matches(held) }) { return held }
            return state.refreshToken
        }
    }

    /// To be read before the source is asked, and given to `keep`.
    var adoptions: UInt64 { state.withLock { $0.adoptions } }

    /// What another source of this login has renewed since: a reload made this one while that was asking. nil: `current` is the latest.
    func renewedSince(_ current: Credential?, now: Int64) -> NewCredential? {
        state.withLock { state in
            guard let latest = state.latest, let held = current?.refreshToken, state.spent.contains(where: { $0.matches(held) }),
                current?.token.matches(latest.token) == false, latest.expiresAt.map({ $0 > now }) ?? true
            else { return nil }
            return latest
        }
    }

    /// Takes a new pair and returns it completed once it is on disk, or once it was said that it is not.
    func keep(_ new: NewCredential, presented: Secret?, since adoptions: UInt64? = nil) -> NewCredential {
        var pair = new
        if pair.refreshToken == nil { pair.refreshToken = presented }
        let kept = pair.refreshToken
        queue.sync {
            let isOutdated = state.withLock { state -> Bool in
                if let adoptions, adoptions != state.adoptions { return true }
                if state.isAdopted, let presented, !(state.refreshToken?.matches(presented) ?? false) { return true }
                state.refreshToken = kept
                state.latest = pair
                state.elsewhere = nil
                if let presented, let kept, !presented.matches(kept) { Self.spend(presented, in: &state) }
                return false
            }
            if let store, !isOutdated {
                write(pair, to: store, overOthers: false)
                pair.isUnwritten = !isWritten
            }
        }
        return pair
    }

    /// A login from outside, or the end of one: what was kept before is gone, also from the disk. Returns when that is done.
    func adopt(_ change: LoginChange) {
        let new: NewCredential? = if case .login(let new) = change { new } else { nil }
        queue.sync {
            let known = state.withLock { state -> StoredLogin in
                state.refreshToken = new?.refreshToken
                state.isAdopted = true
                state.adoptions += 1
                state.latest = nil
                state.elsewhere = nil
                state.unwritten = nil
                return state.known
            }
            guard let store else { return }
            do throws(StoreWriteError) {
                switch change {
                case .login(let new): write(new, to: store, overOthers: true)
                case .loggedOut: try end(.loggedOut(LogoutMark(of: initial())), in: store)
                case .expired:
                    // What another gateway has put there since is not what was refused.
                    guard case .pair(let pair, _) = store.read(), known.isSame(as: .pair(pair)) else { return }
                    try end(.nothing, in: store)
                }
            } catch {
                let cause = String(describing: error)
                if monitor.fail(cause, as: .writeFailed) { report(.storeNotWritten(path: store.path, cause: cause)) }
            }
        }
    }

    private func end(_ end: StoredLogin, in store: TokenStoreFile) throws(StoreWriteError) {
        // Sets aside what must not be overwritten.
        _ = try isElsewhere(store)
        do throws(SystemError) {
            if case .loggedOut(let mark) = end { try store.write(mark) } else { try store.remove() }
        } catch {
            throw .system(error)
        }
        state.withLock { $0.known = end }
    }

    /// The endpoint will never take that refresh token again. The file that holds it is set aside, else each start would
    /// prefer it to what the user puts into `initial`. A file that holds another one is left alone.
    func forget(_ refused: Secret?) {
        guard let refused else { return }
        state.withLock { state in
            Self.spend(refused, in: &state)
            state.latest = nil
            if let held = state.refreshToken, held.matches(refused) { state.refreshToken = nil }
            if let unwritten = state.unwritten?.refreshToken, unwritten.matches(refused) { state.unwritten = nil }
        }
        guard let store, case .pair(let pair, _) = store.read(), let stored = pair.refreshToken, stored.matches(refused) else { return }
        if case .success(let keptAs) = store.setAside(as: "rejected") {
            state.withLock { $0.known = .nothing }
            monitor.count(.refusedKeptAside)
            report(.storeSetAside(path: store.path, keptAs: keptAs))
        }
    }

    /// False while the file holds an older pair than this gateway.
    var isWritten: Bool { state.withLock { $0.unwritten == nil } }

    // MARK: Shared with other gateways

    /// Reads the file, and takes over what another gateway has put there.
    func look() -> Look {
        guard let store else { return .same }
        let found: StoredLogin
        switch store.read() {
        case .absent: found = .nothing
        case .pair(let pair, _): found = .pair(pair)
        case .loggedOut(let mark): found = .loggedOut(mark)
        case .corrupt(let cause, let keptAs):
            monitor.count(.corruptKeptAside)
            report(.storeCorrupt(path: store.path, keptAs: keptAs, cause: cause))
            found = .nothing
        // The write will tell.
        case .failed: return .same
        }
        let isNew = state.withLock { state -> Bool in
            defer { state.known = found }
            return !state.known.isSame(as: found)
        }
        guard isNew else { return .same }
        switch found {
        case .nothing: return .same
        case .pair(let pair):
            takeOver(pair)
            return .pair(pair)
        case .loggedOut:
            state.withLock { state in
                state.refreshToken = nil
                state.elsewhere = nil
                state.unwritten = nil
            }
            return .loggedOut
        }
    }

    /// Takes over a pair that another gateway renewed: what was held here is used up.
    func takeOver(_ pair: NewCredential) {
        state.withLock { state in
            if let held = state.refreshToken, let new = pair.refreshToken, !held.matches(new) { Self.spend(held, in: &state) }
            state.refreshToken = pair.refreshToken ?? state.refreshToken
            state.elsewhere = pair
            state.latest = nil
            state.unwritten = nil
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

    var spent: Secret? { state.withLock { $0.spent.last } }

    private static func spend(_ refreshToken: Secret, in state: inout State) {
        state.spent.append(refreshToken)
        state.spent.removeFirst(max(0, state.spent.count - spentMax))
    }

    // MARK: Writing

    /// A pair that can't be written is said to be so once, and tried again until it is written or a newer one is. Unless `overOthers`
    /// what another gateway has put there since stays: it counts, and the next look finds it.
    private func write(_ pair: NewCredential, to store: TokenStoreFile, overOthers: Bool) {
        do throws(StoreWriteError) {
            if try isElsewhere(store), !overOthers {
                monitor.count(.conflict)
                report(.sharedStoreConflict(place: store.path))
            } else {
                do throws(SystemError) { try store.write(pair) } catch { throw .system(error) }
                monitor.count(.written)
                state.withLock { $0.known = .pair(pair) }
            }
            state.withLock { $0.unwritten = nil }
            if monitor.work() { report(.storeWritten(path: store.path)) }
        } catch {
            let cause = String(describing: error)
            if monitor.fail(cause, as: .writeFailed) { report(.storeNotWritten(path: store.path, cause: cause)) }
            state.withLock { $0.unwritten = pair }
            scheduleRetry(store)
        }
    }

    /// Whether the file holds what this gateway does not know. What no program of this version can understand is set aside before.
    private func isElsewhere(_ store: TokenStoreFile) throws(StoreWriteError) -> Bool {
        let known = state.withLock { $0.known }
        switch store.read() {
        case .absent: return false
        case .pair(let pair, _): return !known.isSame(as: .pair(pair))
        case .loggedOut(let mark): return !known.isSame(as: .loggedOut(mark))
        case .failed(let cause): throw .occupied(cause: cause)
        case .corrupt(let cause, let keptAs):
            monitor.count(.corruptKeptAside)
            report(.storeCorrupt(path: store.path, keptAs: keptAs, cause: cause))
            return false
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
        guard let pair else { return }
        var lock: StoreLock?
        switch store.lock() {
        // A refresh is on its way: it brings a newer pair, or none and this one is tried again.
        case .held: return scheduleRetry(store)
        case .taken(let taken): lock = taken
        case .failed, .unsupported: break
        }
        write(pair, to: store, overOthers: false)
        lock?.release(leavesMark: !isWritten)
    }
}
