// Real exchanges over scripted ports: what the upstream gets, what the client gets, what the audit tells.
// Domain: cold

import CryoHTTP
import CryoJSON
import Foundation
import Testing

@testable import CryoPipeline

func object(_ text: String?) -> [String: Any] {
    (try? JSONSerialization.jsonObject(with: Data((text ?? "").utf8))) as? [String: Any] ?? [:]
}

private func steps(_ bench: Bench) -> [String: String] {
    (object(bench.audit.lines.last)["steps"] as? [String: Any])?.compactMapValues { $0 as? String } ?? [:]
}

private let renewed = RefreshResult.renewed(NewCredential(token: Secret("token-two")))

@Suite("What the upstream gets")
struct ForwardedRequestTests {
    @Test("the client's end-to-end fields in order, the gateway's own, and the token last and once")
    func fields() {
        let bench = Bench(upstream: { $0.headers = [("X-App", "1"), ("Accept", "never")] })
        bench.begin(
            requestHead(
                "/a?q=1", host: "localhost:8080",
                [
                    "Accept: text/plain", "Connection: X-Hop, authorization", "X-Hop: 1", "authorization: Basic abc", "Keep-Alive: 5",
                    "Cookie: a=b",
                    "X-Forwarded-For: 6.6.6.6", "Forwarded: for=6.6.6.6", "Proxy-Authorization: x", "X-Request-Id: mine-1", "Cookie: c=d",
                    "Upgrade: h2c",
                ]))
        #expect(
            bench.fields(0) == [
                "Host: api.example.com", "Accept: text/plain", "Cookie: a=b", "Cookie: c=d", "x-forwarded-for: 127.0.0.1",
                "x-forwarded-proto: http", "x-forwarded-host: localhost:8080", "via: 1.1 cryonet", "x-request-id: mine-1", "X-App: 1",
                "Authorization: Bearer token-one",
            ])
        #expect(bench.target() == "/a?q=1")
        #expect(text(bench.forwarder.attempts[0].request.method) == "GET")
        #expect(bench.forwarder.attempts[0].request.framing == .none && bench.forwarder.attempts[0].request.isIdempotent)
    }

    @Test("a request without token, policy or route rules gets nothing that nobody asked for")
    func untouched() {
        let bench = Bench(withToken: false)
        bench.begin(requestHead("/t", ["Authorization: Basic abc"]))
        #expect(
            bench.fields(0).filter { !$0.hasPrefix("x-request-id: ") } == [
                "Host: api.example.com", "Authorization: Basic abc", "x-forwarded-for: 127.0.0.1", "x-forwarded-proto: http",
                "x-forwarded-host: localhost", "via: 1.1 cryonet",
            ])
        bench.answer(200)
        #expect(steps(bench)["inject"] == "not_applicable")
    }

    @Test("an acceptable request id is kept; any other is replaced by the exchange's own")
    func requestID() {
        let bench = Bench(withToken: false)
        bench.begin(requestHead("/t", ["X-Request-Id: bad id"]))
        #expect(bench.fields(0).filter { $0.hasPrefix("x-request-id: ") } == ["x-request-id: \(text(bench.exchange?.id) ?? "")"])
    }

    @Test("the client's own token is replaced, or kept where the route says so")
    func clientValue() {
        let kept = Bench(tokens: { $0.inject.onClientValue = .keep })
        kept.begin(requestHead("/t", ["AUTHORIZATION: Basic abc"]))
        #expect(kept.fields(0).filter { $0.lowercased().hasPrefix("authorization") } == ["AUTHORIZATION: Basic abc"])
        kept.answer(401)
        #expect(kept.sink.status == 401 && kept.refresher.calls == 0 && steps(kept)["inject"] == "kept_client_value")
        let absent = Bench(tokens: { $0.inject.onClientValue = .keep })
        absent.begin(requestHead())
        #expect(absent.fields(0).last == "Authorization: Bearer token-one")
    }

    @Test("another header and format carry the token as configured")
    func otherHeader() {
        let bench = Bench(tokens: {
            $0.inject.name = "X-Token"
            $0.inject.format = "{token}"
        })
        bench.begin(requestHead("/t", ["x-token: a", "X-TOKEN: b", "Authorization: mine"]))
        #expect(bench.fields(0).filter { $0.lowercased().hasPrefix("x-token") } == ["X-Token: token-one"])
        #expect(bench.fields(0).contains("Authorization: mine"))
    }

    @Test(
        "the base path is put in front, and the prefix is stripped on segment borders only",
        arguments: [
            ("/api/x?y=/api", "", "/api", "/x?y=/api"), ("/api", "", "/api", "/"), ("/apiary", "", "/api", "/apiary"),
            ("/api/", "/v1", "/api", "/v1/"),
            ("/x", "/v1", nil, "/v1/x"), ("/a%20b/../c".replacingOccurrences(of: "/..", with: ""), "", nil, "/a%20b/c"),
            ("/api/x", "", "/api/", "/x"),
            ("/x?", "", nil, "/x?"),
        ] as [(String, String, String?, String)])
    func targets(_ target: String, _ base: String, _ strip: String?, _ expected: String) {
        let bench = Bench(basePath: base, route: { $0.stripPrefix = strip })
        bench.begin(requestHead(target))
        #expect(bench.target() == expected)
    }

    @Test("an absolute target is the upstream's own: neither base path nor stripping changes it")
    func absolute() {
        let bench = Bench(basePath: "/v1", route: { $0.stripPrefix = "/api" })
        bench.begin(requestHead("http://api.example.com/api/x", host: "api.example.com"))
        #expect(bench.target() == "/api/x")
        #expect(bench.fields(0).first == "Host: api.example.com")
    }

    @Test(
        "IPv6 and unix peers are told without port and brackets",
        arguments: [("[::1]:4711", "::1"), ("127.0.0.1:1", "127.0.0.1"), ("unix", "unix")])
    func peers(_ client: String, _ address: String) {
        let bench = Bench()
        let exchange = Exchange(
            head: requestHead(), plan: bench.plan,
            environment: ExchangeEnvironment(
                forwarder: bench.forwarder, scanner: .init(), openSpill: { nil }, decode: { _, _, _ in .broken }, counters: bench.counters),
            context: bench.context(client: client))
        exchange.begin()
        #expect(bench.fields(0).contains("x-forwarded-for: \(address)"))
    }
}

