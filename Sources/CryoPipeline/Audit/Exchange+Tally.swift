// Step audit: counts what the exchange ended in. Some fifteen loads and stores, no lock, no allocation.
// Domain: worker

extension Exchange {
    func tally(_ audit: AuditOutcome?) {
        // The clock stands still within a batch: an exchange that began and ended in one took no time, and counts.
        let now = now
        let worker = context.workerIndex
        let ending = ExchangeEnding(
            outcomes: outcomes, audit: audit, failure: uncommon == nil ? nil : failure?.reason, status: statusSent,
            microseconds: microseconds(from: context.startNanoseconds, to: now))
        guard let route else {
            plan.unroutedStatistics?.count(ending, worker: worker)
            return
        }
        route.statistics?.count(ending, worker: worker)
        guard let durations = route.upstreamDurations, !records.isEmpty else { return }
        func count(_ start: UInt64, _ end: UInt64) {
            durations.add(microseconds: microseconds(from: start, to: end > 0 ? end : now), worker: worker)
        }
        count(records.current.startedAt, records.current.endedAt)
        if records.count > 1 { for record in records.earlier { count(record.startedAt, record.endedAt) } }
    }
}
