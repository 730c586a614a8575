// The credential store: one flight for everybody, results that came too late, sessions that end once.
// Domain: cold

import CryoSync
import Dispatch
import Testing

@testable import CryoPipeline

/// Collects what waiters were told.
private final class Answers: Sendable {
    private let kept = Mutex<[TokenAnswer]>([])
    var all: [TokenAnswer] { kept.withLock { $0 } }
    func add(_ answer: TokenAnswer) { kept.withLock { $0.append(answer) } }
}

private func renewed(_ token: String, refresh: String? = nil) -> RefreshResult {
    .renewed(NewCredential(token: Secret(token), refreshToken: refresh.map { Secret($0) }))
}

private func header(_ store: CredentialStore) -> String? { text(store.snapshot()?.injectedValue) }

@Suite("The credential store")
struct CredentialStoreTests {
    @Test("many demands from many threads lead to one refresh, and each waiter is told once")
    func singleFlight() {
        let refresher = ScriptedRefresher()
        let store = store(refresher)
        let answers = Answers()
        let leaders = Atomic<Int>(0)
        DispatchQueue.concurrentPerform(iterations: 400) { _ in
            if case .waiting(_, isLeader: true) = store.demand(.refused(version: 1), resume: { answers.add($0) }) {
                leaders.add(1, ordering: .relaxed)
            }
        }
        #expect(refresher.calls == 1)
        #expect(leaders.load(ordering: .relaxed) == 1)
        #expect(answers.all.isEmpty)
        refresher.end(renewed("token-two"))
        #expect(answers.all == Array(repeating: .ready, count: 400))
        #expect(header(store) == "Bearer token-two")
        #expect(store.snapshot()?.version == 2)
        #expect(store.demand(.refused(version: 1), resume: { _ in }) == .answered(.alreadyNewer))
        #expect(refresher.calls == 1)
    }

    @Test("demands, withdrawals and ends at the same time lose nobody and call nobody twice")
    func race() {
        let refresher = ScriptedRefresher()
        let store = store(refresher) { $0.refresh.perWindowMax = 1_000_000 }
        let waited = Atomic<Int>(0)
        let told = Atomic<Int>(0)
        let serial = Atomic<Int>(0)
        DispatchQueue.concurrentPerform(iterations: 2_000) { index in
            if index % 5 == 4 {
                refresher.end(renewed("token-\(serial.add(1, ordering: .relaxed).newValue)-of-the-race"))
                return
            }
            let version = store.snapshot()?.version ?? 0
            if case .waiting = store.demand(.refused(version: version), resume: { _ in told.add(1, ordering: .relaxed) }) {
                waited.add(1, ordering: .relaxed)
            }
        }
        #expect(refresher.inFlight <= 1)
        while refresher.end(renewed("the-last-token-\(serial.add(1, ordering: .relaxed).newValue)")) {}
        #expect(told.load(ordering: .relaxed) == waited.load(ordering: .relaxed))
    }

    @Test("a leader that leaves harms nobody, and is not called")
    func leaderLeaves() {
        let refresher = ScriptedRefresher()
        let store = store(refresher)
        let leader = Answers()
        let other = Answers()
        guard case .waiting(let ticket, isLeader: true) = store.demand(.refused(version: 1), resume: { leader.add($0) }) else {
            Issue.record("did not lead")
            return
        }
        #expect(store.demand(.refused(version: 1), resume: { other.add($0) }) == .waiting(ticket: ticket + 1, isLeader: false))
        store.withdraw(ticket: ticket)
        refresher.end(renewed("token-two"))
        #expect(leader.all.isEmpty)
        #expect(other.all == [.ready])
    }

    @Test("a flight that everybody left still installs its token")
    func everybodyLeaves() {
        let refresher = ScriptedRefresher()
        let store = store(refresher)
        if case .waiting(let ticket, _) = store.demand(.refused(version: 1), resume: { _ in }) { store.withdraw(ticket: ticket) }
        refresher.end(renewed("token-two"))
        #expect(header(store) == "Bearer token-two")
    }

    @Test("a result that comes after a logout is thrown away")
    func logoutDuringRefresh() {
        let refresher = ScriptedRefresher()
        let events = EventLog()
        let store = store(refresher, events: events)
        let answers = Answers()
        _ = store.demand(.refused(version: 1), resume: { answers.add($0) })
        #expect(store.logOut(expected: store.session().revision))
        refresher.end(renewed("token-two"))
        #expect(store.snapshot() == nil)
        #expect(store.session().state == .unauthenticated)
        #expect(answers.all == [.rejected])
        #expect(events.dropped == 1)
    }

