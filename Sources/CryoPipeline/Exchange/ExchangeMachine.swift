// The order of the ten steps, as one pure state machine: what an exchange does next, and the outcome of each step.
// Domain: pure

/// What is known about an exchange before its first attempt.
package struct ExchangeRules: Sendable {
    /// The route injects a token, and did not keep the client's own value.
    package var injectsToken = false
    /// Without a usable token the request goes on without one (`auth: optional`).
    package var isAuthOptional = false
    /// The token's source can make another one.
    package var canRefresh = false
    /// What a policy refuses becomes failure JSON.
    package var hasPolicy = false
    package var retryLimit: UInt32 = 0
    /// The network failures that are worth another attempt.
    package var retryReasons: FailureReasonSet
    /// The method (or its idempotency key) may be sent again.
    package var isRetryEligible = false
    package var passesOversize = true
    package var passesNonJSON = false
    /// Attempts in a row to go on with a stream that broke.
    package var resumesLimit: UInt32 = 0

    package init(retryReasons: FailureReasonSet = RetryRule.standardReasons) { self.retryReasons = retryReasons }
}

/// What the exchange is asked to do with a response head, decided by the driver from status and fields.
package enum HeadDisposition: Sendable, Equatable {
    /// Not a policy's business: send it on as it comes.
    case passThrough
    /// A 2xx whose body the policy looks at.
    case judge
    /// A stream whose first event the policy looks at.
    case judgeFirstEvent
    /// A status the policy turns into a failure.
    case fail
    /// A status the policy marks as a failure and sends on as it comes.
    case annotate
}

package enum JudgeResult: Sendable, Equatable {
    case accepted, unwrapped, notJSON
    /// Without its content coding it exceeds what is judged.
    case tooLarge
    /// `refusesToken`: the code is one of the token's `on_business_codes`. `isRetryCode`: one of the route's `retry.on`.
    case rejected(refusesToken: Bool, isRetryCode: Bool = false)
}

package enum DeadlineKind: Sendable { case response, idle, total, tokenWait, backOff, lookAhead, heartbeat, audit }

package enum ExchangeEvent: Sendable {
    case begun(TokenStanding)
    case tokenDecided(RefreshDecision)
    /// `isSameSession`: the newer token belongs to the login the exchange began with.
    case tokenAnswered(TokenAnswer, isSameSession: Bool)
    /// The back-off is over, but the token has expired meanwhile and its login has no newer one.
    case tokenExpired
    case headReceived(HeadDisposition, refusesToken: Bool, isRetryStatus: Bool, isReplayable: Bool)
    /// The held body is complete, or as much of it as is kept.
    case holdEnded(isComplete: Bool, isReplayable: Bool)
    case judged(JudgeResult, isReplayable: Bool)
    case bodyEnded
    case attemptFailed(ForwardError, isReplayable: Bool)
    case deadline(DeadlineKind, isReplayable: Bool)
    /// A `backOff` that there is no room for.
    case retryDenied(RetryDenial)
    /// The upstream of a stream whose head has gone out; nil: it is silent.
    case streamLost(ForwardError?, StreamStanding)
    case resumeAnswered(ResumeAnswer, StreamStanding)
    /// The attempt was not made: the upstream's breaker is open, or the request can't be signed.
    case attemptRefused(FailureReason)
    case clientGone
}

package enum ExchangeAction: Sendable, Equatable {
    case nothing
    /// Build the request from the client's original and send it; an earlier attempt is cancelled.
    case startAttempt
    case demandToken
    /// Keep the response in memory, up to the bound of its purpose.
    case hold
    /// Send the head, what is held, and everything that follows.
    case stream
    case judge
    /// Send the judged body, unwrapped or whole.
    case replyJudged
    /// Wait before retry `number` (from 0).
    case backOff(number: UInt32)
    /// Wait before attempt `number` in a row (from 0) to go on with a stream.
    case reconnect(number: UInt32)
    /// Go on with the stream.
    case resume
    /// Answer with the failure JSON.
    case fail(FailureReason)
    /// Answer with the upstream's own response, marked with the reason. Streams what is still to come.
    case replyHeld(FailureReason)
    /// As `replyHeld` or `fail`, after starting a refresh that nobody here waits for.
    case giveUpAndRefresh(FailureReason, repliesHeld: Bool)
    case finish
    /// Close the client's connection so that it sees an incomplete reply.
    case abort
    /// The client is gone: stop everything.
    case abandon
}

