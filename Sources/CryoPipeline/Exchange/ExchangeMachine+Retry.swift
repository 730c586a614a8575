// Whether an attempt that failed is followed by another, and what is done when there is none.
// Domain: pure

extension ExchangeMachine {
    mutating func mayRetry(_ isReplayable: Bool) -> Bool {
        guard rules.retryLimit > 0 else { return false }
        if !rules.isRetryEligible {
            outcomes.retry = .notEligible
        } else if !isReplayable {
            outcomes.retry = .notReplayable
        } else if retries >= rules.retryLimit {
            outcomes.retry = .limitReached
        } else {
            return true
        }
        return false
    }

    mutating func retryOrFail(_ reason: FailureReason, _ isReplayable: Bool) -> ExchangeAction {
        guard rules.retryReasons.contains(reason), mayRetry(isReplayable) else { return conclude(reason) }
        withoutRetry = .fail(reason)
        return backOff()
    }

    mutating func backOff() -> ExchangeAction {
        outcomes.retry = .retried
        state = .backingOff
        retries += 1
        return .backOff(number: retries - 1)
    }

    mutating func deny(_ denial: RetryDenial) -> ExchangeAction {
        guard state == .backingOff else { return .nothing }
        outcomes.retry = denial.outcome
        if isResuming { return end(.truncated, .abort) }
        switch withoutRetry {
        case .fail(let reason): return conclude(reason)
        case .stream: return pass(.passedThrough)
        }
    }

    mutating func refuseAttempt(_ reason: FailureReason) -> ExchangeAction {
        guard state == .forwarding else { return .nothing }
        attempts -= 1
        if reason == .breakerOpen {
            if attempts > 0 { outcomes.retry = .breakerOpen }
            outcomes.forward = .breakerOpen
        } else {
            outcomes.inject = .notSigned
        }
        return conclude(reason)
    }
}
