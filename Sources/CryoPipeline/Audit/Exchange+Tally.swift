// Step audit: counts what the exchange ended in. Some fifteen loads and stores, no lock, no allocation.
// Domain: worker

extension Exchange {
    func tally(_ audit: AuditOutcome?) {
        guard let route = match?.route else {
            if let statistics = plan.unroutedStatistics { count(in: statistics, audit) }
            return
        }
        if let statistics = route.statistics { count(in: statistics, audit) }
        if let durations = route.upstreamDurations { records.forEach { count($0, in: durations) } }
    }

    private func count(in statistics: RouteStatistics, _ audit: AuditOutcome?) {
        let worker = context.workerIndex
        statistics.count(outcomes, audit: audit, worker: worker)
        if let failure { statistics.failures.add(to: failure.reason.position, worker: worker) }
        statistics.statuses.add(to: Int(statusSent / 100), worker: worker)
        // The clock stands still within a batch: an exchange that began and ended in one took no time, and counts.
        let now = now
        let duration = now > context.startNanoseconds ? (now - context.startNanoseconds) / 1000 : 0
        statistics.durations.add(microseconds: duration, worker: worker)
    }

    private func count(_ record: AttemptRecord, in durations: DurationHistogram) {
        let end = record.endedAt > 0 ? record.endedAt : now
        durations.add(microseconds: end > record.startedAt ? (end - record.startedAt) / 1000 : 0, worker: context.workerIndex)
    }
}