/// Events in, one action out. No I/O, no clock, no callbacks.
package struct ExchangeMachine: Sendable {
    package enum HoldPurpose: Sendable, Equatable { case refusal, retry, failure, judgement, firstEvent }

    package enum State: Sendable, Equatable {
        /// Next: awaitingToken, forwarding, done.
        case created
        /// There is no usable token; a refresh is on its way, or asked for. Next: forwarding, done.
        case awaitingToken
        /// An attempt is with the upstream, no final head yet. Next: holding, streaming, backingOff, done.
        case forwarding
        /// The head is here and the body is being kept. Next: awaitingRefresh, backingOff, streaming, done.
        case holding(HoldPurpose)
        /// The token was refused; the response is held. Next: forwarding, streaming, done.
        case awaitingRefresh
        /// Next: forwarding, awaitingToken, streaming, done.
        case backingOff
        /// The head went to the client: nothing is retried any more. Next: done; of a stream that is taken up again also backingOff.
        case streaming
        case done
    }

    package internal(set) var state: State = .created
    package internal(set) var outcomes = StepOutcomes()
    package internal(set) var attempts: UInt32 = 0
    package internal(set) var authRetries: UInt32 = 0
    package internal(set) var retries: UInt32 = 0
    /// Attempts carry the token; false once `isAuthOptional` let the request go on without one.
    package internal(set) var carriesToken: Bool
    /// The head of a stream has gone out, its upstream is lost, and no other has gone on yet.
    package internal(set) var isResuming = false
    var resumes: UInt32 = 0
    var resumesInRow: UInt32 = 0
    package let rules: ExchangeRules
    /// What is done when the retry that was asked for is denied.
    var withoutRetry = WithoutRetry.fail(.upstreamStatus)

    enum WithoutRetry {
        case fail(FailureReason)
        /// The answer is the client's business.
        case stream
    }

    package init(rules: ExchangeRules) {
        self.rules = rules
        carriesToken = rules.injectsToken
        outcomes.read = .parsed
        outcomes.route = .matched
        outcomes.refresh = .notNeeded
        outcomes.retry = .notNeeded
    }

    package mutating func handle(_ event: ExchangeEvent) -> ExchangeAction {
        if state == .done { return .nothing }
        switch event {
        // inject: before anything is sent, because a request without its token is a certain 401.
        case .begun(let standing): return begin(standing)
        // refresh: before retry, so that a refused token never uses up a transient retry.
        case .tokenDecided(let decision): return decide(decision)
        case .tokenAnswered(let answer, let isSameSession): return answer == .ready ? tokenReady(isSameSession) : tokenFailed(answer)
        case .tokenExpired: return tokenExpired()
        // forward, then the judging order of the seeds: HTTP status, then network, then business.
        case .headReceived(let disposition, let refusesToken, let isRetryStatus, let isReplayable):
            return receiveHead(disposition, refusesToken, isRetryStatus, isReplayable)
        case .holdEnded(let isComplete, let isReplayable): return endHold(isComplete, isReplayable)
        case .attemptFailed(let error, let isReplayable): return fail(error, isReplayable)
        // normalize: only a complete 2xx body is judged.
        case .judged(let result, let isReplayable): return judge(result, isReplayable)
        // reply: the end of what was streamed.
        case .bodyEnded: return state == .streaming ? end(.sent, .finish) : .nothing
        case .deadline(let kind, let isReplayable): return miss(kind, isReplayable)
        case .retryDenied(let denial): return deny(denial)
        case .streamLost(let error, let standing): return loseStream(error, standing)
        case .resumeAnswered(let answer, let standing): return takeResumeAnswer(answer, standing)
        case .attemptRefused(let reason): return refuseAttempt(reason)
        case .clientGone: return end(.clientGone, .abandon)
        }
    }

    // MARK: inject

    private mutating func begin(_ standing: TokenStanding) -> ExchangeAction {
        guard state == .created else { return .nothing }
        switch standing {
        case .notApplicable:
            outcomes.inject = .notApplicable
            return start()
        case .keptClientValue:
            outcomes.inject = .keptClientValue
            return start()
        case .ready:
            outcomes.inject = .injected
            return start()
        case .unusable:
            state = .awaitingToken
            return .demandToken
        case .missing: return goWithoutToken(.tokenMissing)
        case .clientValueRejected:
            outcomes.inject = .clientValueRejected
            return conclude(.clientValueRejected)
        }
    }

    /// The end, unless the route asks for no more than a try.
    private mutating func goWithoutToken(_ reason: FailureReason) -> ExchangeAction {
        guard rules.isAuthOptional else {
            outcomes.inject = .tokenMissing
            return conclude(reason)
        }
        outcomes.inject = .unauthenticated
        carriesToken = false
        return start()
    }

    private mutating func start() -> ExchangeAction {
        attempts += 1
        state = .forwarding
        return .startAttempt
    }

    // MARK: refresh

    private mutating func decide(_ decision: RefreshDecision) -> ExchangeAction {
        guard state == .awaitingToken || state == .awaitingRefresh else { return .nothing }
        switch decision {
        case .lead:
            outcomes.refresh = .led
            return .nothing
        case .join:
            outcomes.refresh = .joined
            return .nothing
        case .alreadyNewer:
            outcomes.refresh = .alreadyNewer
            return tokenReady(true)
        case .rejected: return tokenFailed(.rejected)
        case .failed: return tokenFailed(.failed)
        case .windowExceeded: return tokenFailed(.windowExceeded)
        }
    }

    private mutating func tokenReady(_ isSameSession: Bool) -> ExchangeAction {
        switch state {
        case .awaitingToken:
            guard isSameSession else { return tokenFailed(.rejected) }
            outcomes.inject = .injected
            return start()
        case .awaitingRefresh:
            // A newer login's token must not carry an older login's request (ledger B-C5).
            guard isSameSession else { return giveUp(.refreshRejected) }
            authRetries += 1
            outcomes.retry = .retried
            return start()
        default: return .nothing
        }
    }

    private mutating func tokenFailed(_ answer: TokenAnswer) -> ExchangeAction {
        let reason: FailureReason
        switch answer {
        case .ready, .failed:
            outcomes.refresh = .failed
            reason = .refreshFailed
        case .rejected:
            outcomes.refresh = .rejected
            reason = .refreshRejected
        case .windowExceeded:
            outcomes.refresh = .windowExceeded
            reason = .refreshWindowExceeded
        }
        switch state {
        case .awaitingToken: return goWithoutToken(answer == .rejected ? .tokenMissing : .tokenUnavailable)
        case .awaitingRefresh: return giveUp(reason)
        default: return .nothing
        }
    }

    private mutating func tokenExpired() -> ExchangeAction {
        guard state == .backingOff else { return .nothing }
        state = .awaitingToken
        return .demandToken
    }

    /// The refused answer is final: as failure JSON where a policy asks for it, else as the upstream sent it.
    private mutating func giveUp(_ reason: FailureReason) -> ExchangeAction {
        if rules.hasPolicy || isResuming { return conclude(reason) }
        outcomes.normalize = .passedThrough
        state = .streaming
        return .replyHeld(reason)
    }

    private mutating func refused(_ isReplayable: Bool) -> ExchangeAction {
        state = .awaitingRefresh
        if isReplayable { return .demandToken }
        outcomes.retry = .notReplayable
        if rules.hasPolicy {
            _ = conclude(.bodyNotReplayable)
            return .giveUpAndRefresh(.bodyNotReplayable, repliesHeld: false)
        }
        outcomes.normalize = .passedThrough
        state = .streaming
        return .giveUpAndRefresh(.bodyNotReplayable, repliesHeld: true)
    }

    // MARK: forward

    private mutating func receiveHead(
        _ disposition: HeadDisposition, _ refusesToken: Bool, _ isRetryStatus: Bool, _ isReplayable: Bool
    ) -> ExchangeAction {
        guard state == .forwarding else { return .nothing }
        outcomes.forward = .responded
        if refusesToken, carriesToken, rules.canRefresh, authRetries == 0 { return hold(.refusal) }
        if isRetryStatus, mayRetry(isReplayable) {
            withoutRetry = disposition == .fail ? .fail(.upstreamStatus) : .stream
            return hold(.retry)
        }
        switch disposition {
        case .judge: return hold(.judgement)
        case .judgeFirstEvent: return hold(.firstEvent)
        case .fail: return hold(.failure)
        case .annotate:
            outcomes.normalize = .passedThrough
            state = .streaming
            return .replyHeld(.upstreamStatus)
        case .passThrough: return pass(.passedThrough)
        }
    }

    private mutating func hold(_ purpose: HoldPurpose) -> ExchangeAction {
        state = .holding(purpose)
        return .hold
    }

    private mutating func endHold(_ isComplete: Bool, _ isReplayable: Bool) -> ExchangeAction {
        guard case .holding(let purpose) = state else { return .nothing }
        switch purpose {
        case .refusal: return refused(isReplayable)
        case .retry: return backOff()
        case .failure: return conclude(.upstreamStatus)
        // Nothing that could be judged came in time, or at all.
        case .firstEvent: return pass(.passedThrough)
        case .judgement:
            if isComplete { return .judge }
            if rules.passesOversize { return pass(.tooLarge) }
            outcomes.normalize = .tooLarge
            return conclude(.responseTooLarge)
        }
    }

    private mutating func fail(_ error: ForwardError, _ isReplayable: Bool) -> ExchangeAction {
        switch state {
        case .forwarding:
            outcomes.forward = Self.outcome(of: error)
            return retryOrFail(FailureReason(error), isReplayable)
        case .holding(.judgement), .holding(.firstEvent):
            outcomes.forward = .reset
            return retryOrFail(.responseTruncated, isReplayable)
        case .holding:
            // The status alone decides (ledger V7a); what came of the body is kept.
            return endHold(false, isReplayable)
        case .streaming:
            outcomes.forward = .reset
            return end(.truncated, .abort)
        case .created, .awaitingToken, .awaitingRefresh, .backingOff, .done:
            // The attempt is no longer needed: its answer is held, or another follows.
            return .nothing
        }
    }

    static func outcome(of error: ForwardError) -> ForwardOutcome {
        switch error {
        case .dnsFailed: .dnsFailed
        case .connectRefused: .connectFailed
        case .connectTimedOut: .timedOut
        case .tlsFailed, .tlsCertificate, .pinMismatch: .tlsFailed
        case .reset, .emptyResponse, .malformedResponse, .truncated, .requestBodyFailed: .reset
        }
    }

    private mutating func miss(_ kind: DeadlineKind, _ isReplayable: Bool) -> ExchangeAction {
        switch (kind, state) {
        case (.backOff, .backingOff): return start()
        case (.tokenWait, .awaitingToken), (.tokenWait, .awaitingRefresh): return tokenFailed(.failed)
        case (.response, .forwarding):
            outcomes.forward = .timedOut
            return retryOrFail(.upstreamTimedOut, isReplayable)
        case (.lookAhead, .holding(.firstEvent)): return endHold(false, isReplayable)
        case (.idle, .holding(.judgement)), (.idle, .holding(.firstEvent)):
            outcomes.forward = .timedOut
            return conclude(.upstreamTimedOut)
        case (.idle, .holding): return endHold(false, isReplayable)
        case (.idle, .streaming):
            outcomes.forward = .timedOut
            return end(.truncated, .abort)
        case (.total, .streaming), (.total, .created): return .nothing
        case (.total, .awaitingRefresh): return giveUp(.refreshFailed)
        // The upstream has nothing to do with it.
        case (.total, .awaitingToken):
            outcomes.refresh = .failed
            outcomes.inject = .tokenMissing
            return conclude(.tokenUnavailable)
        // A status is judged before what came of its body.
        case (.total, .holding(.failure)): return endHold(false, isReplayable)
        case (.total, _):
            if outcomes.forward == nil { outcomes.forward = .timedOut }
            return conclude(.upstreamTimedOut)
        default: return .nothing
        }
    }

    // MARK: normalize, reply

    private mutating func judge(_ result: JudgeResult, _ isReplayable: Bool) -> ExchangeAction {
        let isStream = state == .holding(.firstEvent)
        guard isStream || state == .holding(.judgement) else { return .nothing }
        switch result {
        case .accepted where isStream: return pass(.accepted)
        case .unwrapped where isStream, .notJSON where isStream, .tooLarge where isStream: return pass(.passedThrough)
        case .accepted:
            outcomes.normalize = .accepted
            return end(.sent, .replyJudged)
        case .unwrapped:
            outcomes.normalize = .unwrapped
            return end(.sent, .replyJudged)
        case .notJSON:
            outcomes.normalize = .notJSON
            return rules.passesNonJSON ? end(.sent, .replyJudged) : conclude(.responseNotJSON)
        case .tooLarge:
            outcomes.normalize = .tooLarge
            return rules.passesOversize ? end(.sent, .replyJudged) : conclude(.responseTooLarge)
        case .rejected(let refusesToken, let isRetryCode):
            outcomes.normalize = .businessRejected
            if refusesToken, carriesToken, rules.canRefresh, authRetries == 0 { return refused(isReplayable) }
            guard isRetryCode, mayRetry(isReplayable) else { return conclude(.businessRejected) }
            withoutRetry = .fail(.businessRejected)
            return backOff()
        }
    }

    mutating func pass(_ outcome: NormalizeOutcome) -> ExchangeAction {
        outcomes.normalize = outcome
        state = .streaming
        return .stream
    }

    /// Behind the head of a stream there is no room for a failure.
    mutating func conclude(_ reason: FailureReason) -> ExchangeAction {
        isResuming ? end(.truncated, .abort) : end(.sent, .fail(reason))
    }

    mutating func end(_ outcome: ReplyOutcome, _ action: ExchangeAction) -> ExchangeAction {
        outcomes.reply = outcome
        state = .done
        return action
    }
}