@Suite("An exchange and its token")
struct ExchangeRefreshTests {
    @Test("a refused token is refreshed once and the same request sent again, with the new token and the same body")
    func replay() {
        let bench = Bench()
        let body = [UInt8](repeating: 7, count: 300_000) + Array("end".utf8)
        bench.begin(requestHead("/p", method: "POST", ["Content-Length: \(body.count)", "authorization: x"]), body: body)
        #expect(bench.readBody(0) == body)
        bench.answer(401, [("Content-Type", "text/plain"), ("WWW-Authenticate", "Bearer")], "old")
        #expect(bench.refresher.calls == 1 && bench.sink.heads == 0)
        bench.endRefresh(renewed)
        #expect(bench.forwarder.attempts.count == 2)
        #expect(bench.fields(1).filter { $0.lowercased().hasPrefix("authorization") } == ["Authorization: Bearer token-two"])
        #expect(bench.fields(0).dropLast() == bench.fields(1).dropLast())
        #expect(bench.readBody(1) == body)
        bench.answer(200, [("Content-Type", "text/plain")], "new")
        #expect(bench.reply == "new" && bench.sink.ending == .finished)
        let record = object(bench.audit.lines.last)
        #expect(bench.audit.lines.count == 1 && (record["attempts"] as? [Any])?.count == 2)
        #expect(steps(bench)["refresh"] == "led" && steps(bench)["retry"] == "retried")
        bench.exchange = nil
        bench.forwarder.attempts = []
        #expect(bench.spill.open == 0 && bench.spill.opened == 1 && bench.counters.open == 0)
    }