    @Test("a result that comes after a logout is thrown away also when the refresh began without a token")
    func logoutOfAnUnknownToken() {
        let refresher = ScriptedRefresher()
        let store = store(refresher, initial: nil)
        _ = store.demand(.unusable(version: 0), resume: { _ in })
        store.install(NewCredential(token: Secret("token-login")), isLogin: true)
        #expect(store.logOut(expected: nil))
        refresher.end(renewed("token-late"))
        #expect(store.snapshot() == nil)
    }

    @Test("an account that was switched during a refresh stays; the waiters go on with it")
    func switchDuringRefresh() {
        let refresher = ScriptedRefresher()
        let events = EventLog()
        let store = store(refresher, events: events)
        let before = store.session().revision
        let answers = Answers()
        _ = store.demand(.refused(version: 1), resume: { answers.add($0) })
        store.install(NewCredential(token: Secret("token-other")), isLogin: true)
        #expect(answers.all.isEmpty)
        refresher.end(.rejected(detail: "invalid_grant"))
        #expect(answers.all == [.ready])
        #expect(header(store) == "Bearer token-other")
        #expect(store.session().state == .authenticated)
        #expect(store.session().revision != before)
        #expect(events.expired.isEmpty)
    }

    @Test("the very same token again counts as rejected, and the session stays")
    func unchanged() {
        let refresher = ScriptedRefresher()
        let store = store(refresher)
        let answers = Answers()
        _ = store.demand(.refused(version: 1), resume: { answers.add($0) })
        refresher.end(renewed("token-one"))
        #expect(answers.all == [.rejected])
        #expect(store.snapshot()?.version == 1)
        #expect(store.session().state == .authenticated)
        #expect(store.demand(.refused(version: 1), resume: { _ in }) == .answered(.rejected))
        #expect(refresher.calls == 1)
    }

    @Test("an empty token is no token")
    func emptyToken() {
        let refresher = ScriptedRefresher()
        let unset = store(refresher, initial: NewCredential(token: Secret("")))
        #expect(unset.snapshot() == nil)
        #expect(unset.session().state == .unauthenticated)
        let answers = Answers()
        _ = unset.demand(.unusable(version: 0), resume: { answers.add($0) })
        refresher.end(renewed(""))
        #expect(answers.all == [.rejected])
        #expect(unset.snapshot() == nil)
    }

    @Test("a rejected refresh ends the session once, and later refusals of its token start no second refresh")
    func rejected() {
        let refresher = ScriptedRefresher()
        let events = EventLog()
        let store = store(refresher, events: events)
        let revision = store.session().revision
        let answers = Answers()
        for _ in 0..<3 { _ = store.demand(.refused(version: 1), resume: { answers.add($0) }) }
        refresher.end(.rejected(detail: "invalid_grant"))
        #expect(answers.all == [.rejected, .rejected, .rejected])
        #expect(events.expired == [revision])
        #expect(store.snapshot() == nil)
        #expect(store.session().state == .unauthenticated)
        #expect(store.session().revision != revision)
        #expect(store.demand(.refused(version: 1), resume: { _ in }) == .answered(.rejected))
        store.refreshInBackground(.refused(version: 1))
        #expect(refresher.calls == 1)
        #expect(!store.logOut(expected: revision))
        #expect(events.expired.count == 1)
    }

    @Test("of many logouts of one login one succeeds")
    func logOutOnce() {
        let events = EventLog()
        let store = store(ScriptedRefresher(), events: events)
        let revision = store.session().revision
        let ended = Atomic<Int>(0)
        DispatchQueue.concurrentPerform(iterations: 100) { _ in
            if store.logOut(expected: revision) { ended.add(1, ordering: .relaxed) }
        }
        #expect(ended.load(ordering: .relaxed) == 1)
        #expect(events.expired == [revision])
        store.install(NewCredential(token: Secret("token-two")), isLogin: true)
        #expect(!store.logOut(expected: revision))
        #expect(header(store) == "Bearer token-two")
    }

