// Step forward: asks the upstream's breaker before each attempt, and tells it what became of it.
// Domain: worker

import CryoHTTP

extension Exchange {
    /// False: the attempt must not be made; the exchange has answered.
    func passBreaker(of upstream: UpstreamPlan) -> Bool {
        guard let breaker = upstream.breaker else { return true }
        switch breaker.admit(at: now) {
        case .admitted(let permit):
            self.permit = permit
            return true
        case .refused(let milliseconds):
            ownRetryAfterSeconds = (milliseconds + 999) / 1000
            perform(machine.handle(.attemptRefused(.breakerOpen)))
            return false
        }
    }

    /// The first call for an attempt counts.
    func settle(_ ending: Breaker.Ending) {
        guard let permit, let breaker = upstream?.breaker else { return }
        self.permit = nil
        breaker.settle(permit, ending, at: now)
    }

    /// For an attempt that ends without a word of its own: an upstream whose answer went on is well; else nobody knows, also while the
    /// answer was still being held for judgement.
    func settleRest() { settle((records.last?.status ?? 0) == 0 || isHolding ? .unknown : .success) }

    /// A status that is listed is a failure whatever follows. Other answers of probes count at once, since a stream may never end, unless
    /// a policy still has to look at them.
    func settleHead(_ status: UInt16) {
        guard let permit, let breaker = upstream?.breaker else { return }
        if isTunnel { return settle(.success) }
        if breaker.conditions.contains(status: status) { return settle(.failure) }
        if permit.isProbe, !isBeingJudged { settle(.success) }
    }

    func settleJudged(_ result: JudgeResult) {
        guard permit != nil, let breaker = upstream?.breaker else { return }
        if case .rejected = result, let code = business?.codeText, breaker.conditions.contains(businessCode: code) {
            settle(.failure)
        } else {
            settle(.success)
        }
    }

    func settleEnd() { if !isBeingJudged { settle(.success) } }

    func settle(failedBy reason: FailureReason) {
        guard permit != nil, let breaker = upstream?.breaker else { return }
        if breaker.conditions.contains(reason) { settle(.failure) } else { settleRest() }
    }

    /// A deadline that the upstream, and not the client's upload, has missed.
    func settleMissed(_ kind: DeadlineKind) {
        guard permit != nil, isAttemptOpen, body?.isComplete ?? true else { return }
        switch (kind, machine.state) {
        case (.response, .forwarding), (.total, .forwarding), (.idle, .streaming): settle(failedBy: .upstreamTimedOut)
        case (.idle, .holding), (.total, .holding): if isBeingJudged { settle(failedBy: .upstreamTimedOut) }
        default: break
        }
    }

    private var isBeingJudged: Bool { machine.state == .holding(.judgement) || machine.state == .holding(.firstEvent) }
}
