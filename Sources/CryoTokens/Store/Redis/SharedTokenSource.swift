// Makes several gateways that share one login refresh it once: the source behind it is asked under a lease, and what it
// answers is shared with the others.
// Domain: cold (its own serial queue; one connection for each refresh)
//
// A refresh goes: look whether another gateway has a newer pair → take the lease, or wait for its holder → look again →
// ask the source, renewing the lease meanwhile → write the new pair if nobody else has written → release.
// While Redis can't be reached each gateway refreshes for itself; what it gets is written as soon as Redis is back.

import CryoIO
package import CryoPipeline
import CryoSync
import Dispatch
import Glibc

package final class SharedTokenSource: TokenRefresher {
    private struct State {
        /// The version of the shared entry that this gateway knows.
        var version: UInt64
        /// A pair that was renewed while Redis could not be reached.
        var unpublished: NewCredential?
        var probes: UInt32 = 0
        var isProbing = false
    }

    /// Between two looks at a lease that another gateway holds: the first and the longest.
    private static let pollMilliseconds: ClosedRange<UInt32> = 10...200
    /// Between two tries to reach a Redis that is down: the first and the longest.
    private static let probeMilliseconds: ClosedRange<UInt32> = 1000...30_000

    private let inner: any TokenRefresher
    private let keeper: PairKeeper
    private let settings: RedisStoreSettings
    private let patienceNanoseconds: UInt64
    private let monitor: TokenStoreMonitor
    private let report: @Sendable (TokenReport) -> Void
    private let queue: DispatchQueue
    private let owner = RedisTokenLink.randomOwner()
    private let state: Mutex<State>

    /// `version`: of the entry that was read at the start, 0 for none. `patienceMilliseconds`: how long to wait for another gateway's
    /// refresh.
    init(
        _ inner: any TokenRefresher, keeper: PairKeeper, settings: RedisStoreSettings, version: UInt64, patienceMilliseconds: UInt32,
        monitor: TokenStoreMonitor, report: @escaping @Sendable (TokenReport) -> Void
    ) {
        self.inner = inner
        self.keeper = keeper
        self.settings = settings
        patienceNanoseconds = UInt64(patienceMilliseconds) * 1_000_000
        self.monitor = monitor
        self.report = report
        queue = DispatchQueue(label: "cryonet.token.shared.\(settings.key)")
        state = Mutex(State(version: version))
    }

    package var canRefresh: Bool { inner.canRefresh }
    package var canIssue: Bool { inner.canIssue }

    package func refresh(_ current: Credential?, completion: @escaping @Sendable (RefreshResult) -> Void) {
        queue.async { [self] in completion(refresh(current)) }
    }

    /// Tries again and again to reach a Redis that was down at the start.
    func startProbing(after cause: String) { lost(cause) }

    private func refresh(_ current: Credential?) -> RefreshResult {
        var hasWaited = false
        do throws(RedisError) {
            let link = try open()
            let result = try refresh(current, link, hasWaited: &hasWaited)
            found()
            return result
        } catch {
            lost(String(describing: error))
            // The other one may have used up the refresh token by now, and presenting it again could end the login for both.
            if hasWaited { return .failed(detail: "another gateway was refreshing when the shared store was lost") }
            return refreshAlone(current)
        }
    }

    // MARK: Together

    private func refresh(_ current: Credential?, _ link: RedisTokenLink, hasWaited: inout Bool) throws(RedisError) -> RefreshResult {
        try publishLeftover(link)
        let giveUpAt = Clock.monotonicNanoseconds() &+ patienceNanoseconds
        var pause = Self.pollMilliseconds.lowerBound
        while true {
            if let answer = try newer(than: current, link) { return answer }
            if try link.acquire() {
                defer { try? link.release() }
                // The last holder may have been done between the look and the lease.
                if let answer = try newer(than: current, link) { return answer }
                return lead(current, link)
            }
            if !hasWaited { monitor.count(.leaseAwaited) }
            hasWaited = true
            guard Clock.monotonicNanoseconds() < giveUpAt else {
                return .failed(detail: "another gateway has been refreshing for \(patienceNanoseconds / 1_000_000) ms")
            }
            usleep(UInt32.random(in: pause / 2...pause) * 1000)
            pause = min(pause * 2, Self.pollMilliseconds.upperBound)
        }
    }

    /// What the entry says beyond what this gateway knows; nil when a refresh is needed.
    private func newer(than current: Credential?, _ link: RedisTokenLink) throws(RedisError) -> RefreshResult? {
        switch try link.read() {
        case .absent: return nil
        case .corrupt(let cause, let keptAs):
            monitor.count(.corruptKeptAside)
            report(.storeCorrupt(path: place, keptAs: keptAs, cause: cause))
            return nil
        case .refused(let refreshToken, let version):
            guard learn(version), keeper.holds(refreshToken) else { return nil }
            keeper.forget(refreshToken)
            monitor.count(.refusedElsewhere)
            return .rejected(detail: "another gateway was told that the refresh token is refused")
        case .pair(let pair, let version):
            guard learn(version) else { return nil }
            keeper.takeOver(pair)
            // An expired pair is of use for its refresh token only, which the keeper has now.
            let isExpired = pair.expiresAt.map { $0 <= Clock.unixSeconds() } ?? false
            if isExpired || current?.token.matches(pair.token) == true { return nil }
            monitor.count(.adopted)
            return .renewed(pair)
        }
    }

    private func learn(_ version: UInt64) -> Bool {
        state.withLock { state in
            guard version > state.version else { return false }
            state.version = version
            return true
        }
    }

    private func lead(_ current: Credential?, _ link: RedisTokenLink) -> RefreshResult {
        let result = ask(current, renewing: link)
        switch result {
        case .renewed(let pair): return share(pair, current)
        case .rejected(let detail): return judgeRefusal(detail, current)
        case .unchanged, .failed: return result
        }
    }

    /// Asks the source, and keeps the lease while it has no answer.
    private func ask(_ current: Credential?, renewing link: RedisTokenLink?) -> RefreshResult {
        let answer = Mutex<RefreshResult?>(nil)
        let answered = DispatchSemaphore(value: 0)
        inner.refresh(keeper.base(current)) { result in
            answer.withLock { $0 = result }
            answered.signal()
        }
        var holdsLease = link != nil
        while answered.wait(timeout: .now() + .milliseconds(Int(settings.leaseMilliseconds / 3))) == .timedOut {
            guard holdsLease, let link else { continue }
            // Nothing can be undone now: the endpoint has been asked. What comes of it is settled by compare-and-swap.
            holdsLease = (try? link.renew()) ?? false
            if !holdsLease { monitor.count(.leaseLost) }
        }
        return answer.withLock { $0 } ?? .failed(detail: "the source gave no answer")
    }

    /// Over a new connection: the old one was idle for as long as the source took.
    private func share(_ pair: NewCredential, _ current: Credential?) -> RefreshResult {
        state.withLock { $0.unpublished = pair }
        do throws(RedisError) {
            let link = try open()
            guard try publishLeftover(link) else { return try newer(than: current, link) ?? .renewed(pair) }
        } catch {
            lost(String(describing: error))
        }
        return .renewed(pair)
    }

    /// A refusal counts only when nobody has a newer pair.
    private func judgeRefusal(_ detail: String, _ current: Credential?) -> RefreshResult {
        do throws(RedisError) {
            let link = try open()
            if let answer = try newer(than: current, link) { return answer }
            let version = state.withLock { $0.version }
            if let spent = keeper.spent, case .pair(let pair, let stored) = try link.read(), stored == version,
                pair.refreshToken?.matches(spent) == true, case .written(let next) = try link.refuse(spent, after: version)
            {
                monitor.count(.refusedKeptAside)
                _ = learn(next)
            }
            return .rejected(detail: detail)
        } catch {
            lost(String(describing: error))
            return .failed(detail: "\(detail), and the shared store can't be asked whether another gateway has a newer pair")
        }
    }

    /// False when another gateway has written a later version: then that one counts.
    @discardableResult
    private func publishLeftover(_ link: RedisTokenLink) throws(RedisError) -> Bool {
        let (pair, version) = state.withLock { ($0.unpublished, $0.version) }
        guard let pair else { return true }
        let write = try link.publish(pair, after: version)
        state.withLock { $0.unpublished = nil }
        switch write {
        case .written(let next):
            _ = learn(next)
            monitor.count(.written)
            return true
        case .conflict:
            monitor.count(.conflict)
            report(.sharedStoreConflict(place: place))
            return false
        }
    }

    // MARK: From outside

    /// A login from outside, or the end of one, that the other gateways hear of at their next refresh. Blocks.
    func adopt(_ change: LoginChange) {
        let new: NewCredential? = if case .login(let new) = change { new } else { nil }
        queue.sync {
            keeper.adopt(change)
            state.withLock { $0.unpublished = new }
            do throws(RedisError) {
                let link = try open()
                // It replaces whatever is there.
                switch try link.read() {
                case .absent, .corrupt: break
                case .refused(_, let version): _ = learn(version)
                case .pair(let pair, let version):
                    _ = learn(version)
                    let refreshToken = pair.refreshToken ?? Secret("")
                    if new == nil, case .written(let next) = try link.refuse(refreshToken, after: version) { _ = learn(next) }
                }
                try publishLeftover(link)
                found()
            } catch {
                lost(String(describing: error))
            }
        }
    }

    // MARK: Alone

    private func refreshAlone(_ current: Credential?) -> RefreshResult {
        monitor.count(.refreshedAlone)
        let result = ask(current, renewing: nil)
        switch result {
        case .renewed(let pair): state.withLock { $0.unpublished = pair }
        case .rejected(let detail):
            // Another gateway may have a newer pair: that is no end of a login.
            return .failed(detail: "\(detail), and the shared store can't be asked whether another gateway has a newer pair")
        case .unchanged, .failed: break
        }
        return result
    }

    private var place: String { settings.place }

    private func open() throws(RedisError) -> RedisTokenLink { try RedisTokenLink(settings, owner: owner) }

    private func lost(_ cause: String) {
        if monitor.fail(cause, as: .unreachable) { report(.sharedStoreLost(place: place, cause: cause)) }
        let isProbing = state.withLock { state in
            defer { state.isProbing = true }
            if !state.isProbing { state.probes = 0 }
            return state.isProbing
        }
        if !isProbing { scheduleProbe() }
    }

    private func found() {
        guard monitor.work() else { return }
        monitor.count(.regained)
        report(.sharedStoreRegained(place: place))
    }

    private func scheduleProbe() {
        let probes = state.withLock { state in
            defer { state.probes += 1 }
            return state.probes
        }
        let delay = min(Self.probeMilliseconds.lowerBound << min(probes, 5), Self.probeMilliseconds.upperBound)
        queue.asyncAfter(deadline: .now() + .milliseconds(Int(delay))) { [weak self] in self?.probe() }
    }

    private func probe() {
        do throws(RedisError) {
            let link = try open()
            try link.ping()
            try publishLeftover(link)
            state.withLock { $0.isProbing = false }
            found()
        } catch {
            scheduleProbe()
        }
    }
}
