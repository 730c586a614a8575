// Step audit: what an exchange waits for where its record must be written (`audit.on_full: block` and `refuse`).
// Domain: worker

import CryoHTTP

extension Exchange {
    /// How often a waiting exchange asks whether records are taken again.
    static let auditPollNanoseconds: UInt64 = 50_000_000

    /// The connection itself, or what stands before it.
    static func watching(
        _ sink: any ReplySink, _ plan: PipelinePlan, _ environment: ExchangeEnvironment
    ) -> (any ReplySink, WithheldReply?, (any SecretWatch)?) {
        let withheld = plan.withholdsReplies ? WithheldReply(sink) : nil
        guard plan.echoes != nil else { return (withheld ?? sink, withheld, nil) }
        let echo: any SecretWatch =
            plan.blocksEchoes
            ? EchoGuard(withheld ?? sink, plan.redactor, environment.makeContentReader)
            : EchoWatch(withheld ?? sink, plan.redactor, environment.makeContentReader)
        return (echo, withheld, echo)
    }

    /// False while the exchange waits for the audit, or was refused because of it. Asked before anything goes to the upstream.
    func isAdmittedByAudit() -> Bool {
        guard let audit = fullAudit else { return true }
        guard audit.onFull == .block else { return isTunnelAdmittedByAudit() }
        auditPatience = scheduler.nanoseconds &+ UInt64(audit.patienceMilliseconds) &* 1_000_000
        deadlines.audit = scheduler.nanoseconds &+ Self.auditPollNanoseconds
        armDeadlines()
        return false
    }

    /// The audit's rules where it takes no record at present and nothing may go on without one.
    private var fullAudit: AuditRules? {
        guard let audit = plan.auditRules, audit.onFull != .drop, let sink = plan.auditSink, !sink.isWritable else { return nil }
        return audit
    }

    /// A tunnel does not wait: it is refused where another exchange would.
    func isTunnelAdmittedByAudit() -> Bool {
        guard fullAudit != nil else { return true }
        refuse(.auditUnavailable, status: 503, detail: "no audit record can be written")
        return false
    }

    /// Goes on once records are taken again, and gives up at the end of its patience.
    func askAuditAgain(_ nanoseconds: UInt64) {
        guard let head, let route, let sink = plan.auditSink else { return }
        // The token may have come or gone meanwhile.
        if sink.isWritable { return perform(machine.handle(.begun(tokenStanding(on: route, head)))) }
        if nanoseconds >= auditPatience {
            return refuse(.auditUnavailable, status: 503, detail: "no audit record could be written in time")
        }
        deadlines.audit = nanoseconds &+ Self.auditPollNanoseconds
    }

    /// The end of a reply that waits for its record.
    func finish(_ withheld: WithheldReply) {
        endWork()
        let submit = scheduler.submit
        let box = ExchangeBox(self, withheld)
        let outcome = writeAudit { isWritten in submit { box.settle(isWritten) } }
        guard outcome == .written else { return settle(withheld, isWritten: false) }
        guard !isSettled, let patience = plan.auditRules?.patienceMilliseconds else { return }
        deadlines = ExchangeDeadlines()
        deadlines.audit = now &+ UInt64(patience) &* 1_000_000
        scheduler.wake(at: deadlines.audit)
    }

    /// The audit's answer did not come in time.
    func settleLate(_ nanoseconds: UInt64) {
        guard !isSettled, deadlines.audit <= nanoseconds, let withheld else { return }
        settle(withheld, isWritten: false)
    }

    /// The record is in the file, or never will be. The first answer counts.
    func settle(_ withheld: WithheldReply, isWritten: Bool) {
        guard !isSettled else { return }
        isSettled = true
        if isWritten {
            tally(.written)
            withheld.finish()
        } else if withheld.isHeadWithheld {
            failure = Failure(.auditUnavailable, language: clientLanguage)
            statusSent = 503
            tally(.refused)
            replaceReply(withheld)
        } else {
            tally(.refused)
            withheld.abort()
        }
        environment.counters.end()
    }

    private func replaceReply(_ withheld: WithheldReply) {
        guard let failure else { return }
        var fields = FieldSection()
        let format = route?.policy?.settings.failureFormat ?? .problem
        fields.append("Content-Type", format.contentType(head?.fields))
        fields.append("Cache-Control", "no-store")
        mark(&fields, kind: failure.kind, .auditUnavailable)
        fields.append("X-Request-Id", requestID)
        fields.append("Retry-After", "1")
        shareWithOrigin(&fields)
        let facts = FailureBody.Facts(
            exchangeID: id, requestID: requestID, route: route?.name, attempts: machine.attempts)
        let body =
            format == .message
            ? FailureBody.renderMessage(failure) : FailureBody.render(failure, facts: facts, held: nil, scanner: environment.scanner)
        withheld.replace(status: 503, fields: fields, body: body)
    }
}

/// Carries an exchange through the audit's queue and back to its worker.
// SAFETY: what is in it is used on the exchange's worker only, where `submit` brings it; the queue between only holds it.
private final class ExchangeBox: @unchecked Sendable {
    private let exchange: Exchange
    private let withheld: WithheldReply

    init(_ exchange: Exchange, _ withheld: WithheldReply) {
        self.exchange = exchange
        self.withheld = withheld
    }

    func settle(_ isWritten: Bool) { exchange.settle(withheld, isWritten: isWritten) }
}
