// Counters of the workers: every outcome has its own, sums are exact, and a reload goes on where it was.
// Domain: cold

import CryoSync
import Dispatch
import Testing

@testable import CryoPipeline

@Suite("Exchange statistics")
struct ExchangeStatisticsTests {
    private func counts(_ route: RouteStatistics) -> [String: UInt64] {
        var counts: [String: UInt64] = [:]
        for (index, row) in RouteStatistics.outcomes.enumerated() where route.outcomes.sum(index) > 0 {
            counts["\(row.step.rawValue) \(row.outcome)"] = route.outcomes.sum(index)
        }
        return counts
    }

    @Test("each step and outcome is counted under its own name")
    func names() {
        let route = RouteStatistics(workers: 2)
        var steps = StepOutcomes()
        steps.read = .timedOut
        steps.route = .loopDetected
        steps.inject = .notApplicable
        steps.forward = .reset
        steps.refresh = .windowExceeded
        steps.retry = .notEligible
        steps.normalize = .tooLarge
        steps.reply = .clientGone
        route.count(steps, audit: .refused, worker: 0)
        route.count(steps, audit: .dropped, worker: 1)
        route.count(StepOutcomes(), audit: nil, worker: 1)
        #expect(
            counts(route) == [
                "accept accepted": 3, "read timed_out": 2, "route loop_detected": 2, "inject not_applicable": 2, "forward reset": 2,
                "refresh window_exceeded": 2, "retry not_eligible": 2, "normalize too_large": 2, "reply client_gone": 2,
                "audit refused": 1, "audit dropped": 1,
            ])
    }

    @Test("workers count side by side without losing anything, and strangers are left out")
    func workers() {
        let table = WorkerTable(workers: 4, count: 3)
        DispatchQueue.concurrentPerform(iterations: 4) { worker in
            for index in 0..<30_000 { table.add(to: index % 3, worker: worker) }
        }
        #expect((0..<3).map { table.sum($0) } == [40_000, 40_000, 40_000])
        table.add(to: 0, worker: 4)
        table.add(to: 3, worker: 0)
        #expect(table.sum(0) == 40_000 && table.sum(3) == 0)
    }

    @Test("a duration falls into the first bucket that holds it")
    func histogram() {
        let histogram = DurationHistogram(workers: 1)
        for microseconds: UInt64 in [0, 1_000, 1_001, 30_000_000, 30_000_001] { histogram.add(microseconds: microseconds, worker: 0) }
        #expect(histogram.buckets.first == 2 && histogram.buckets[1] == 1)
        #expect(Array(histogram.buckets.suffix(2)) == [1, 1] && histogram.buckets.reduce(0, +) == 5)
        #expect(histogram.sumMicroseconds == 60_002_002)
    }

    @Test("a reload keeps the counters of what it keeps")
    func reload() {
        let old = ExchangeStatistics(workers: 1, routes: ["a", "b"], upstreams: ["u"], replacing: nil)
        let new = ExchangeStatistics(workers: 1, routes: ["b", "c"], upstreams: ["u"], replacing: old)
        #expect(new.routes["b"] === old.routes["b"] && new.upstreams["u"] === old.upstreams["u"] && new.unrouted === old.unrouted)
        #expect(new.routes["a"] == nil && new.routes["c"] != nil)
    }
}
