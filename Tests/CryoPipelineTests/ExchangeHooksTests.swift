// What an exchange tells the hooks of its token and policy.
// Domain: cold

import CryoHTTP
import CryoSync
import Testing

@testable import CryoPipeline

final class FakeHooks: HookSink {
    struct Told: Sendable {
        let token: String?
        let policy: String?
        let isAuthentication: Bool
        let body: String
        /// Whether the client had its head already.
        var isLate = false
    }

    private let kept = Mutex<[Told]>([])
    private let sessions = Mutex<[String]>([])
    let wants: Bool
    var all: [Told] { kept.withLock { $0 } }
    var expired: [String] { sessions.withLock { $0 } }

    init(wants: Bool = true) { self.wants = wants }

    func wantsFailure(token: String?, policy: String?, isAuthentication: Bool) -> Bool { wants }
    func failed(token: String?, policy: String?, isAuthentication: Bool, body: [UInt8]) {
        let told = Told(token: token, policy: policy, isAuthentication: isAuthentication, body: String(decoding: body, as: UTF8.self))
        kept.withLock { $0.append(told) }
    }
    func sessionExpired(policy: String, token: String, revision: SessionRevision) {
        sessions.withLock { $0.append("\(policy) \(token)") }
    }
}

@Suite("An exchange and the hooks")
struct ExchangeHooksTests {
    private let json = [("Content-Type", "application/json")]

    @Test("a failure is told once, as the client gets it, with its token and policy and without secrets")
    func failure() {
        let hooks = FakeHooks()
        let bench = Bench(policy: envelope(), hooks: hooks)
        bench.begin(requestHead())
        bench.answer(200, json, #"{"code":7,"msg":"no token-one","password":"hidden-by-name"}"#)
        #expect(hooks.all.count == 1)
        let told = hooks.all.first
        #expect(told?.token == "app" && told?.policy == "envelope" && told?.isAuthentication == false)
        let (body, reply) = (object(told?.body), object(bench.reply))
        #expect(body["reason"] as? String == "business_rejected" && body["instance"] as? String == reply["instance"] as? String)
        #expect(body["message"] as? String == "no ***" && reply["message"] as? String == "no ***")
        #expect(told?.body.contains("hidden-by-name") == false && bench.reply.contains("hidden-by-name"))
    }

    @Test("a refused answer that passes as it came is told as failure JSON; the client gets the upstream's bytes")
    func passed() {
        let hooks = FakeHooks()
        let bench = Bench(hooks: hooks)
        bench.begin(requestHead())
        bench.answer(401, [("Content-Type", "text/plain")], "bad token-one")
        bench.endRefresh(.failed(detail: "down"))
        #expect(bench.sink.status == 401 && bench.reply == "bad token-one")
        let body = object(hooks.all.first?.body)
        #expect(hooks.all.count == 1 && hooks.all.first?.isAuthentication == true && hooks.all.first?.policy == nil)
        #expect(body["reason"] as? String == "refresh_failed" && body["status"] as? Int == 401)
        #expect(body["responseData"] as? String == "bad ***")
    }

    @Test("where the client gets the upstream's answer with headers, or a message only, the hooks get the failure JSON all the same")
    func otherForms() {
        let hooks = FakeHooks()
        let answer = #"{"code":7,"msg":"no token-one"}"#
        let annotated = Bench(policy: envelope { $0.failureMode = .annotate }, hooks: hooks)
        annotated.begin(requestHead())
        annotated.answer(200, json, answer)
        #expect(annotated.sink.status == 200 && annotated.reply == answer)
        let brief = Bench(policy: envelope { $0.failureFormat = .message }, hooks: hooks)
        brief.begin(requestHead())
        brief.answer(200, json, answer)
        #expect(object(brief.reply).keys.sorted() == ["message"])
        #expect(hooks.all.count == 2)
        for told in hooks.all {
            let body = object(told.body)
            #expect(told.policy == "envelope" && body["reason"] as? String == "business_rejected" && body["message"] as? String == "no ***")
        }
    }

    @Test("a code that ends the session, and is also one the route retries, ends it only when no attempt is left")
    func endsWhenFinal() {
        let hooks = FakeHooks()
        let policy = envelope { $0.sessionExpiredCodes = ["10001"] }
        func retrying(_ route: inout RouteSettings) {
            route.retry.limit = 1
            route.retry.conditions.append(.businessCode("10001"))
        }
        let bench = Bench(policy: policy, route: retrying, hooks: hooks)
        bench.begin(requestHead())
        bench.answer(200, json, #"{"code":10001}"#)
        #expect(hooks.expired.isEmpty && bench.credentials?.snapshot() != nil && bench.sink.status == 0)
        bench.advance(milliseconds: 30_000)
        bench.answer(200, json, #"{"code":10001}"#)
        #expect(hooks.expired == ["envelope app"] && bench.credentials?.snapshot() == nil && bench.sink.status == 401)
        #expect(bench.forwarder.attempts.count == 2)
    }

    @Test("a success tells nothing, nor does a failure nobody wants, nor one that a hook's own call has caused")
    func silent() {
        let hooks = FakeHooks()
        let fine = Bench(policy: envelope(), hooks: hooks)
        fine.begin(requestHead())
        fine.answer(200, json, #"{"code":0}"#)
        let caused = Bench(policy: envelope(), hooks: hooks)
        caused.begin(requestHead("/t", ["CryoNet-Event: failure"]))
        caused.answer(500, json, "{}")
        #expect(hooks.all.isEmpty && caused.sink.status == 500)
        let unwanted = FakeHooks(wants: false)
        let bench = Bench(policy: envelope(), hooks: unwanted)
        bench.begin(requestHead())
        bench.answer(500, json, "{}")
        #expect(unwanted.all.isEmpty && bench.sink.status == 500)
    }

    @Test("a code that ends the session tells the policy's hooks once, however many exchanges fail by it")
    func sessionExpired() {
        let hooks = FakeHooks()
        let bench = Bench(policy: envelope { $0.sessionExpiredCodes = ["10001"] }, hooks: hooks)
        bench.begin(requestHead())
        let first = bench.exchange
        bench.begin(requestHead())
        bench.answer(200, json, #"{"code":10001}"#)
        if let first {
            let id = AttemptID(slot: 0, generation: 1)
            first.attemptReceivedHead(id, ResponseHead(status: 200, fields: section(json)), framing: .length(14))
            Array(#"{"code":10001}"#.utf8).withUnsafeBytes { _ = first.attemptReceivedBody(id, $0) }
            first.attemptEnded(id, AttemptTiming())
        }
        #expect(hooks.all.count == 2 && hooks.expired == ["envelope app"] && bench.events.expired.count == 1)
    }
}
