// Limits of a route on manual time: the bucket, the count, and the answers of who is too many.
// Domain: worker

import CryoHTTP
import CryoJSON
import Testing

@testable import CryoPipeline

@Suite("route: limits") struct RouteLimitsTests {
    private static let second: UInt64 = 1_000_000_000

    private func settings(_ change: (inout RouteLimitSettings) -> Void) -> RouteLimitSettings {
        var settings = RouteLimitSettings()
        change(&settings)
        return settings
    }

    /// How many of `times` may begin at that moment.
    private func begun(_ load: RouteLoad, _ settings: RouteLimitSettings, at now: UInt64, times: Int) -> Int {
        (0..<times).filter { _ in
            guard load.enter(settings, at: now) == nil else { return false }
            load.leave()
            return true
        }.count
    }

    @Test("the burst begins at once, then one for each part of a second, and never more than the burst after a quiet time")
    func bucket() {
        let load = RouteLoad()
        let limits = settings {
            $0.requestsPerSecond = 10
            $0.burst = 3
        }
        let start = 5 * Self.second
        #expect(begun(load, limits, at: start, times: 10) == 3)
        #expect(begun(load, limits, at: start + Self.second / 10, times: 10) == 1)
        #expect(begun(load, limits, at: start + Self.second / 10 * 3, times: 10) == 2)
        #expect(begun(load, limits, at: start + 3600 * Self.second, times: 10) == 3)
    }

    @Test("over a long time it is the rate, to the request", arguments: [0.5, 1, 7, 1000])
    func rate(_ rate: Double) {
        let load = RouteLoad()
        let limits = settings {
            $0.requestsPerSecond = rate
            $0.burst = 1
        }
        let steps: UInt64 = 40_000
        let count = (0..<steps).reduce(0) { $0 + begun(load, limits, at: Self.second + $1 * Self.second / 1000, times: 2) }
        let wanted = Int(rate * Double(steps) / 1000)
        #expect((wanted...wanted + 1).contains(count))
    }

    @Test("who is too early is told how long, exactly; asking costs nothing")
    func wait() {
        let load = RouteLoad()
        let limits = settings { $0.requestsPerSecond = 0.5 }
        #expect(load.enter(limits, at: 0) == nil)
        #expect(load.enter(limits, at: 0) == .rate(waitNanoseconds: 2 * Self.second))
        #expect(load.enter(limits, at: Self.second / 2) == .rate(waitNanoseconds: 3 * Self.second / 2))
        #expect(load.enter(limits, at: 2 * Self.second) == nil)
    }

    @Test("a worker whose clock is a little behind changes nothing")
    func lateClock() {
        let load = RouteLoad()
        let limits = settings { $0.requestsPerSecond = 1 }
        #expect(load.enter(limits, at: 10 * Self.second) == nil)
        #expect(load.enter(limits, at: 10 * Self.second - 5) == .rate(waitNanoseconds: Self.second))
    }

    @Test("a higher rate after a reload is not held up by what the lower one was owed")
    func reload() {
        let load = RouteLoad()
        let slow = settings { $0.requestsPerSecond = 0.001 }
        #expect(load.enter(slow, at: 0) == nil)
        let fast = settings { $0.requestsPerSecond = 10 }
        #expect(load.enter(fast, at: Self.second) == .rate(waitNanoseconds: Self.second / 10))
    }

    @Test("as many at a time as allowed, one more not, and a place that was left is free; who is refused takes no rate")
    func concurrency() {
        let load = RouteLoad()
        let limits = settings {
            $0.concurrent = 2
            $0.requestsPerSecond = 1
            $0.burst = 3
        }
        #expect(load.enter(limits, at: 0) == nil && load.enter(limits, at: 0) == nil)
        for _ in 0..<10 { #expect(load.enter(limits, at: 0) == .concurrency) }
        #expect(load.count == 2)
        load.leave()
        #expect(load.enter(limits, at: 0) == nil)
        load.leave()
        #expect(load.enter(limits, at: 0) == .rate(waitNanoseconds: Self.second))
        #expect(load.count == 1, "who is refused for the rate takes no place either")
    }

    @Test("one too many at a time is 503 with the reason, and nothing is sent")
    func tooMany() {
        let bench = Bench(withToken: false, route: { $0.limits.concurrent = 1 })
        bench.begin(requestHead())
        let first = bench.exchange
        bench.begin(requestHead())
        #expect(bench.sink.status == 503 && bench.forwarder.attempts.count == 1)
        #expect(lines(bench.sink.fields).contains("CryoNet-Failure: http/concurrency_limited"))
        #expect(lines(bench.sink.fields).contains("Retry-After: 1"))
        #expect(bench.audit.lines.last?.contains(#""route":"concurrency_limited""#) == true)
        first?.clientGone()
        bench.begin(requestHead())
        #expect(bench.forwarder.attempts.count == 2, "the client that left made room")
    }

    @Test("one too early is 429 with the time, the policy by its route's name, and the reason")
    func tooEarly() {
        let bench = Bench(
            withToken: false,
            route: {
                $0.limits.requestsPerSecond = 0.25
                $0.limits.burst = 2
            })
        for _ in 0..<3 { bench.begin(requestHead()) }
        let fields = lines(bench.sink.fields)
        #expect(bench.sink.status == 429 && bench.forwarder.attempts.count == 2)
        #expect(fields.contains("CryoNet-Failure: http/rate_limited") && fields.contains("Retry-After: 4"))
        #expect(fields.contains(#"RateLimit-Policy: "api";q=2;w=8"#) && fields.contains(#"RateLimit: "api";r=0;t=4"#))
        #expect(bench.reply.contains(#""origin":"gateway""#) && bench.reply.contains(#""retryable":true"#))
        #expect(bench.plan.routes.first?.load?.count == 2)
    }

    @Test("the upstream's own 429 passes as it is")
    func theirs() {
        let bench = Bench(withToken: false, route: { $0.limits.requestsPerSecond = 100 })
        bench.begin(requestHead())
        bench.answer(429, [("Retry-After", "9"), ("RateLimit", "\"x\";r=0;t=9")], "slow down")
        #expect(bench.reply == "slow down" && lines(bench.sink.fields).contains("Retry-After: 9"))
        #expect(!lines(bench.sink.fields).contains { $0.hasPrefix("CryoNet-Failure") || $0.hasPrefix("RateLimit-Policy") })
    }

    @Test("retries and refreshes belong to the exchange that has begun")
    func attemptsAreFree() {
        var retry = RetrySettings()
        retry.limit = 2
        retry.jitter = .none
        let bench = Bench(
            withToken: false,
            route: {
                $0.limits.requestsPerSecond = 0.01
                $0.limits.concurrent = 1
                $0.retry = retry
            })
        bench.begin(requestHead())
        bench.answer(503)
        bench.advance(milliseconds: 500)
        bench.answer(200, [], "ok")
        #expect(bench.reply == "ok" && bench.forwarder.attempts.count == 2)
        #expect(bench.plan.routes.first?.load?.count == 0)
    }

    @Test("without limits there is nothing to ask")
    func off() { #expect(Bench().plan.routes.first?.load == nil) }
}