    @Test("without a policy a failed refresh hands the original 401 on, fields and body, and says why")
    func original() {
        let bench = Bench()
        bench.begin(requestHead())
        bench.answer(401, [("Content-Type", "text/plain"), ("WWW-Authenticate", "Bearer")], "no entry")
        bench.endRefresh(.failed(detail: "timeout"))
        #expect(bench.sink.status == 401 && bench.reply == "no entry" && bench.sink.ending == .finished)
        #expect(
            lines(bench.sink.fields) == [
                "Content-Type: text/plain", "WWW-Authenticate: Bearer", requestIDLine(bench),
                "CryoNet-Failure: authenticationExpired/refresh_failed",
            ])
        #expect(bench.forwarder.attempts.count == 1 && steps(bench)["refresh"] == "failed")
        #expect((object(bench.audit.lines.last)["failure"] as? [String: Any])?["reason"] as? String == "refresh_failed")
    }

    @Test("with a policy it is a failure that holds the original body and its status")
    func failure() {
        let bench = Bench(policy: envelope())
        bench.begin(requestHead())
        bench.answer(401, [("Content-Type", "application/json"), ("WWW-Authenticate", "Bearer")], #"{"e":1}"#)
        bench.endRefresh(.rejected(detail: "invalid_grant"))
        let body = object(bench.reply)
        #expect(bench.sink.status == 401 && body["reason"] as? String == "refresh_rejected")
        #expect(body["kind"] as? String == "authenticationExpired" && body["statusCode"] as? Int == 401)
        #expect((body["responseData"] as? [String: Int]) == ["e": 1] && body["message"] as? String == "身份验证失败")
        #expect(lines(bench.sink.fields).contains("WWW-Authenticate: Bearer"))
        #expect(bench.events.expired.count == 1 && body["authenticationRevision"] as? String != nil)
    }

    @Test("the raw view of a policy is the upstream's answer, also after a failed refresh")
    func rawView() {
        let bench = Bench(policy: envelope { $0.view = .raw })
        bench.begin(requestHead())
        bench.answer(401, [("Content-Type", "application/json")], #"{"e":1}"#)
        bench.endRefresh(.failed(detail: "timeout"))
        #expect(bench.sink.status == 401 && bench.reply == #"{"e":1}"#)
    }

    @Test("the second 401 is final, and the new token stays")
    func secondRefusal() {
        let bench = Bench(policy: envelope())
        bench.begin(requestHead())
        bench.answer(401, [], "one")
        bench.endRefresh(renewed)
        bench.answer(401, [], "two")
        let body = object(bench.reply)
        #expect(
            body["responseData"] as? String == "two" && body["attempts"] as? Int == 2 && body["kind"] as? String == "authenticationExpired")
        #expect(bench.refresher.calls == 1 && bench.credentials?.snapshot()?.version == 2 && bench.events.expired.isEmpty)
    }

    @Test("403 never refreshes, and a literal token is never refreshed")
    func never() {
        let forbidden = Bench()
        forbidden.begin(requestHead())
        forbidden.answer(403)
        #expect(forbidden.sink.status == 403 && forbidden.refresher.calls == 0)
        let literal = Bench(canRefresh: false)
        literal.begin(requestHead())
        literal.answer(401)
        #expect(literal.sink.status == 401 && literal.refresher.calls == 0 && literal.sink.ending == .finished)
    }

    @Test("a 401 of an older token is sent again at once with the newer one")
    func older() {
        let bench = Bench()
        bench.begin(requestHead())
        _ = bench.credentials?.demand(.refused(version: 1)) { _ in }
        bench.refresher.end(renewed)
        bench.answer(401)
        #expect(bench.forwarder.attempts.count == 2 && bench.refresher.calls == 1)
        bench.answer(200)
        #expect(steps(bench)["refresh"] == "already_newer")
    }

    @Test("another account's token does not carry this account's request")
    func switched() {
        let bench = Bench()
        bench.begin(requestHead())
        bench.credentials?.install(NewCredential(token: Secret("token-other")), isLogin: true)
        bench.answer(401, [], "old account")
        #expect(bench.forwarder.attempts.count == 1 && bench.reply == "old account" && bench.sink.ending == .finished)
        #expect(bench.credentials?.session().state == .authenticated)
    }

    @Test("without any token the first request waits for one; if none comes it fails before the upstream hears of it")
    func noToken() {
        let bench = Bench(token: nil)
        bench.begin(requestHead())
        #expect(bench.forwarder.attempts.isEmpty && bench.refresher.calls == 1)
        bench.endRefresh(renewed)
        #expect(bench.fields(0).last == "Authorization: Bearer token-two")
        for (result, status, reason) in [
            (RefreshResult.failed(detail: "x"), 502, "token_unavailable"), (.rejected(detail: "x"), 401, "token_missing"),
        ] {
            let bench = Bench(token: nil)
            bench.begin(requestHead())
            bench.endRefresh(result)
            #expect(
                Int(bench.sink.status) == status && object(bench.reply)["reason"] as? String == reason && bench.forwarder.attempts.isEmpty)
            #expect(lines(bench.sink.fields).contains("Retry-After: 1") == (status == 502))
        }
        let literal = Bench(token: nil, canRefresh: false)
        literal.begin(requestHead())
        #expect(literal.sink.status == 401 && steps(literal)["inject"] == "token_missing")
    }

    @Test("an expired token is never sent; one near its end is sent while a newer one is fetched")
    func expiry() {
        let now = Int64(1_700_000_000)
        let expired = Bench(token: NewCredential(token: Secret("token-one"), expiresAt: now))
        expired.begin(requestHead())
        #expect(expired.forwarder.attempts.isEmpty && expired.refresher.calls == 1)
        let soon = Bench(token: NewCredential(token: Secret("token-one"), expiresAt: now + 60))
        soon.begin(requestHead())
        #expect(soon.forwarder.attempts.count == 1 && soon.refresher.calls == 1)
        let later = Bench(token: NewCredential(token: Secret("token-one"), expiresAt: now + 61))
        later.begin(requestHead())
        #expect(later.forwarder.attempts.count == 1 && later.refresher.calls == 0)
        // The source knows the life of its token better than the distance to its end.
        let told = Bench(token: NewCredential(token: Secret("token-one"), expiresAt: now + 20, refreshAt: now + 1))
        told.begin(requestHead())
        #expect(told.forwarder.attempts.count == 1 && told.refresher.calls == 0)
    }

    @Test("a token counts as used once it is on an attempt, also when it came while the exchange waited for it")
    func used() {
        let bench = Bench()
        #expect(bench.credentials?.snapshot()?.isUsed == false)
        bench.begin(requestHead())
        #expect(bench.credentials?.snapshot()?.isUsed == true)
        let waiting = Bench(token: nil)
        waiting.begin(requestHead())
        waiting.endRefresh(.renewed(NewCredential(token: Secret("token-two"))))
        #expect(waiting.forwarder.attempts.count == 1 && waiting.credentials?.snapshot()?.isUsed == true)
    }

    @Test("a body above the replay bound is not sent again; the refresh serves those who come later")
    func tooLarge() {
        let bench = Bench()
        let size = ReplayBuffer.fileBytesMax + 1
        bench.begin(requestHead("/p", method: "POST", ["Content-Length: \(size)"]), isComplete: false)
        let piece = [UInt8](repeating: 1, count: 1 << 20)
        for _ in 0..<8 {
            bench.send(piece)
            _ = bench.readBody(0)
        }
        bench.send([1])
        _ = bench.readBody(0)
        bench.exchange?.receiveBodyEnd()
        bench.answer(401, [], "original")
        #expect(bench.reply == "original" && bench.forwarder.attempts.count == 1 && bench.refresher.calls == 1)
        #expect(lines(bench.sink.fields).contains("CryoNet-Failure: authenticationExpired/body_not_replayable"))
        #expect(steps(bench)["retry"] == "not_replayable" && bench.spill.opened == 0)
    }

    @Test("a body of which the upstream took a part at once is whole, counted, and replayed whole")
    func sentStraight() {
        let bench = Bench()
        let body = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 % 251) }
        bench.forwarder.straightMax = 20_000
        bench.begin(requestHead("/p", method: "POST", ["Content-Length: \(body.count)"]), isComplete: false)
        bench.send(Array(body[..<50_000]))
        #expect(bench.forwarder.straight == Array(body[..<20_000]) && bench.readBody(0) == Array(body[20_000..<50_000]))
        // A small piece is not worth a system call of its own.
        bench.send(Array(body[50_000..<60_000]))
        #expect(bench.forwarder.straight.count == 20_000)
        // Nor does a piece overtake one that waits.
        bench.send(Array(body[60_000...]))
        #expect(bench.forwarder.straight.count == 20_000 && bench.readBody(0) == Array(body[50_000...]))
        bench.exchange?.receiveBodyEnd()
        bench.answer(401, [], "original")
        bench.endRefresh(renewed)
        #expect(bench.readBody(1) == body)
        bench.answer(200, [], "fine")
        let attempts = object(bench.audit.lines.last)["attempts"] as? [[String: Any]]
        #expect(attempts?.map { $0["request_bytes"] as? Int } == [body.count, body.count])
    }

    @Test("a business code that means an expired token is refreshed like a 401, and kept in the failure")
    func businessCode() {
        let expired = #"{"code":10001,"msg":"login expired"}"#
        let bench = Bench(policy: envelope(), tokens: { $0.refresh.onBusinessCodes = ["10001"] })
        bench.begin(requestHead())
        bench.answer(200, [("Content-Type", "application/json")], expired)
        #expect(bench.refresher.calls == 1 && bench.sink.heads == 0)
        bench.endRefresh(renewed)
        bench.answer(200, [("Content-Type", "application/json")], expired)
        let body = object(bench.reply)
        #expect(bench.sink.status == 401 && body["kind"] as? String == "authenticationExpired" && body["businessCode"] as? Int == 10001)
        #expect(body["message"] as? String == "login expired" && body["statusCode"] as? Int == 200 && bench.forwarder.attempts.count == 2)
    }

    @Test("the revision is that of the first attempt")
    func revision() {
        let bench = Bench(policy: envelope { $0.failureStatus = 409 })
        let revision = text(bench.credentials?.session().revision.text)
        bench.begin(requestHead())
        bench.credentials?.install(NewCredential(token: Secret("token-other")), isLogin: true)
        bench.answer(200, [("Content-Type", "application/json")], #"{"code":1}"#)
        #expect(object(bench.reply)["authenticationRevision"] as? String == revision && bench.sink.status == 409)
    }

    @Test("an expired-session code ends the session it belongs to, and no newer one")
    func sessionExpired() {
        for isSwitched in [false, true] {
            let bench = Bench(policy: envelope { $0.sessionExpiredCodes = ["7"] })
            bench.begin(requestHead())
            if isSwitched { bench.credentials?.install(NewCredential(token: Secret("token-other")), isLogin: true) }
            bench.answer(200, [("Content-Type", "application/json")], #"{"code":"7"}"#)
            #expect(bench.events.expired.count == (isSwitched ? 0 : 1) && bench.sink.status == 401)
        }
    }
}