    @Test("a failure that may pass keeps token and session, and is tried again after the back-off")
    func failed() {
        let refresher = ScriptedRefresher()
        defer { refresher.abandon() }
        let clock = ManualClock()
        let store = store(refresher, clock: clock)
        let answers = Answers()
        _ = store.demand(.refused(version: 1), resume: { answers.add($0) })
        refresher.end(.failed(detail: "timeout"))
        #expect(answers.all == [.failed])
        #expect(header(store) == "Bearer token-one")
        #expect(store.session().state == .authenticated)
        #expect(store.demand(.refused(version: 1), resume: { _ in }) == .answered(.failed))
        clock.advance(milliseconds: 1_000)
        #expect(store.demand(.refused(version: 1), resume: { _ in }) != .answered(.failed))
        #expect(refresher.calls == 2)
    }

    @Test("a token need that a newer version has met meanwhile starts no refresh")
    func unusableMeanwhile() {
        let refresher = ScriptedRefresher()
        defer { refresher.abandon() }
        let clock = ManualClock()
        let store = store(refresher, clock: clock, initial: nil)
        _ = store.demand(.unusable(version: 0), resume: { _ in })
        refresher.end(renewed("token-two"))
        #expect(store.demand(.unusable(version: 0), resume: { _ in }) == .answered(.alreadyNewer))
        #expect(refresher.versions == [nil])
        clock.advance(milliseconds: 1_000)
        #expect(store.demand(.unusable(version: 1), resume: { _ in }) == .waiting(ticket: 2, isLeader: true))
        #expect(refresher.versions == [nil, 1])
    }

    @Test("an early refresh asked for by a stale snapshot is not started")
    func earlyMeanwhile() {
        let refresher = ScriptedRefresher()
        defer { refresher.abandon() }
        let store = store(refresher)
        store.refreshInBackground(.early(version: 1))
        refresher.end(renewed("token-two"))
        store.refreshInBackground(.early(version: 1))
        #expect(refresher.calls == 1)
        store.refreshInBackground()
        #expect(refresher.calls == 2)
    }

    @Test("the same token with a later end keeps its version: the expired may use it, the refused may not")
    func prolonged() {
        let refresher = ScriptedRefresher()
        let store = store(
            refresher, initial: NewCredential(token: Secret("token-one"), refreshToken: Secret("refresh-one"), expiresAt: 100))
        let answers = Answers()
        _ = store.demand(.unusable(version: 1), resume: { answers.add($0) })
        refresher.end(.renewed(NewCredential(token: Secret("token-one"), refreshToken: Secret("refresh-two"), expiresAt: 200)))
        #expect(answers.all == [.ready])
        #expect(store.snapshot()?.version == 1 && store.snapshot()?.expiresAt == 200)
        #expect(store.snapshot()?.refreshToken?.matches(Secret("refresh-two")) == true)
        let needles = store.needles().texts
        #expect(needles.contains(Array("refresh-one".utf8)) && needles.contains(Array("refresh-two".utf8)))
        #expect(store.demand(.refused(version: 1), resume: { _ in }) == .answered(.rejected))
    }

    @Test("a thousand waiters in between leave, and those who stay are told in the order they came")
    func manyLeave() {
        let refresher = ScriptedRefresher()
        let store = store(refresher)
        let told = Mutex<[Int]>([])
        var tickets: [UInt64] = []
        for number in 0..<1_000 {
            guard case .waiting(let ticket, _) = store.demand(.refused(version: 1), resume: { _ in told.withLock { $0.append(number) } })
            else { continue }
            tickets.append(ticket)
        }
        for ticket in tickets where ticket % 10 != 0 { store.withdraw(ticket: ticket) }
        refresher.end(renewed("token-two"))
        #expect(tickets.count == 1_000 && told.withLock { $0 } == (0..<1_000).filter { $0 % 10 == 9 })
    }

    @Test("a failure of an older token does not end the session that a refresh has saved")
    func olderVersionEndsNothing() {
        let refresher = ScriptedRefresher()
        let store = store(refresher)
        let revision = store.session().revision
        _ = store.demand(.refused(version: 1), resume: { _ in })
        refresher.end(renewed("token-two"))
        #expect(!store.logOut(expected: revision, tokenVersion: 1))
        #expect(store.session().state == .authenticated)
        #expect(store.logOut(expected: revision, tokenVersion: 2))
    }

