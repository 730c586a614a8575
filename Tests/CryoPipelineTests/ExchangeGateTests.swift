// Exchanges and the gate: tokens that changed, expired or were thrown away while a request was on its way.
// Domain: cold

import CryoHTTP
import Testing

@testable import CryoPipeline

private let nowSeconds: Int64 = 1_700_000_000

private func steps(_ bench: Bench) -> [String: String] {
    (object(bench.audit.lines.last)["steps"] as? [String: Any])?.compactMapValues { $0 as? String } ?? [:]
}

private func attempts(_ bench: Bench) -> [[String: Any]] { object(bench.audit.lines.last)["attempts"] as? [[String: Any]] ?? [] }

private func credential(_ token: String, lives seconds: Int64? = nil) -> NewCredential {
    NewCredential(token: Secret(token), expiresAt: seconds.map { nowSeconds + $0 })
}

private func sent(_ bench: Bench, _ index: Int) -> String? { bench.fields(index).last { $0.hasPrefix("Authorization: ") } }

@Suite("An exchange and the gate")
struct ExchangeGateTests {
    @Test("a token that was renewed between the snapshot and the demand is used: no second refresh")
    func staleSnapshot() {
        // The refresher of another worker ends its flight at the very moment this exchange asks.
        let bench = Bench(token: credential("token-old", lives: -1))
        guard let credentials = bench.credentials else { return }
        _ = credentials.demand(.unusable(version: 1), resume: { _ in })
        bench.begin(requestHead())
        #expect(bench.forwarder.attempts.isEmpty)
        bench.endRefresh(.renewed(credential("token-two", lives: 600)))
        #expect(sent(bench, 0) == "Authorization: Bearer token-two" && bench.refresher.calls == 1)
        #expect(credentials.demand(.unusable(version: 1), resume: { _ in }) == .answered(.alreadyNewer))
        bench.answer(200)
        #expect(steps(bench)["refresh"] == "joined" && bench.refresher.calls == 1)
    }

    @Test("a late 401 finds a newer token that has expired too: that one is renewed, not sent")
    func newerHasExpired() {
        let bench = Bench(token: credential("token-one"))
        bench.begin(requestHead())
        bench.credentials?.install(credential("token-two", lives: -1), isLogin: false)
        bench.answer(401)
        #expect(bench.forwarder.attempts.count == 1 && bench.refresher.versions == [2])
        bench.endRefresh(.renewed(credential("token-three", lives: 600)))
        #expect(sent(bench, 1) == "Authorization: Bearer token-three")
        bench.answer(200)
        #expect(bench.sink.status == 200 && bench.refresher.calls == 1)
    }

    @Test("B-03: the very same token again is no second attempt; the original 401 goes on")
    func sameTokenAgain() {
        let bench = Bench(token: credential("token-one", lives: 60 * 60))
        bench.begin(requestHead())
        bench.answer(401, [("Content-Type", "text/plain")], "revoked")
        bench.endRefresh(.renewed(credential("token-one", lives: 2 * 60 * 60)))
        #expect(bench.forwarder.attempts.count == 1 && bench.sink.status == 401 && bench.reply == "revoked")
        #expect(steps(bench)["refresh"] == "rejected")
    }

    @Test("an expired token that the source prolongs is used")
    func prolonged() {
        let bench = Bench(token: credential("token-one", lives: -1))
        bench.begin(requestHead())
        bench.endRefresh(.renewed(credential("token-one", lives: 600)))
        #expect(sent(bench, 0) == "Authorization: Bearer token-one")
    }

    @Test("a source that delivers expired tokens delivers none")
    func deliversExpired() {
        let bench = Bench(token: nil)
        bench.begin(requestHead())
        bench.endRefresh(.renewed(credential("token-dead", lives: -1)))
        #expect(bench.forwarder.attempts.isEmpty && bench.sink.status == 502)
        #expect(object(bench.reply)["reason"] as? String == "token_unavailable")
    }

    @Test("a token that expires during the back-off is renewed before the next attempt")
    func expiresInBackOff() {
        let bench = Bench(token: credential("token-one", lives: 2), route: { $0.retry.limit = 1 })
        bench.begin(requestHead())
        bench.endRefresh(.failed(detail: "the early refresh has no luck"))
        bench.answer(503)
        bench.scheduler.unixMicroseconds += 3_000_000
        bench.advance(milliseconds: 30_000)
        #expect(bench.forwarder.attempts.count == 1 && bench.refresher.calls == 2)
        bench.endRefresh(.renewed(credential("token-two", lives: 600)))
        #expect(sent(bench, 1) == "Authorization: Bearer token-two")
        bench.answer(200)
        #expect(bench.sink.status == 200 && steps(bench)["retry"] == "retried")
    }

    @Test("TK4: a retry after a transient failure carries the newest token of its login")
    func retryCarriesTheNewest() {
        let bench = Bench(route: { $0.retry.limit = 1 })
        bench.begin(requestHead())
        bench.answer(503)
        bench.credentials?.install(credential("token-two"), isLogin: false)
        bench.advance(milliseconds: 30_000)
        #expect(sent(bench, 1) == "Authorization: Bearer token-two" && bench.refresher.calls == 0)
    }

    @Test("a retry after a transient failure does not take another login's token")
    func retryKeepsItsLogin() {
        let bench = Bench(route: { $0.retry.limit = 1 })
        bench.begin(requestHead())
        bench.answer(503)
        bench.credentials?.install(credential("token-other"), isLogin: true)
        bench.advance(milliseconds: 30_000)
        #expect(sent(bench, 1) == "Authorization: Bearer token-one")
    }

