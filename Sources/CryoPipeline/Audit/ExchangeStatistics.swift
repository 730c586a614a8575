// Counts of exchanges by route, step and outcome, and how long they and their attempts took: one table per worker, summed when asked.
// Domain: worker (writing) | shared (reading, through atomics)

import CryoSync

/// Counters of one kind with a slot for each worker. Worker `index` alone writes to row `index`, so a load and a store do, without a
/// locked instruction; a reader sees each slot as it was at some moment.
// SAFETY: the memory is allocated in `init`, freed in `deinit`, and reached through atomics only.
package final class WorkerTable: @unchecked Sendable {
    private let slots: UnsafeMutablePointer<Atomic<UInt64>>
    private let workers: Int
    /// Counters of one worker; rows are whole cache lines, so that workers do not share one.
    private let width: Int
    package let count: Int

    package init(workers: Int, count: Int) {
        self.workers = max(workers, 1)
        self.count = count
        width = (count + 7) & ~7
        slots = .allocate(capacity: self.workers * width)
        for index in 0..<self.workers * width { (slots + index).initialize(to: Atomic(0)) }
    }

    deinit {
        slots.deinitialize(count: workers * width)
        slots.deallocate()
    }

    /// Called on worker `worker`.
    func add(_ amount: UInt64 = 1, to index: Int, worker: Int) {
        guard worker < workers, index < count else { return }
        let slot = slots + worker * width + index
        slot.pointee.store(slot.pointee.load(ordering: .relaxed) &+ amount, ordering: .relaxed)
    }

    package func sum(_ index: Int) -> UInt64 {
        guard index < count else { return 0 }
        return (0..<workers).reduce(0) { $0 &+ slots[$1 * width + index].load(ordering: .relaxed) }
    }
}

/// Durations in buckets.
package final class DurationHistogram: Sendable {
    /// Upper bounds in microseconds; what is longer counts in the last bucket, which has none.
    package static let bounds: [UInt64] = [
        1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000, 30_000_000,
    ]
    private let table: WorkerTable

    init(workers: Int) { table = WorkerTable(workers: workers, count: Self.bounds.count + 2) }

    func add(microseconds: UInt64, worker: Int) {
        var bucket = 0
        while bucket < Self.bounds.count, microseconds > Self.bounds[bucket] { bucket += 1 }
        table.add(to: bucket, worker: worker)
        table.add(microseconds, to: Self.bounds.count + 1, worker: worker)
    }

    /// Not cumulative; one more than there are bounds.
    package var buckets: [UInt64] { (0...Self.bounds.count).map { table.sum($0) } }
    package var sumMicroseconds: UInt64 { table.sum(Self.bounds.count + 1) }
}

/// What one route's exchanges ended in.
package final class RouteStatistics: Sendable {
    /// Step and outcome of each counter, in the order of the counters.
    package static let outcomes: [(step: Step, outcome: String)] =
        AcceptOutcome.allCases.map { (.accept, $0.rawValue) } + ReadOutcome.allCases.map { (.read, $0.rawValue) }
        + RouteOutcome.allCases.map { (.route, $0.rawValue) } + InjectOutcome.allCases.map { (.inject, $0.rawValue) }
        + ForwardOutcome.allCases.map { (.forward, $0.rawValue) } + RefreshOutcome.allCases.map { (.refresh, $0.rawValue) }
        + RetryOutcome.allCases.map { (.retry, $0.rawValue) } + NormalizeOutcome.allCases.map { (.normalize, $0.rawValue) }
        + ReplyOutcome.allCases.map { (.reply, $0.rawValue) } + AuditOutcome.allCases.map { (.audit, $0.rawValue) }
    private static func start(_ step: Step) -> Int { outcomes.firstIndex { $0.step == step } ?? 0 }

    private static let accept = OutcomeIndex<AcceptOutcome>(from: start(.accept))
    private static let read = OutcomeIndex<ReadOutcome>(from: start(.read))
    private static let route = OutcomeIndex<RouteOutcome>(from: start(.route))
    private static let inject = OutcomeIndex<InjectOutcome>(from: start(.inject))
    private static let forward = OutcomeIndex<ForwardOutcome>(from: start(.forward))
    private static let refresh = OutcomeIndex<RefreshOutcome>(from: start(.refresh))
    private static let retry = OutcomeIndex<RetryOutcome>(from: start(.retry))
    private static let normalize = OutcomeIndex<NormalizeOutcome>(from: start(.normalize))
    private static let reply = OutcomeIndex<ReplyOutcome>(from: start(.reply))
    private static let audit = OutcomeIndex<AuditOutcome>(from: start(.audit))

    package let outcomes: WorkerTable
    /// By the order of `FailureReason.allCases`.
    package let failures: WorkerTable
    /// Replies by the first digit of their status, 1…5.
    package let statuses: WorkerTable
    package let durations: DurationHistogram
    /// By `StreamCount`.
    package let streams: WorkerTable

    init(workers: Int) {
        outcomes = WorkerTable(workers: workers, count: Self.outcomes.count)
        failures = WorkerTable(workers: workers, count: FailureReason.allCases.count)
        statuses = WorkerTable(workers: workers, count: 6)
        durations = DurationHistogram(workers: workers)
        streams = WorkerTable(workers: workers, count: StreamCount.allCases.count)
    }

    func count(_ steps: StepOutcomes, audit: AuditOutcome?, worker: Int) {
        func add<Outcome>(_ index: OutcomeIndex<Outcome>, _ outcome: Outcome?) {
            if let outcome { outcomes.add(to: index[outcome], worker: worker) }
        }
        add(Self.accept, steps.accept)
        add(Self.read, steps.read)
        add(Self.route, steps.route)
        add(Self.inject, steps.inject)
        add(Self.forward, steps.forward)
        add(Self.refresh, steps.refresh)
        add(Self.retry, steps.retry)
        add(Self.normalize, steps.normalize)
        add(Self.reply, steps.reply)
        add(Self.audit, audit)
    }
}

/// The counters of one configuration. What a reload keeps goes on counting where it was.
package final class ExchangeStatistics: Sendable {
    package let routes: [String: RouteStatistics]
    package let upstreams: [String: DurationHistogram]
    /// Exchanges that never came to a route.
    package let unrouted: RouteStatistics

    package init(workers: Int, routes: [String], upstreams: [String], replacing old: ExchangeStatistics?) {
        self.routes = Dictionary(
            routes.map { ($0, old?.routes[$0] ?? RouteStatistics(workers: workers)) }, uniquingKeysWith: { first, _ in first })
        self.upstreams = Dictionary(
            upstreams.map { ($0, old?.upstreams[$0] ?? DurationHistogram(workers: workers)) }, uniquingKeysWith: { first, _ in first })
        unrouted = old?.unrouted ?? RouteStatistics(workers: workers)
    }
}

/// From an outcome to its counter, by the byte that a case is: cases that stand for texts are compared as texts, which costs more.
private struct OutcomeIndex<Outcome: CaseIterable & Sendable>: Sendable {
    private let positions: [Int]

    init(from start: Int) {
        var positions = [Int](repeating: start, count: 256)
        for (offset, outcome) in Outcome.allCases.enumerated() { positions[Self.byte(of: outcome)] = start + offset }
        self.positions = positions
    }

    subscript(outcome: Outcome) -> Int { positions[Self.byte(of: outcome)] }

    /// Cases without values are one byte.
    private static func byte(of outcome: Outcome) -> Int { withUnsafeBytes(of: outcome) { Int($0.first ?? 0) } }
}
