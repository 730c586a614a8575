// Step audit: counts what the exchange ended in. Some fifteen loads and stores, no lock, no allocation.
// Domain: worker

extension Exchange {
    func tally(_ audit: AuditOutcome?) {
        guard let statistics = match.map({ $0.route.statistics }) ?? plan.unroutedStatistics else { return }
        let worker = context.workerIndex
        statistics.count(outcomes, audit: audit, worker: worker)
        if let failure { statistics.failures.add(to: failure.reason.position, worker: worker) }
        statistics.statuses.add(to: Int(statusSent / 100), worker: worker)
        // The clock stands still within a batch: an exchange that began and ended in one took no time, and counts.
        let duration = now > context.startNanoseconds ? (now - context.startNanoseconds) / 1000 : 0
        statistics.durations.add(microseconds: duration, worker: worker)
        guard let durations = match?.route.upstreamDurations else { return }
        for record in records {
            let end = record.endedAt > 0 ? record.endedAt : now
            durations.add(microseconds: end > record.startedAt ? (end - record.startedAt) / 1000 : 0, worker: worker)
        }
    }
}
