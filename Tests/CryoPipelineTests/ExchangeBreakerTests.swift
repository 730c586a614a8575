// Exchanges and the breaker of their upstream: what counts as a failure, what an open breaker answers, and that retries ask it too.
// Domain: worker

import CryoHTTP
import CryoJSON
import Testing

@testable import CryoPipeline

@Suite("exchange: breaker") struct ExchangeBreakerTests {
    private func bench(
        policy: PolicyPlan? = nil, canRefresh: Bool = true, conditions: [RetryCondition] = BreakerSettings.standard,
        retry: RetrySettings = RetrySettings(), breaker change: (inout BreakerSettings) -> Void = { _ in }
    ) -> Bench {
        Bench(
            withToken: false, policy: policy,
            upstream: {
                var settings = BreakerSettings(failurePercent: 100)
                settings.requestsMin = 1
                settings.openMilliseconds = 5_000
                settings.probes = 1
                settings.conditions = conditions
                change(&settings)
                $0.breaker = settings
            }, route: { $0.retry = retry })
    }

    private func state(_ bench: Bench) -> Breaker.State? { bench.plan.upstreams.first?.breaker?.status(at: bench.clock.nanoseconds).state }
    private func attempts(_ bench: Bench) -> UInt64? {
        bench.plan.upstreams.first?.breaker?.status(at: bench.clock.nanoseconds).attempts
    }

    @Test("an open breaker answers 503 with the time to come back, and no attempt is made or told")
    func refuses() {
        let bench = bench()
        bench.begin(requestHead())
        bench.answer(503, [("Retry-After", "70")], "no")
        #expect(bench.sink.status == 503 && bench.reply == "no", "the failure that opened it is the upstream's own")
        #expect(state(bench) == .open)
        bench.clock.advance(milliseconds: 1_500)
        bench.sink.body = []
        bench.begin(requestHead())
        #expect(bench.forwarder.attempts.count == 1)
        #expect(bench.sink.status == 503 && lines(bench.sink.fields).contains("Retry-After: 4"))
        #expect(lines(bench.sink.fields).contains("CryoNet-Failure: http/breaker_open"))
        #expect(lines(bench.sink.fields).contains("Proxy-Status: cryonet; error=destination_unavailable"))
        #expect(bench.reply.contains(#""attempts":0"#) && bench.reply.contains(#""retryable":true"#))
        let record = bench.audit.lines.last ?? ""
        #expect(record.contains(#""forward":"breaker_open""#) && record.contains(#""attempts":[]"#))
        #expect(bench.plan.upstreams.first?.breaker?.status(at: bench.clock.nanoseconds).refused == 1)
    }

    @Test(
        "each kind of failure counts, but only where it is listed",
        arguments: [ForwardError.connectRefused, .dnsFailed, .reset, .emptyResponse, .connectTimedOut, .tlsFailed])
    func networkFailures(_ error: ForwardError) {
        let listed = bench()
        listed.begin(requestHead())
        listed.fail(error)
        #expect(state(listed) == .open)
        let unlisted = bench(conditions: [.status(503)])
        unlisted.begin(requestHead())
        unlisted.fail(error)
        #expect(state(unlisted) == .closed && attempts(unlisted) == 0, "it says nothing")
    }

    @Test("answers that are no ailment are successes", arguments: [200, 204, 302, 400, 401, 404, 429, 501] as [UInt16])
    func healthyAnswers(_ status: UInt16) {
        let bench = bench()
        bench.begin(requestHead())
        bench.answer(status, [], "x")
        #expect(state(bench) == .closed && attempts(bench) == 1)
    }

    @Test("an upstream that is silent past the deadline counts")
    func silence() {
        let bench = bench()
        bench.begin(requestHead())
        bench.advance(milliseconds: 30_000)
        #expect(bench.sink.status == 504 && state(bench) == .open)
    }

    @Test("a client that leaves is no failure of the upstream")
    func clientGone() {
        let bench = bench()
        bench.begin(requestHead())
        bench.exchange?.clientGone()
        #expect(state(bench) == .closed && attempts(bench) == 0)
    }

