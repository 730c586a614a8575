// Step retry: who may be tried again, and when; and what a failure tells its client about sending the request again.
// Domain: worker

import CryoHTTP

extension Exchange {
    func permitRetries(_ rules: inout ExchangeRules, on route: RoutePlan, _ head: RequestHead) {
        guard route.retry.isOn else { return }
        let asked = head.fields.withValue(of: "cryonet-retry") { parseDecimal($0) }.flatMap { $0 }
        rules.retryLimit = route.retry.limit(asked: asked)
        rules.retryReasons = route.retry.reasons
        // A key says that the upstream will not do the same thing twice, whatever the method (draft-ietf-httpapi-idempotency-key-header).
        rules.isRetryEligible =
            head.fields.contains("idempotency-key")
            || head.fields.bytes.withUnsafeBytes { route.retry.allowsMethod(UnsafeRawBufferPointer(rebasing: $0[head.method])) }
        retryBudget = route.upstream.retryBudget
        retryBudget?.begin()
    }

    /// Waits before the next attempt, unless the budget is spent, the breaker will be open, or the wait would outlast the exchange.
    func backOff(_ number: UInt32) {
        guard let route else { return }
        let delay = route.retry.delayMilliseconds(
            number: number, retryAfterSeconds: retryAfterSeconds, random: scheduler.random())
        let due = now &+ delay * 1_000_000
        if due >= deadlines.total { return perform(machine.handle(.retryDenied(.noTimeLeft))) }
        if route.upstream.breaker?.isOpen(at: due) ?? false { return perform(machine.handle(.retryDenied(.breakerOpen))) }
        guard takeRetryBudget(route.retry.settings) else { return perform(machine.handle(.retryDenied(.budgetSpent))) }
        cancelAttempt()
        tell(.retrying(number: number &+ 1, delayMilliseconds: delay))
        deadlines.backOff = due
        armDeadlines()
    }

    private func takeRetryBudget(_ settings: RetrySettings) -> Bool {
        if isRetrying || settings.budgetPercent >= 100 { return true }
        isRetrying = retryBudget?.take(percent: settings.budgetPercent, leastMax: settings.budgetMin) ?? true
        return isRetrying
    }

    func giveBackRetryBudget() {
        retryBudget?.end(isRetrying: isRetrying)
        retryBudget = nil
        isRetrying = false
    }

    /// False where the upstream may have acted on the request and doing it twice is not the same as doing it once (RFC 9110 §9.2.2). An
    /// Idempotency-Key makes it the same.
    func isSafeToRepeat(after reason: FailureReason) -> Bool {
        switch reason {
        case .reset, .emptyResponse, .upstreamTimedOut, .responseTruncated:
            guard let head else { return true }
            return isIdempotent(head) || head.fields.contains("idempotency-key")
        default: return true
        }
    }
}
