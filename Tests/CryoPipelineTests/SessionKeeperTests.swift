// A login that several tokens share: it begins and ends for all of them, and each event is told once.
// Domain: cold

import CryoSync
import Dispatch
import Testing

@testable import CryoPipeline

private final class Told: SessionObserver {
    private let kept = Mutex<[SessionEvent]>([])
    func observe(_ event: SessionEvent, of session: String, tokens: [String]) { kept.withLock { $0.append(event) } }
    var all: [SessionEvent] { kept.withLock { $0 } }
    var names: [String] { all.map(\.name) }
}

/// Persisting ends when the test says so.
private final class Disk: Sendable {
    private let waiting = Mutex<[@Sendable () -> Void]>([])
    private let seen = Mutex<[String]>([])
    let isHeld: Bool
    init(isHeld: Bool = false) { self.isHeld = isHeld }

    func persist(_ change: LoginChange, _ completion: @escaping @Sendable () -> Void) {
        seen.withLock { $0.append(text(of: change)) }
        if isHeld { waiting.withLock { $0.append(completion) } } else { completion() }
    }

    /// What was put on it and taken from it, in order.
    var changes: [String] { seen.withLock { $0 } }

    private func text(of change: LoginChange) -> String {
        switch change {
        case .login: "login"
        case .loggedOut: "loggedOut"
        case .expired: "expired"
        }
    }

    func release() {
        let all = waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
        for one in all { one() }
    }
}

private final class House {
    let keeper: SessionKeeper
    /// What waits for the bound of a logout.
    let timers = Disk(isHeld: true)
    let told = Told()
    let clock = ManualClock()
    var stores: [String: CredentialStore] = [:]
    var refreshers: [String: ScriptedRefresher] = [:]

    init(_ names: [String], initial: [String: String], disk: Disk = Disk()) {
        let clock = clock
        let keeper = SessionKeeper(
            name: "user", revision: .random(), monotonic: { clock.nanoseconds },
            later: { [timers] _, work in timers.persist(.expired, work) }, observer: told)
        self.keeper = keeper
        for name in names {
            let refresher = ScriptedRefresher()
            var settings = tokenSettings { _ in }
            settings.name = name
            let store = CredentialStore(
                settings: settings, refresher: refresher, initial: initial[name].map { NewCredential(token: Secret($0)) },
                monotonic: { clock.nanoseconds },
                report: { name, event in
                    switch event {
                    case .sessionExpired(let revision): keeper.storeExpired(revision)
                    case .sessionBegan(let revision): keeper.storeBegan(name, revision)
                    default: break
                    }
                })
            stores[name] = store
            refreshers[name] = refresher
            keeper.join(SessionKeeper.Member(store: store, persist: disk.persist))
        }
    }

    func revision(_ name: String) -> SessionRevision? { stores[name]?.snapshot()?.revision }
}

@Suite("A session that tokens share")
struct SessionKeeperTests {
    @Test("tokens that are there at the start share one revision, and nothing is told")
    func start() {
        let house = House(["a", "b", "c"], initial: ["a": "token-a", "b": "token-b"])
        #expect(house.keeper.session.state == .authenticated)
        #expect(house.revision("a") == house.keeper.session.revision && house.revision("b") == house.keeper.session.revision)
        #expect(house.revision("c") == nil && house.told.all.isEmpty)
    }

