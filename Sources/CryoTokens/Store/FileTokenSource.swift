// Makes gateways that keep one login in the same file refresh it once: the source behind it is asked under the file's lock, and
// what it answered is on disk before the lock is free.
// Domain: cold (its own serial queue)
//
// A refresh goes: take the lock, or wait for its holder → look whether the file has a newer pair → ask the source, whose pair is
// written on the way → release. The lock dies with its process, and its file stays: the next one knows that a refresh was cut off.
// Between the endpoint's answer and the file there is a window that no client can close: whoever dies in it has used up the refresh
// token that is on the disk. Endpoints that accept the last one for a grace period bridge it. The mark only lets us say it.

import CryoIO
package import CryoPipeline
import CryoSync
import Dispatch
import Glibc

package final class FileTokenSource: TokenRefresher {
    /// Between two looks at a lock that another gateway holds: the first and the longest.
    private static let pollMilliseconds: ClosedRange<UInt32> = 2...50
    /// How long a login or logout waits for another gateway's refresh. Later it is written all the same, and that refresh is not.
    private static let adoptMilliseconds: UInt64 = 2_000

    private let inner: any TokenRefresher
    private let keeper: PairKeeper
    private let store: TokenStoreFile
    private let patienceMilliseconds: UInt64
    private let monitor: TokenStoreMonitor
    private let report: @Sendable (TokenReport) -> Void
    private let queue: DispatchQueue
    /// A refresh of our own holds the lock or waits for it: a login or logout must not wait for that.
    private let isRefreshing = Atomic<Bool>(false)

    /// `patienceMilliseconds`: how long to wait for another gateway's refresh.
    init(
        _ inner: any TokenRefresher, keeper: PairKeeper, store: TokenStoreFile, patienceMilliseconds: UInt32, monitor: TokenStoreMonitor,
        report: @escaping @Sendable (TokenReport) -> Void
    ) {
        self.inner = inner
        self.keeper = keeper
        self.store = store
        self.patienceMilliseconds = UInt64(patienceMilliseconds)
        self.monitor = monitor
        self.report = report
        queue = DispatchQueue(label: "cryonet.token.file.\(store.path)")
    }

    package var canRefresh: Bool { inner.canRefresh }
    /// Another gateway may have logged in: asking finds out, and costs a look at the file.
    package var canIssue: Bool { true }

    package func refresh(_ current: Credential?, completion: @escaping @Sendable (RefreshResult) -> Void) {
        queue.async { [self] in
            isRefreshing.store(true, ordering: .sequentiallyConsistent)
            refreshLocked(current) { [self] result in
                isRefreshing.store(false, ordering: .sequentiallyConsistent)
                completion(result)
            }
        }
    }

    /// A login from outside, a logout, or the end of a login, which the other gateways hear of at their next refresh. Blocks.
    func adopt(_ change: LoginChange) {
        var lock: StoreLock?
        if !isRefreshing.load(ordering: .sequentiallyConsistent), case .taken(let taken) = wait(Self.adoptMilliseconds) { lock = taken }
        keeper.adopt(change)
        lock?.release(leavesMark: !keeper.isWritten)
    }

    // MARK: Under the lock

    private func refreshLocked(_ current: Credential?, _ completion: @escaping @Sendable (RefreshResult) -> Void) {
        let lock: StoreLock?
        switch wait(patienceMilliseconds) {
        case .taken(let taken):
            lock = taken
            // A mark of our own stands for a pair that could not be written.
            if taken.foundMark, keeper.isWritten {
                monitor.count(.interrupted)
                report(.storeInterrupted(path: store.path))
            }
        case .held:
            return completion(.failed(detail: "another gateway has been refreshing for \(patienceMilliseconds) ms"))
        case .failed:
            // Where no lock file can be made the pair can't be written either, and that is said then.
            monitor.count(.notLocked)
            lock = nil
        case .unsupported(let error):
            if monitor.count(.notLocked) == 1 { report(.storeNotLocked(path: store.path, cause: String(describing: error))) }
            lock = nil
        }
        if let answer = newer(than: current) {
            lock?.release(leavesMark: !keeper.isWritten)
            return completion(answer)
        }
        inner.refresh(keeper.base(current)) { [self] result in
            // A login or logout that did not wait for us, in this gateway or another one, counts more than what we brought.
            let answer = newer(than: current) ?? result
            lock?.release(leavesMark: !keeper.isWritten)
            completion(answer)
        }
    }

    /// What the file says beyond what this gateway knows; nil when a refresh is needed.
    private func newer(than current: Credential?) -> RefreshResult? {
        switch keeper.look() {
        case .same: return nil
        case .loggedOut:
            monitor.count(.refusedElsewhere)
            return .rejected(detail: "another gateway was asked to log out")
        case .pair(let pair):
            // An expired pair is of use for its refresh token only, which the keeper has now.
            let isExpired = pair.expiresAt.map { $0 <= Clock.unixSeconds() } ?? false
            if isExpired || current?.token.matches(pair.token) == true { return nil }
            monitor.count(.adopted)
            return .renewed(pair)
        }
    }

    private func wait(_ milliseconds: UInt64) -> StoreLock.Attempt {
        let giveUpAt = Clock.monotonicNanoseconds() &+ milliseconds * 1_000_000
        var pause = Self.pollMilliseconds.lowerBound
        var hasWaited = false
        while true {
            let attempt = store.lock()
            guard case .held = attempt else { return attempt }
            if !hasWaited { monitor.count(.leaseAwaited) }
            hasWaited = true
            guard Clock.monotonicNanoseconds() < giveUpAt else { return attempt }
            usleep(UInt32.random(in: pause / 2...pause) * 1000)
            pause = min(pause * 2, Self.pollMilliseconds.upperBound)
        }
    }
}