    @Test("a refresh token that is not renewed is kept; a login forgets it")
    func refreshToken() {
        let refresher = ScriptedRefresher()
        let store = store(refresher, initial: NewCredential(token: Secret("token-one"), refreshToken: Secret("refresh-one")))
        _ = store.demand(.refused(version: 1), resume: { _ in })
        refresher.end(renewed("token-two"))
        #expect(store.snapshot()?.refreshToken?.matches(Secret("refresh-one")) == true)
        _ = store.demand(.refused(version: 2), resume: { _ in })
        refresher.end(renewed("token-three", refresh: "refresh-two"))
        #expect(store.snapshot()?.refreshToken?.matches(Secret("refresh-two")) == true)
        store.install(NewCredential(token: Secret("token-other")), isLogin: true)
        #expect(store.snapshot()?.refreshToken == nil)
    }

    @Test("a source that can only renew a login is not asked after a logout, until there is another login", arguments: [true, false])
    func afterLogout(_ canIssue: Bool) {
        let refresher = ScriptedRefresher(canIssue: canIssue)
        defer { refresher.abandon() }
        let store = store(refresher, initial: nil)
        #expect(store.demand(.unusable(version: 0), resume: { _ in }) == .waiting(ticket: 1, isLeader: true))
        refresher.end(renewed("token-one"))
        #expect(store.logOut(expected: nil))
        store.refreshInBackground()
        #expect(refresher.calls == (canIssue ? 2 : 1))
        let demand = store.demand(.unusable(version: 0), resume: { _ in })
        #expect(demand == (canIssue ? .waiting(ticket: 2, isLeader: false) : .answered(.rejected)))
        refresher.end(.failed(detail: "down"))
        store.install(NewCredential(token: Secret("token-login")), isLogin: true)
        #expect(store.demand(.unusable(version: 3), resume: { _ in }) != .answered(.rejected))
    }

    @Test("a source that can't make tokens is never asked")
    func fixed() {
        let refresher = ScriptedRefresher(canRefresh: false)
        let store = store(refresher)
        #expect(store.demand(.refused(version: 1), resume: { _ in }) == .answered(.rejected))
        store.refreshInBackground()
        #expect(refresher.calls == 0)
    }

    @Test("a refresh in the background is one flight too; those who come later wait for it")
    func background() {
        let refresher = ScriptedRefresher()
        let store = store(refresher)
        store.refreshInBackground()
        store.refreshInBackground()
        let answers = Answers()
        #expect(store.demand(.refused(version: 1), resume: { answers.add($0) }) == .waiting(ticket: 1, isLeader: false))
        #expect(refresher.calls == 1)
        refresher.end(renewed("token-two"))
        #expect(answers.all == [.ready])
    }

    @Test("the waiter at the bound waits, the one after it fails at once")
    func waitersBound() {
        let refresher = ScriptedRefresher()
        defer { refresher.abandon() }
        let store = store(refresher) { $0.refresh.waitersMax = 2 }
        #expect(store.demand(.refused(version: 1), resume: { _ in }) == .waiting(ticket: 1, isLeader: true))
        #expect(store.demand(.refused(version: 1), resume: { _ in }) == .waiting(ticket: 2, isLeader: false))
        #expect(store.demand(.refused(version: 1), resume: { _ in }) == .answered(.failed))
    }

    @Test("the needles hold every spelling of present and lately retired secrets")
    func needles() {
        let refresher = ScriptedRefresher()
        let store = store(refresher, initial: NewCredential(token: Secret("to/ken-1"), refreshToken: Secret("re\"fresh")))
        func has(_ needle: String) -> Bool { store.needles().texts.contains(Array(needle.utf8)) }
        #expect(has("to/ken-1") && has("to%2Fken-1") && has("dG8va2Vu") && has("re\"fresh") && has("re\\\"fresh"))
        _ = store.demand(.refused(version: 1), resume: { _ in })
        refresher.end(renewed("token-two"))
        #expect(has("to/ken-1") && has("token-two"))
        #expect(store.logOut(expected: nil))
        #expect(has("token-two"))
    }

    @Test("a secret never prints")
    func printing() {
        let secret = Secret("hidden-value")
        var dumped = ""
        dump(secret, to: &dumped)
        #expect("\(secret)" == "***" && String(reflecting: secret) == "***" && !dumped.contains("hidden"))
        #expect(secret.matches(Secret("hidden-value")) && !secret.matches(Secret("hidden-valuf")) && !secret.matches(Secret("h")))
    }
}