    @Test("of many ends at once, by either token, exactly one is told, and it ends both")
    func oneEnd() throws {
        let house = House(["a", "b"], initial: ["a": "token-a", "b": "token-b"])
        let revision = house.keeper.session.revision
        let stores = try [#require(house.stores["a"]), #require(house.stores["b"])]
        DispatchQueue.concurrentPerform(iterations: 400) { index in _ = stores[index % 2].logOut(expected: revision) }
        #expect(house.told.all == [.expired(revision: revision)])
        #expect(stores.allSatisfy { $0.snapshot() == nil })
        #expect(house.keeper.session.state == .unauthenticated && house.keeper.session.revision != revision)
    }

    @Test("a refused refresh of one token ends the login of the other")
    func refusal() {
        let house = House(["a", "b"], initial: ["a": "token-a", "b": "token-b"])
        let revision = house.keeper.session.revision
        house.stores["a"]?.refreshInBackground(.refused(version: 1))
        house.refreshers["a"]?.end(.rejected(detail: "no"))
        #expect(house.told.all == [.expired(revision: revision)] && house.stores["b"]?.snapshot() == nil)
    }

    @Test("an end of the login before, while another one is on its way to the disk, takes nothing from the disk")
    func endDuringLogin() {
        let disk = Disk(isHeld: true)
        let house = House(["a", "b"], initial: ["a": "token-a", "b": "token-b"], disk: disk)
        let old = house.keeper.session.revision
        house.keeper.logIn(["a": NewCredential(token: Secret("token-a-two"))]) { _ in }
        house.stores["a"]?.refreshInBackground(.refused(version: 1))
        house.refreshers["a"]?.end(.rejected(detail: "no"))
        // The token that the login does not name is forgotten, the other one's new pair stays.
        #expect(house.told.all == [.expired(revision: old)] && disk.changes == ["login", "expired"])
        disk.release()
        #expect(house.keeper.session.state == .authenticated && house.keeper.session.revision != old)
        #expect(house.stores["a"]?.snapshot()?.token.matches(Secret("token-a-two")) == true)
        _ = house.keeper.logOut(expected: nil)
        #expect(disk.changes.suffix(2) == ["loggedOut", "loggedOut"])
    }

    @Test("a login sets the tokens it names, takes the others along, and is told once")
    func login() {
        let house = House(["a", "b"], initial: ["a": "token-a", "b": "token-b"])
        let before = house.keeper.session.revision
        house.keeper.logIn(["a": NewCredential(token: Secret("token-a-two"))]) { _ in }
        let after = house.keeper.session.revision
        #expect(after != before && house.revision("a") == after && house.revision("b") == after)
        #expect(house.stores["a"]?.snapshot()?.version == 2 && house.stores["b"]?.snapshot()?.version == 1)
        #expect(house.told.all == [.began(revision: after)])
    }

    @Test("late failures of an older login end nothing, whichever token they come by")
    func stale() {
        let house = House(["a", "b"], initial: ["a": "token-a", "b": "token-b"])
        let old = house.keeper.session.revision
        house.keeper.logIn(["a": NewCredential(token: Secret("token-a-two"))]) { _ in }
        #expect(house.stores["a"]?.logOut(expected: old) == false && house.stores["b"]?.logOut(expected: old) == false)
        #expect(house.keeper.logOut(expected: old) == .notCurrent)
        #expect(house.told.names == ["session_began"] && house.keeper.session.state == .authenticated)
    }

    @Test("a refresh that began before a sibling's login, and is refused after it, ends the present login")
    func refusalAcrossLogin() {
        let house = House(["a", "b"], initial: ["a": "token-a", "b": "token-b"])
        house.stores["b"]?.refreshInBackground(.refused(version: 1))
        house.keeper.logIn(["a": NewCredential(token: Secret("token-a-two"))]) { _ in }
        house.refreshers["b"]?.end(.rejected(detail: "no"))
        #expect(house.stores["b"]?.snapshot() == nil, "a token that can never be refreshed is not kept")
        #expect(house.told.names == ["session_began", "session_expired"])
    }

    @Test("a source that gets a token where there was no login begins one, and a second joins it")
    func sourceLogin() {
        let house = House(["a", "b"], initial: [:])
        for name in ["a", "b"] {
            house.stores[name]?.refreshInBackground(.unusable(version: 0))
            house.refreshers[name]?.end(.renewed(NewCredential(token: Secret("token-\(name)"))))
        }
        let revision = house.keeper.session.revision
        #expect(house.revision("a") == revision && house.revision("b") == revision)
        #expect(house.told.all == [.began(revision: revision)])
    }

    @Test("a logout lasts until the disk has forgotten, but not longer than its bound")
    func bounded() {
        let disk = Disk(isHeld: true)
        let house = House(["a"], initial: ["a": "token-a"], disk: disk)
        let revision = house.keeper.session.revision
        let completions = Atomic<Int>(0)
        #expect(house.keeper.logOut(expected: revision) { completions.add(1, ordering: .relaxed) } == .done)
        #expect(house.keeper.session.state == .loggingOut && house.stores["a"]?.snapshot() == nil)
        #expect(house.keeper.logOut(expected: nil) == .notCurrent)
        #expect(house.stores["a"]?.demand(.unusable(version: 0), resume: { _ in }) == .answered(.rejected), "the source would log in again")
        #expect(completions.load(ordering: .relaxed) == 0)
        house.clock.advance(milliseconds: UInt64(SessionKeeper.logoutMilliseconds))
        house.timers.release()
        #expect(house.keeper.session.state == .unauthenticated && completions.load(ordering: .relaxed) == 1)
        #expect(house.stores["a"]?.demand(.unusable(version: 0), resume: { _ in }) == .waiting(ticket: 1, isLeader: true))
        let ended = house.keeper.session.revision
        disk.release()
        #expect(completions.load(ordering: .relaxed) == 1)
        #expect(house.keeper.session.revision == ended, "the late end of the logout changes nothing")
        #expect(house.told.all == [.loggedOut(revision: revision)])
    }

    @Test("a login is installed after it is on the disk, also in the middle of a logout")
    func loginDuringLogout() {
        let disk = Disk(isHeld: true)
        let house = House(["a", "b"], initial: ["a": "token-a"], disk: disk)
        #expect(house.keeper.logOut(expected: nil) == .done)
        #expect(house.stores["b"]?.demand(.unusable(version: 0), resume: { _ in }) == .answered(.rejected))
        house.keeper.logIn(["a": NewCredential(token: Secret("token-a-two"))]) { _ in }
        #expect(house.stores["a"]?.snapshot() == nil)
        disk.release()
        #expect(house.keeper.session.state == .authenticated && house.stores["a"]?.snapshot()?.revision == house.keeper.session.revision)
        #expect(house.told.names == ["session_logged_out", "session_began"])
        #expect(house.stores["b"]?.demand(.unusable(version: 0), resume: { _ in }) == .waiting(ticket: 1, isLeader: true), "held no longer")
    }
}
