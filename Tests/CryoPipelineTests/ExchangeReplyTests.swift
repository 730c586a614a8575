// What the client gets: judged answers, failures, streams; deadlines; clients that leave; one record each time.
// Domain: cold

import CryoHTTP
import Foundation
import Testing

@testable import CryoPipeline

private let json = [("Content-Type", "application/json")]
private let renewed = RefreshResult.renewed(NewCredential(token: Secret("token-two")))

private func record(_ bench: Bench) -> [String: Any] { object(bench.audit.lines.last) }

private func step(_ bench: Bench, _ name: String) -> String? { (record(bench)["steps"] as? [String: Any])?[name] as? String }

@Suite("What the client gets")
struct ExchangeReplyTests {
    @Test("an answer without a policy passes through: status, fields in order, bytes, in their pieces")
    func passThrough() {
        let bench = Bench(withToken: false)
        bench.begin(requestHead())
        let fields = [
            ("Set-Cookie", "a=1"), ("Connection", "X-Hop"), ("X-Hop", "1"), ("Set-Cookie", "b=2"), ("Content-Length", "4"),
            ("ETag", "\"x\""),
        ]
        bench.answer(206, fields, "ab", ends: false)
        #expect(bench.reply == "ab")
        bench.deliver("cd")
        bench.exchange?.attemptEnded(bench.forwarder.last, AttemptTiming())
        #expect(bench.reply == "abcd" && bench.sink.status == 206 && bench.sink.ending == .finished)
        #expect(lines(bench.sink.fields) == ["Set-Cookie: a=1", "Set-Cookie: b=2", "ETag: \"x\"", requestIDLine(bench)])
        #expect(step(bench, "normalize") == "passed_through" && record(bench)["response_bytes"] as? Int == 4)
    }

    @Test("a judged answer is the whole body, or the part the policy unwraps")
    func judged() {
        let body = #"{"code":0,"data":{"title":"CryoNet"}}"#
        let whole = Bench(policy: envelope())
        whole.begin(requestHead())
        whole.answer(200, json + [("ETag", "1")], body)
        #expect(whole.reply == body && lines(whole.sink.fields) == ["Content-Type: application/json", "ETag: 1", requestIDLine(whole)])
        #expect(whole.sink.framing == .length(UInt64(body.utf8.count)) && step(whole, "normalize") == "accepted")
        let part = Bench(policy: envelope { $0.view = .data })
        part.begin(requestHead())
        part.answer(200, json + [("ETag", "1"), ("Digest", "x")], body)
        #expect(
            part.reply == #"{"title":"CryoNet"}"# && lines(part.sink.fields) == ["Content-Type: application/json", requestIDLine(part)])
        let string = Bench(policy: envelope { $0.view = .data })
        string.begin(requestHead())
        string.answer(200, json, #"{"code":0,"data":"a\"b"}"#)
        #expect(string.reply == "a\"b" && lines(string.sink.fields) == [requestIDLine(string), "Content-Type: text/plain; charset=utf-8"])
    }

    @Test("a failure carries its headers: kind and reason, Proxy-Status, request id, no caching")
    func failureHeaders() {
        let bench = Bench()
        bench.begin(requestHead("/t", ["X-Request-Id: r-1", "Accept-Language: en"]))
        bench.fail(.connectRefused)
        #expect(
            lines(bench.sink.fields) == [
                "Content-Type: application/problem+json", "Cache-Control: no-store", "CryoNet-Failure: network/connect_refused",
                "Proxy-Status: cryonet; error=connection_refused", "X-Request-Id: r-1",
            ])
        #expect(bench.sink.status == 502 && object(bench.reply)["message"] as? String == "Could not connect to the upstream.")
        #expect(bench.sink.framing == .length(UInt64(bench.sink.body.count)) && step(bench, "forward") == "connect_failed")
    }

