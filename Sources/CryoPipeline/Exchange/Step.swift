// The ten steps of an exchange and the closed set of outcomes each may end in.
// Domain: pure

/// The ten steps, in the order an exchange takes them. The raw value is the word used everywhere: audit, metrics, failures, docs.
package enum Step: String, Sendable, CaseIterable {
    case accept, read, route, inject, forward, refresh, retry, normalize, reply, audit
}

package enum AcceptOutcome: String, Sendable, CaseIterable {
    case accepted
    case overCapacity = "over_capacity"
    case draining
}

package enum ReadOutcome: String, Sendable, CaseIterable {
    case parsed, malformed
    case tooLarge = "too_large"
    case timedOut = "timed_out"
    case clientGone = "client_gone"
}

package enum RouteOutcome: String, Sendable, CaseIterable {
    case matched
    case notFound = "not_found"
    case hostDenied = "host_denied"
    case originDenied = "origin_denied"
    case clientKeyMissing = "client_key_missing"
    case loopDetected = "loop_detected"
    case overrideUnknown = "override_unknown"
    case concurrencyLimited = "concurrency_limited"
    case rateLimited = "rate_limited"
}

package enum InjectOutcome: String, Sendable, CaseIterable {
    case injected
    case keptClientValue = "kept_client_value"
    case tokenMissing = "token_missing"
    /// Sent without a token, because the route's `auth` is optional.
    case unauthenticated
    case clientValueRejected = "client_value_rejected"
    /// The upstream wants signed requests, and this one could not be signed.
    case notSigned = "not_signed"
    case notApplicable = "not_applicable"
}

package enum ForwardOutcome: String, Sendable, CaseIterable {
    case responded
    case dnsFailed = "dns_failed"
    case connectFailed = "connect_failed"
    case tlsFailed = "tls_failed"
    case timedOut = "timed_out"
    case reset
    case breakerOpen = "breaker_open"
}

package enum RefreshOutcome: String, Sendable, CaseIterable {
    case notNeeded = "not_needed"
    case led, joined
    case alreadyNewer = "already_newer"
    case rejected, failed
    case windowExceeded = "window_exceeded"
}

package enum RetryOutcome: String, Sendable, CaseIterable {
    case notNeeded = "not_needed"
    case retried
    case notReplayable = "not_replayable"
    case limitReached = "limit_reached"
    case notEligible = "not_eligible"
    case budgetSpent = "budget_spent"
    case noTimeLeft = "no_time_left"
    case breakerOpen = "breaker_open"
}

package enum NormalizeOutcome: String, Sendable, CaseIterable {
    case passedThrough = "passed_through"
    case accepted, unwrapped
    case businessRejected = "business_rejected"
    case notJSON = "not_json"
    case tooLarge = "too_large"
}

package enum ReplyOutcome: String, Sendable, CaseIterable {
    case sent, truncated
    case clientGone = "client_gone"
}

package enum AuditOutcome: String, Sendable, CaseIterable {
    case written, dropped, refused
}

/// The outcome of each step of one exchange; nil where the exchange never came to that step.
package struct StepOutcomes: Sendable, Equatable {
    package var accept: AcceptOutcome? = .accepted
    package var read: ReadOutcome?
    package var route: RouteOutcome?
    package var inject: InjectOutcome?
    package var forward: ForwardOutcome?
    package var refresh: RefreshOutcome?
    package var retry: RetryOutcome?
    package var normalize: NormalizeOutcome?
    package var reply: ReplyOutcome?

    package init() {}
}
