// The session's compare-and-set (ledger §E, V10).
// Domain: cold

import Testing

@testable import CryoPipeline

@Suite("The session")
struct SessionTests {
    let first = SessionRevision(high: 1, low: 1)
    let next = SessionRevision(high: 2, low: 2)

    @Test("of many failures of one login exactly one ends it")
    func once() {
        var session = Session(isAuthenticated: true, revision: first)
        #expect(session.beginLogoutIfCurrent(first) == true)
        #expect(session.state == .loggingOut)
        #expect(session.revision == first)
        #expect(session.beginLogoutIfCurrent(first) == false)
        #expect(session.beginLogoutIfCurrent(nil) == false)
        session.markLoggedOut(next)
        #expect(session.state == .unauthenticated)
        #expect(session.revision == next)
        #expect(session.beginLogoutIfCurrent(next) == false)
    }

    @Test("a late failure of an older login does not end the newer one")
    func stale() {
        var session = Session(isAuthenticated: true, revision: first)
        session.markAuthenticated(next)
        #expect(session.beginLogoutIfCurrent(first) == false)
        #expect(session.state == .authenticated)
        #expect(session.beginLogoutIfCurrent(nil) == true)
    }

    @Test("nobody is logged out who was not logged in")
    func unauthenticated() {
        var session = Session(isAuthenticated: false, revision: first)
        #expect(session.beginLogoutIfCurrent(first) == false)
        #expect(session.beginLogoutIfCurrent(nil) == false)
        #expect(session.state == .unauthenticated)
    }

    @Test("a login may come in the middle of a logout")
    func loginDuringLogout() {
        var session = Session(isAuthenticated: true, revision: first)
        #expect(session.beginLogoutIfCurrent(nil) == true)
        session.markAuthenticated(next)
        #expect(session.state == .authenticated)
        #expect(session.revision == next)
    }

    @Test("a logout ends by itself when its time is over, and not before")
    func logoutIsBounded() {
        var session = Session(isAuthenticated: true, revision: first)
        #expect(session.finishLogoutIfDue(at: .max, next: next) == false)
        #expect(session.beginLogoutIfCurrent(first, until: 1_000) == true)
        #expect(session.finishLogoutIfDue(at: 999, next: next) == false)
        #expect(session.state == .loggingOut && session.revision == first)
        #expect(session.finishLogoutIfDue(at: 1_000, next: next) == true)
        #expect(session.state == .unauthenticated && session.revision == next)
        #expect(session.finishLogoutIfDue(at: 2_000, next: first) == false)
    }

    @Test("the end of a logout that is over, or of another login, changes nothing")
    func staleEnd() {
        var session = Session(isAuthenticated: true, revision: first)
        #expect(session.finishLogout(of: first, next: next) == false)
        #expect(session.beginLogoutIfCurrent(first, until: 1_000) == true)
        session.markAuthenticated(next)
        #expect(session.finishLogout(of: first, next: first) == false)
        #expect(session.finishLogoutIfDue(at: 2_000, next: first) == false)
        #expect(session.state == .authenticated && session.revision == next)
        #expect(session.beginLogoutIfCurrent(next, until: 3_000) == true)
        #expect(session.finishLogout(of: next, next: first) == true)
        #expect(session.state == .unauthenticated && session.revision == first)
    }

    @Test("a revision is written as a UUID of version 4")
    func revisionText() {
        #expect(text(SessionRevision(high: 0, low: 0).text) == "00000000-0000-4000-8000-000000000000")
        #expect(text(SessionRevision(high: .max, low: .max).text) == "ffffffff-ffff-4fff-bfff-ffffffffffff")
        #expect(SessionRevision.random() != SessionRevision.random())
    }
}
