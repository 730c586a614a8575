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
    @inline(__always)
    func add(_ amount: UInt64 = 1, to index: Int, worker: Int) { row(of: worker).add(amount, to: index) }

    /// The counters of one worker, for several additions in a row. None where there is no such worker.
    @inline(__always)
    func row(of worker: Int) -> WorkerRow { WorkerRow(slots: slots + worker * width, count: 0..<workers ~= worker ? count : 0) }

    package func sum(_ index: Int) -> UInt64 {
        guard index < count else { return 0 }
        return (0..<workers).reduce(0) { $0 &+ slots[$1 * width + index].load(ordering: .relaxed) }
    }
}

/// One worker's row of a table. Not to be kept: the table owns the memory.
struct WorkerRow {
    // SAFETY: rows are made and used within one call on the table's owner.
    fileprivate let slots: UnsafeMutablePointer<Atomic<UInt64>>
    fileprivate let count: Int

    @inline(__always)
    func add(_ amount: UInt64 = 1, to index: Int) {
        guard 0..<count ~= index else { return }
        let slot = slots + index
        slot.pointee.store(slot.pointee.load(ordering: .relaxed) &+ amount, ordering: .relaxed)
    }
}

/// Durations in buckets.
package final class DurationHistogram: Sendable {
    /// Upper bounds in microseconds; what is longer counts in the last bucket, which has none.
    package static let bounds: [UInt64] = [
        1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000, 30_000_000,
    ]
    private let table: WorkerTable
    /// Behind the buckets.
    private let sumIndex = bounds.count + 1

    init(workers: Int) { table = WorkerTable(workers: workers, count: Self.bounds.count + 2) }

    func add(microseconds: UInt64, worker: Int) {
        let row = table.row(of: worker)
        row.add(to: bucket(of: microseconds))
        row.add(microseconds, to: sumIndex)
    }

    private func bucket(of microseconds: UInt64) -> Int {
        // Most exchanges; without a look at the table.
        if microseconds <= 1_000 { return 0 }
        var bucket = 1
        while bucket < Self.bounds.count, microseconds > Self.bounds[bucket] { bucket += 1 }
        return bucket
    }

    /// Not cumulative; one more than there are bounds.
    package var buckets: [UInt64] { (0...Self.bounds.count).map { table.sum($0) } }
    package var sumMicroseconds: UInt64 { table.sum(sumIndex) }
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
    /// Where the counters of each step begin. Kept here, so that counting reaches for nothing global.
    private let starts = OutcomeStarts()

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

    /// Called on worker `worker`, once for each exchange.
    func count(_ ending: ExchangeEnding, worker: Int) {
        count(ending.outcomes, audit: ending.audit, worker: worker)
        if let failure = ending.failure { failures.add(to: failure.position, worker: worker) }
        statuses.add(to: Int(ending.status / 100), worker: worker)
        durations.add(microseconds: ending.microseconds, worker: worker)
    }

    func count(_ steps: StepOutcomes, audit: AuditOutcome?, worker: Int) {
        let row = outcomes.row(of: worker)
        func add<Outcome: CaseIterable>(_ start: Int, _ outcome: Outcome?) {
            if let outcome { row.add(to: start + casePlace(outcome)) }
        }
        add(starts.accept, steps.accept)
        add(starts.read, steps.read)
        add(starts.route, steps.route)
        add(starts.inject, steps.inject)
        add(starts.forward, steps.forward)
        add(starts.refresh, steps.refresh)
        add(starts.retry, steps.retry)
        add(starts.normalize, steps.normalize)
        add(starts.reply, steps.reply)
        add(starts.audit, audit)
    }
}

/// What is counted of one exchange.
struct ExchangeEnding {
    let outcomes: StepOutcomes
    let audit: AuditOutcome?
    let failure: FailureReason?
    let status: UInt16
    let microseconds: UInt64
}

private struct OutcomeStarts {
    let accept, read, route, inject, forward, refresh, retry, normalize, reply, audit: Int

    init() {
        func start(_ step: Step) -> Int { RouteStatistics.outcomes.firstIndex { $0.step == step } ?? 0 }
        (accept, read, route, inject) = (start(.accept), start(.read), start(.route), start(.inject))
        (forward, refresh, retry) = (start(.forward), start(.refresh), start(.retry))
        (normalize, reply, audit) = (start(.normalize), start(.reply), start(.audit))
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