    @Test("a status the policy turns into a failure keeps status, body and the fields needed to act on it")
    func upstreamStatus() {
        let bench = Bench(policy: envelope())
        bench.begin(requestHead())
        bench.answer(429, json + [("Retry-After", "30"), ("X-Other", "1")], #"{"code":0,"message":"not found"}"#)
        let body = object(bench.reply)
        #expect(bench.sink.status == 429 && body["reason"] as? String == "upstream_status" && body["kind"] as? String == "http")
        #expect(body["domain"] as? String == "HTTPError" && body["businessCode"] is NSNull && body["statusCode"] as? Int == 429)
        #expect((body["responseData"] as? [String: Any])?["message"] as? String == "not found")
        #expect(lines(bench.sink.fields).contains("Retry-After: 30") && lines(bench.sink.fields).contains("X-Other: 1"))
        #expect(!lines(bench.sink.fields).contains("Content-Type: application/json"))
    }

    @Test("V7: a broken 503 is the upstream's status, a broken 200 the network's failure")
    func precedence() {
        let status = Bench(policy: envelope())
        status.begin(requestHead())
        status.answer(503, json, "0123456789", ends: false)
        status.fail(.truncated)
        #expect(status.sink.status == 503 && object(status.reply)["domain"] as? String == "ServerError")
        let success = Bench(policy: envelope())
        success.begin(requestHead())
        success.answer(200, json, "0123456789", ends: false)
        success.fail(.truncated)
        let body = object(success.reply)
        #expect(success.sink.status == 502 && body["kind"] as? String == "network" && body["statusCode"] as? Int == 200)
    }

    @Test("business codes map to statuses; the default is the policy's")
    func businessStatus() {
        for (code, status) in [("10001", 401), ("7", 422)] {
            let bench = Bench(policy: envelope { $0.codes = ["10001": 401] })
            bench.begin(requestHead())
            bench.answer(200, json, "{\"code\":\(code),\"msg\":\"m\"}")
            let body = object(bench.reply)
            #expect(Int(bench.sink.status) == status && body["kind"] as? String == "business" && body["code"] as? Int == Int(code))
            #expect(bench.refresher.calls == 0 && step(bench, "normalize") == "business_rejected")
        }
    }

    @Test("HEAD of a payload says nothing about the whole; HEAD of a whole answer says all")
    func headOfPart() {
        let fields = json + [("Content-Length", "40"), ("ETag", "1"), ("Content-Encoding", "gzip"), ("Digest", "x"), ("X-Own", "1")]
        for (view, kept) in [
            (PolicySettings.View.data, ["Content-Type: application/json", "X-Own: 1"]), (.complete, fields.map { "\($0): \($1)" }),
        ] {
            let bench = Bench(policy: envelope { $0.view = view })
            bench.begin(requestHead(method: "HEAD"))
            bench.answer(200, fields)
            #expect(lines(bench.sink.fields) == kept + [requestIDLine(bench)])
        }
    }

    @Test("streams, bodiless statuses and HEAD are never judged")
    func notJudged() {
        let table: [(String, UInt16, [(String, String)])] = [
            ("GET", 200, [("Content-Type", "text/event-stream")]), ("GET", 200, [("Content-Type", "application/x-ndjson")]),
            ("GET", 204, []),
            ("GET", 206, json), ("GET", 304, []), ("GET", 302, []), ("HEAD", 200, json),
        ]
        for (method, status, fields) in table {
            let bench = Bench(policy: envelope())
            bench.begin(requestHead(method: method))
            bench.answer(status, fields)
            #expect(bench.sink.status == status && step(bench, "normalize") == "passed_through", "\(method) \(status)")
        }
    }

    @Test("a body at the policy's bound is judged, one byte more is streamed whole")
    func oversize() {
        let body = #"{"code":7}"#
        for (bound, status) in [(body.utf8.count, 422), (body.utf8.count - 1, 200)] {
            let bench = Bench(policy: envelope { $0.bodyBytesMax = bound })
            bench.begin(requestHead())
            bench.answer(200, json, body)
            #expect(Int(bench.sink.status) == status)
            if status == 200 { #expect(bench.reply == body && step(bench, "normalize") == "too_large") }
        }
    }

    @Test("a stream that breaks is cut off, never ended properly and never tried again")
    func truncated() {
        let bench = Bench(route: { $0.retry.limit = 3 })
        bench.begin(requestHead())
        bench.answer(200, json, "abc", ends: false)
        bench.fail(.reset)
        #expect(bench.sink.ending == .aborted && bench.forwarder.attempts.count == 1 && step(bench, "reply") == "truncated")
    }

    @Test("secrets the upstream echoes into a failure or the audit are masked")
    func secrets() {
        let bench = Bench(policy: envelope(), audit: { $0.bodies = .all })
        bench.begin(requestHead("/x?token=abc&a=token-one", ["X-Echo: token-one", "Cookie: secret-cookie"]))
        bench.answer(500, json + [("X-Echo", "token-one")], #"{"echo":"Bearer token-one","password":"hunter2"}"#)
        let line = bench.audit.lines.last ?? ""
        #expect(!bench.reply.contains("token-one") && bench.reply.contains("***"))
        for secret in ["token-one", "secret-cookie", "hunter2", "token=abc"] { #expect(!line.contains(secret), "\(secret)") }
        #expect(!object(line).isEmpty && !object(bench.reply).isEmpty)
    }

    @Test("V8: transient failures are tried again after their delays, and not for POST")
    func retries() {
        let bench = Bench(route: {
            $0.retry.limit = 2
            $0.retry.jitter = .none
        })
        bench.begin(requestHead())
        bench.answer(503)
        bench.advance(milliseconds: 499)
        #expect(bench.forwarder.attempts.count == 1)
        bench.advance(milliseconds: 1)
        #expect(bench.forwarder.attempts.count == 2)
        bench.fail(.reset)
        bench.advance(milliseconds: 999)
        #expect(bench.forwarder.attempts.count == 2)
        bench.advance(milliseconds: 1)
        bench.answer(503, json, "last")
        #expect(bench.forwarder.attempts.count == 3 && bench.sink.status == 503 && bench.reply == "last")
        #expect(step(bench, "retry") == "limit_reached")
        let post = Bench(route: { $0.retry.limit = 2 })
        post.begin(requestHead(method: "POST", ["Content-Length: 1"]), body: [1])
        post.answer(503)
        #expect(post.forwarder.attempts.count == 1 && step(post, "retry") == "not_eligible")
    }

    @Test("OPTIONS * is answered by the gateway, refused requests say why; each has one record")
    func early() {
        let ping = Bench()
        ping.begin(requestHead("*", method: "OPTIONS"))
        #expect(ping.sink.status == 204 && ping.sink.ending == .finished && ping.audit.lines.count == 1)
        let denied = Bench()
        denied.begin(requestHead(host: "evil.test"))
        #expect(denied.sink.status == 421 && denied.forwarder.attempts.isEmpty && step(denied, "route") == "host_denied")
        #expect(object(denied.reply)["route"] is NSNull && denied.audit.lines.count == 1)
        let refused = Bench()
        refused.begin(nil, isComplete: false)
        refused.exchange?.refuse(.requestTooLarge, status: 431, detail: "head too large")
        #expect(refused.sink.status == 431 && object(refused.reply)["underlyingError"] as? String == "head too large")
        #expect(step(refused, "read") == "too_large" && refused.audit.lines.count == 1 && refused.counters.open == 0)
    }

    @Test("a body that can't be completed is a failure before the reply, and cuts it off after its head")
    func bodyRefused() {
        let before = Bench()
        before.begin(requestHead(method: "POST", ["Content-Length: 9"]), isComplete: false)
        before.exchange?.bodyRefused(.requestTimedOut, status: 408, detail: "slow")
        #expect(before.sink.status == 408 && before.forwarder.attempts[0].isCancelled && step(before, "read") == "timed_out")
        #expect(step(before, "reply") == "sent" && before.audit.lines.count == 1)
        let after = Bench()
        after.begin(requestHead(method: "POST", ["Content-Length: 9"]), isComplete: false)
        after.answer(200, json, "x", ends: false)
        after.exchange?.bodyRefused(.requestMalformed, status: 400, detail: "bad chunk")
        #expect(after.sink.ending == .aborted && step(after, "reply") == "truncated" && after.audit.lines.count == 1)
    }

    @Test("a client that still waits is told to continue only when the upstream is asked")
    func continues() {
        let bench = Bench()
        bench.begin(requestHead(method: "POST", ["Content-Length: 1", "Expect: 100-continue"]), isComplete: false)
        #expect(bench.sink.continues == 1)
        let missing = Bench(token: nil, canRefresh: false)
        missing.begin(requestHead(method: "POST", ["Content-Length: 1", "Expect: 100-continue"]), isComplete: false)
        #expect(missing.sink.continues == 0 && missing.sink.status == 401)
    }

    @Test("a paused client goes on when the upstream has read enough, also when it reads at once")
    func backPressure() {
        let bench = Bench()
        bench.begin(requestHead(method: "POST", ["Transfer-Encoding: chunked"]), isComplete: false)
        #expect(bench.send([UInt8](repeating: 1, count: 300_000)) == .pause)
        _ = bench.readBody(0, upTo: 210_000)
        #expect(bench.sink.resumes == 0)
        _ = bench.readBody(0)
        #expect(bench.sink.resumes == 1)
        bench.answer(200, json, "a", ends: false)
        bench.sink.pausesNext = true
        #expect(bench.deliver("b") == .pause)
        bench.exchange?.replyDrained()
        #expect(bench.forwarder.resumed == [0])
    }
}

@Suite("An exchange in time")
struct ExchangeDeadlineTests {
    @Test("silence before the head, inside a held body, and in a stream each end the exchange as they should")
    func silence() {
        let head = Bench(upstream: { $0.timeouts.responseMilliseconds = 100 })
        head.begin(requestHead())
        head.advance(milliseconds: 99)
        #expect(head.sink.heads == 0)
        head.advance(milliseconds: 1)
        #expect(head.sink.status == 504 && head.forwarder.attempts[0].isCancelled && step(head, "forward") == "timed_out")
        let held = Bench(policy: envelope(), upstream: { $0.timeouts.idleMilliseconds = 100 })
        held.begin(requestHead())
        held.answer(200, json, "{", ends: false)
        held.advance(milliseconds: 100)
        #expect(held.sink.status == 504)
        let stream = Bench(upstream: { $0.timeouts.idleMilliseconds = 100 })
        stream.begin(requestHead())
        stream.answer(200, json, "a", ends: false)
        stream.advance(milliseconds: 99)
        stream.deliver("b")
        stream.advance(milliseconds: 99)
        #expect(stream.sink.ending == .open)
        stream.advance(milliseconds: 1)
        #expect(stream.sink.ending == .aborted && step(stream, "reply") == "truncated")
    }

    @Test("a stream whose client has caught up is watched again")
    func watchedAgain() {
        let bench = Bench(upstream: { $0.timeouts.idleMilliseconds = 100 })
        bench.begin(requestHead())
        bench.answer(200, json, "a", ends: false)
        bench.sink.pausesNext = true
        bench.deliver("b")
        bench.advance(milliseconds: 10_000)
        #expect(bench.sink.ending == .open)
        bench.scheduler.wakes = []
        bench.exchange?.replyDrained()
        #expect(bench.scheduler.wakes == [bench.clock.nanoseconds + 100_000_000])
        bench.advance(milliseconds: 100)
        #expect(bench.sink.ending == .aborted)
    }

    @Test("the total time bounds retries, and leaves a stream alone")
    func total() {
        let bench = Bench(
            upstream: {
                $0.timeouts.totalMilliseconds = 1_000
                $0.timeouts.responseMilliseconds = 0
            })
        bench.begin(requestHead())
        bench.advance(milliseconds: 1_000)
        #expect(bench.sink.status == 504)
        let stream = Bench(upstream: { $0.timeouts.totalMilliseconds = 1_000 })
        stream.begin(requestHead())
        stream.answer(200, [("Content-Type", "text/event-stream")], "data: a\n\n", ends: false)
        stream.advance(milliseconds: 60_000)
        #expect(stream.sink.ending == .open)
    }

    @Test("a refresh that never ends fails its waiter in time, and only it")
    func tokenWait() {
        let bench = Bench(tokens: { $0.refresh.timeoutMilliseconds = 100 })
        bench.begin(requestHead())
        bench.answer(401, [], "original")
        bench.advance(milliseconds: 1_099)
        #expect(bench.sink.heads == 0)
        bench.advance(milliseconds: 1)
        #expect(bench.sink.status == 401 && bench.reply == "original" && step(bench, "refresh") == "failed")
        bench.endRefresh(renewed)
        #expect(bench.credentials?.snapshot()?.version == 2 && bench.forwarder.attempts.count == 1 && bench.sink.callsAfterEnd == 0)
    }

    enum Moment: CaseIterable { case awaitingToken, forwarding, holding, awaitingRefresh, backingOff, streaming, uploading }

    @Test("a client may leave at any moment: everything stops, and there is one record", arguments: Moment.allCases)
    func clientGone(_ moment: Moment) {
        let bench = Bench(
            token: moment == .awaitingToken ? nil : NewCredential(token: Secret("token-one")),
            policy: moment == .holding ? envelope() : nil,
            route: { $0.retry.limit = 1 })
        if moment == .uploading {
            bench.begin(requestHead(method: "POST", ["Content-Length: 9"]), body: [1], isComplete: false)
        } else {
            bench.begin(requestHead())
        }
        switch moment {
        case .awaitingToken, .forwarding, .uploading: break
        case .holding, .streaming: bench.answer(200, json, "{", ends: false)
        case .awaitingRefresh: bench.answer(401)
        case .backingOff: bench.answer(503)
        }
        bench.exchange?.clientGone()
        bench.exchange?.clientGone()
        let bytes = bench.sink.body.count
        // Nothing that comes late stirs it.
        bench.endRefresh(renewed)
        bench.deliver("late")
        bench.exchange?.replyDrained()
        bench.advance(milliseconds: 600_000)
        #expect(bench.sink.ending == .open && bench.sink.body.count == bytes && bench.forwarder.attempts.count <= 1)
        #expect(bench.audit.lines.count == 1 && step(bench, "reply") == "client_gone" && bench.counters.open == 0)
        #expect(record(bench)["status"] as? Int == (moment == .streaming ? 200 : 499))
        #expect(bench.exchange?.ticket == nil && bench.exchange?.isAttemptOpen == false)
        #expect(step(bench, "read") == (moment == .uploading ? "client_gone" : "parsed"))
    }

    @Test("what a cancelled attempt still says is not heard")
    func stale() {
        let bench = Bench()
        bench.begin(requestHead())
        let first = bench.forwarder.last
        bench.answer(401)
        bench.endRefresh(renewed)
        bench.exchange?.attemptFailed(first, .reset, AttemptTiming())
        bench.exchange?.attemptReceivedHead(first, ResponseHead(status: 500), framing: .none)
        #expect(bench.sink.heads == 0)
        bench.answer(200, json, "ok")
        #expect(bench.reply == "ok" && bench.sink.callsAfterEnd == 0)
    }

    @Test("SS8: a stream is not cached unless the upstream says so; nothing else is touched")
    func streamsAreNotCached() {
        for (fields, wanted) in [
            ([("Content-Type", "text/event-stream")], ["no-store"]),
            ([("Content-Type", "text/event-stream"), ("Cache-Control", "x")], ["x"]),
            ([("Content-Type", "application/x-ndjson")], []), ([("Content-Type", "application/json")], []),
        ] as [([(String, String)], [String])] {
            let bench = Bench()
            bench.begin(requestHead())
            bench.answer(200, fields, "x")
            let seen = lines(bench.sink.fields).filter { $0.hasPrefix("Cache-Control: ") }.map { String($0.dropFirst(15)) }
            #expect(seen == wanted)
        }
    }
}