    @Test("a client that leaves before the answer is judged says nothing; one that leaves a stream has seen it work")
    func clientGoneLater() {
        let judged = bench(policy: envelope())
        judged.begin(requestHead())
        judged.answer(200, [("Content-Type", "application/json")], #"{"code":"#, ends: false)
        judged.exchange?.clientGone()
        #expect(attempts(judged) == 0)
        let streamed = bench()
        streamed.begin(requestHead())
        streamed.answer(200, [("Content-Type", "text/event-stream")], "data: 1\n\n", ends: false)
        streamed.exchange?.clientGone()
        #expect(attempts(streamed) == 1 && state(streamed) == .closed)
    }

    @Test("a body that breaks off while it is judged counts as truncated")
    func truncatedJudgement() {
        let bench = bench(policy: envelope(), conditions: [.reason(.responseTruncated)])
        bench.begin(requestHead())
        bench.answer(200, [("Content-Type", "application/json")], #"{"code":"#, ends: false)
        bench.fail(.truncated)
        #expect(state(bench) == .open)
    }

    @Test("a tunnel that is made closes the breaker; one that can't be made counts")
    func websockets() {
        let bench = bench()
        let head = {
            requestHead("/ws", ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: a"])
        }
        bench.begin(head(), isComplete: false)
        bench.fail(.connectRefused)
        #expect(state(bench) == .open)
        bench.clock.advance(milliseconds: 5_000)
        bench.begin(head(), isComplete: false)
        bench.exchange?.attemptReceivedHead(bench.forwarder.last, ResponseHead(status: 101, fields: section([])), framing: .none)
        #expect(state(bench) == .closed)
    }

    @Test("an answer that breaks off counts, also when its beginning has gone to the client")
    func truncation() {
        let bench = bench()
        bench.begin(requestHead())
        bench.answer(200, [], "begin", ends: false)
        #expect(attempts(bench) == 0, "not over")
        bench.fail(.truncated)
        #expect(state(bench) == .open)
    }

    @Test("a business code counts where it is listed, and is a success elsewhere")
    func businessCodes() {
        let body = #"{"code":50013,"msg":"busy"}"#
        let listed = bench(policy: envelope(), conditions: [.businessCode("5*")])
        listed.begin(requestHead())
        listed.answer(200, [("Content-Type", "application/json")], body)
        #expect(listed.sink.status == 422 && state(listed) == .open)
        let unlisted = bench(policy: envelope())
        unlisted.begin(requestHead())
        unlisted.answer(200, [("Content-Type", "application/json")], body)
        #expect(state(unlisted) == .closed && attempts(unlisted) == 1)
    }

    @Test("a stream that is a probe closes the breaker with its head; it need not end")
    func streamsProbe() {
        let bench = bench()
        bench.begin(requestHead())
        bench.fail(.reset)
        bench.clock.advance(milliseconds: 5_000)
        bench.begin(requestHead())
        #expect(state(bench) == .halfOpen)
        bench.exchange?.attemptReceivedHead(
            bench.forwarder.last, ResponseHead(status: 200, fields: section([("Content-Type", "text/event-stream")])), framing: .chunked)
        #expect(state(bench) == .closed)
    }

    @Test("a business failure of a probe opens it again: HTTP success is not success")
    func judgedProbe() {
        let bench = bench(policy: envelope(), conditions: [.businessCode("50013")])
        for _ in 0..<2 {
            bench.clock.advance(milliseconds: 5_000)
            bench.begin(requestHead())
            bench.answer(200, [("Content-Type", "application/json")], #"{"code":50013}"#)
            #expect(state(bench) == .open)
        }
        #expect(bench.plan.upstreams.first?.breaker?.status(at: bench.clock.nanoseconds).opened == 2)
    }

    @Test("a retry is not begun while the breaker stays open, and the client gets the upstream's own answer")
    func retriesAskToo() {
        var retry = RetrySettings()
        retry.limit = 5
        let bench = bench(retry: retry)
        bench.begin(requestHead())
        bench.answer(503, [], "mine")
        #expect(bench.forwarder.attempts.count == 1 && bench.reply == "mine")
        #expect(bench.audit.lines.last?.contains(#""retry":"breaker_open""#) == true)
    }

    @Test("a breaker that opens during a back-off stops the retry")
    func opensMeanwhile() {
        var retry = RetrySettings()
        retry.limit = 5
        retry.jitter = .none
        let bench = bench(retry: retry, breaker: { $0.requestsMin = 2 })
        bench.begin(requestHead())
        bench.answer(503, [], "mine")
        #expect(state(bench) == .closed)
        let waiting = bench.exchange
        bench.begin(requestHead())
        bench.fail(.reset)
        #expect(state(bench) == .open)
        bench.clock.advance(milliseconds: 500)
        waiting?.deadlineReached(bench.clock.nanoseconds)
        #expect(bench.forwarder.attempts.count == 2)
        #expect(lines(bench.sink.fields).contains("CryoNet-Failure: http/breaker_open"))
        #expect(bench.audit.lines.last?.contains(#""retry":"breaker_open""#) == true)
        #expect(bench.reply.contains(#""attempts":1"#))
    }

    @Test("each attempt counts once: three attempts of one exchange are three")
    func everyAttemptCounts() {
        var retry = RetrySettings()
        retry.limit = 2
        retry.jitter = .none
        let bench = bench(retry: retry, breaker: { $0.requestsMin = 10 })
        bench.begin(requestHead())
        bench.answer(503)
        bench.advance(milliseconds: 500)
        bench.fail(.reset)
        bench.advance(milliseconds: 1_000)
        bench.answer(200, [], "at last")
        #expect(bench.reply == "at last")
        let status = bench.plan.upstreams.first?.breaker?.status(at: bench.clock.nanoseconds)
        #expect(status?.attempts == 3 && status?.failures == 2)
    }

    @Test("without a breaker nothing is asked")
    func off() {
        let bench = Bench(withToken: false)
        #expect(bench.plan.upstreams.first?.breaker == nil)
        for _ in 0..<50 {
            bench.begin(requestHead())
            bench.fail(.connectRefused)
        }
        #expect(bench.forwarder.attempts.count == 50)
    }
}