    @Test("B-C5: a request that waits for its expired login's token is not sent as somebody else")
    func anotherLoginWhileWaiting() {
        let bench = Bench(token: credential("token-one", lives: -1))
        bench.begin(requestHead())
        bench.credentials?.install(credential("token-other"), isLogin: true)
        bench.endRefresh(.renewed(credential("token-late")))
        #expect(bench.forwarder.attempts.isEmpty && bench.sink.status == 401)
        #expect(object(bench.reply)["reason"] as? String == "token_missing")
    }

    @Test("a request that came before any login is sent with the login's token")
    func loginWhileWaiting() {
        let bench = Bench(token: nil)
        bench.begin(requestHead())
        bench.credentials?.install(credential("token-login"), isLogin: true)
        bench.endRefresh(.failed(detail: "too late"))
        #expect(sent(bench, 0) == "Authorization: Bearer token-login")
    }

    @Test("a logout between the refresh and its waiter leaves nothing to send")
    func logoutBeforeTheWaiterWakes() {
        let bench = Bench(token: credential("token-one", lives: -1))
        bench.begin(requestHead())
        bench.refresher.end(.renewed(credential("token-two")))
        #expect(bench.credentials?.logOut(expected: nil) == true)
        bench.scheduler.queue.run()
        #expect(bench.forwarder.attempts.isEmpty && bench.sink.status == 401)
        #expect(object(bench.reply)["reason"] as? String == "token_missing")
    }

    @Test("the total time that ends while a token is awaited is the token's failure, not the upstream's")
    func totalWhileWaiting() {
        let bench = Bench(token: nil, upstream: { $0.timeouts.totalMilliseconds = 500 })
        bench.begin(requestHead())
        bench.advance(milliseconds: 501)
        #expect(bench.sink.status == 502 && object(bench.reply)["reason"] as? String == "token_unavailable")
        #expect(bench.exchange?.ticket == nil)
    }

    @Test("a code that asks for a refresh and ends sessions ends none while the refresh may still succeed")
    func transientFailureEndsNoSession() {
        let bench = Bench(
            policy: envelope { $0.sessionExpiredCodes = ["10001"] }, tokens: { $0.refresh.onBusinessCodes = ["10001"] })
        bench.begin(requestHead())
        bench.answer(200, body: #"{"code":10001,"msg":"expired"}"#)
        bench.endRefresh(.failed(detail: "timeout"))
        #expect(object(bench.reply)["reason"] as? String == "refresh_failed")
        #expect(bench.events.expired.isEmpty && bench.credentials?.session().state == .authenticated)
        #expect(attempts(bench).compactMap { $0["token_refused_by"] as? String } == ["business_code"])
    }

    @Test("the same code after the replay is final: one session ends, once")
    func finalCodeEndsTheSession() {
        let bench = Bench(
            policy: envelope { $0.sessionExpiredCodes = ["10001"] }, tokens: { $0.refresh.onBusinessCodes = ["10001"] })
        bench.begin(requestHead())
        bench.answer(200, body: #"{"code":10001,"msg":"expired"}"#)
        bench.endRefresh(.renewed(credential("token-two")))
        bench.answer(200, body: #"{"code":"10001","msg":"expired"}"#)
        #expect(bench.forwarder.attempts.count == 2 && bench.refresher.calls == 1)
        #expect(bench.sink.status == 401 && object(bench.reply)["kind"] as? String == "authenticationExpired")
        #expect(bench.events.expired.count == 1 && bench.credentials?.snapshot() == nil)
    }

    @Test("an expired-session code told to an older token ends nothing")
    func codeOfAnOlderToken() {
        let bench = Bench(policy: envelope { $0.sessionExpiredCodes = ["10001"] })
        bench.begin(requestHead())
        bench.credentials?.install(credential("token-two"), isLogin: false)
        bench.answer(200, body: #"{"code":10001,"msg":"expired"}"#)
        #expect(bench.sink.status == 401 && bench.events.expired.isEmpty)
    }

    @Test("a code that asks for a refresh beyond the judged part of a body is not looked for: the body passes")
    func beyondTheLookAhead() {
        let bench = Bench(policy: envelope { $0.bodyBytesMax = 32 }, tokens: { $0.refresh.onBusinessCodes = ["10001"] })
        bench.begin(requestHead())
        let body = #"{"data":"\#(String(repeating: "x", count: 40))","code":10001}"#
        bench.answer(200, body: body)
        #expect(bench.sink.status == 200 && bench.reply == body && bench.refresher.calls == 0)
        #expect(steps(bench)["normalize"] == "too_large")
    }

    @Test("after the replay that a business code caused, a 503 is tried again by the retry's own budget")
    func refreshThenRetry() {
        let bench = Bench(
            policy: envelope(), tokens: { $0.refresh.onBusinessCodes = ["10001"] }, route: { $0.retry.limit = 1 })
        bench.begin(requestHead())
        bench.answer(200, body: #"{"code":10001}"#)
        bench.endRefresh(.renewed(credential("token-two")))
        bench.answer(503)
        bench.advance(milliseconds: 30_000)
        bench.answer(200, body: #"{"code":0}"#)
        #expect(bench.forwarder.attempts.count == 3 && bench.refresher.calls == 1 && bench.sink.status == 200)
        #expect(attempts(bench).map { $0["token_version"] as? Int } == [1, 2, 2])
        #expect(attempts(bench).compactMap { $0["token_refused_by"] as? String } == ["business_code"])
    }
}

extension Bench {
    fileprivate func answer(_ status: UInt16, body: String) { answer(status, [("Content-Type", "application/json")], body) }
}
