// Dialogues with the exchange machine: event in, action out.
// Domain: cold

import Testing

@testable import CryoPipeline

private func machine(
    token: Bool = true, refresh: Bool = true, policy: Bool = false, retries: UInt32 = 0, eligible: Bool = true,
    optional: Bool = false, _ change: (inout ExchangeRules) -> Void = { _ in }
) -> ExchangeMachine {
    var rules = ExchangeRules()
    rules.injectsToken = token
    rules.canRefresh = refresh
    rules.hasPolicy = policy
    rules.retryLimit = retries
    rules.isRetryEligible = eligible
    rules.isAuthOptional = optional
    change(&rules)
    return ExchangeMachine(rules: rules)
}

private let pass = ExchangeEvent.headReceived(.passThrough, refusesToken: false, isRetryStatus: false, isReplayable: true)
private let toJudge = ExchangeEvent.headReceived(.judge, refusesToken: false, isRetryStatus: false, isReplayable: true)
private let toFail = ExchangeEvent.headReceived(.fail, refusesToken: false, isRetryStatus: false, isReplayable: true)
private let refused = ExchangeEvent.headReceived(.passThrough, refusesToken: true, isRetryStatus: false, isReplayable: true)
private let unavailable = ExchangeEvent.headReceived(.passThrough, refusesToken: false, isRetryStatus: true, isReplayable: true)
private let whole = ExchangeEvent.holdEnded(isComplete: true, isReplayable: true)

@Suite("The exchange machine")
struct ExchangeMachineTests {
    @Test("an answer without a policy is streamed as it comes")
    func passThrough() {
        var machine = machine()
        #expect(machine.handle(.begun(.ready)) == .startAttempt)
        #expect(machine.handle(pass) == .stream)
        #expect(machine.state == .streaming)
        #expect(machine.handle(.bodyEnded) == .finish)
        #expect(machine.state == .done)
        #expect(machine.outcomes.inject == .injected && machine.outcomes.normalize == .passedThrough && machine.outcomes.reply == .sent)
        #expect(machine.outcomes.refresh == .notNeeded && machine.outcomes.retry == .notNeeded && machine.attempts == 1)
    }

    @Test("what is said of the token before the first attempt decides whether there is one")
    func standings() {
        var kept = machine(token: false)
        #expect(kept.handle(.begun(.keptClientValue)) == .startAttempt)
        #expect(kept.outcomes.inject == .keptClientValue)
        var none = machine(token: false)
        #expect(none.handle(.begun(.notApplicable)) == .startAttempt)
        #expect(none.outcomes.inject == .notApplicable)
        var missing = machine()
        #expect(missing.handle(.begun(.missing)) == .fail(.tokenMissing))
        #expect(missing.outcomes.inject == .tokenMissing && missing.attempts == 0)
    }

    @Test("a request without a usable token waits for one before anything is sent")
    func awaitsToken() {
        var machine = machine()
        #expect(machine.handle(.begun(.unusable)) == .demandToken)
        #expect(machine.handle(.tokenDecided(.lead)) == .nothing)
        #expect(machine.outcomes.refresh == .led && machine.attempts == 0)
        #expect(machine.handle(.tokenAnswered(.ready, isSameSession: true)) == .startAttempt)
        #expect(machine.authRetries == 0)
    }

    @Test(
        "without a token the request fails before it is sent",
        arguments: [(TokenAnswer.failed, FailureReason.tokenUnavailable), (.rejected, .tokenMissing), (.windowExceeded, .tokenUnavailable)])
    func tokenNeverComes(_ answer: TokenAnswer, _ reason: FailureReason) {
        var machine = machine()
        _ = machine.handle(.begun(.unusable))
        _ = machine.handle(.tokenDecided(.join))
        #expect(machine.handle(.tokenAnswered(answer, isSameSession: true)) == .fail(reason))
        #expect(machine.attempts == 0 && machine.outcomes.inject == .tokenMissing)
    }

    @Test("where auth is optional the request goes on without a token, and a 401 then is an answer like any other")
    func optional() {
        for answer in [TokenAnswer.rejected, .failed, .windowExceeded] {
            var machine = machine(optional: true)
            #expect(machine.handle(.begun(.unusable)) == .demandToken)
            #expect(machine.handle(.tokenDecided(.lead)) == .nothing)
            #expect(machine.handle(.tokenAnswered(answer, isSameSession: true)) == .startAttempt)
            #expect(machine.outcomes.inject == .unauthenticated && !machine.carriesToken && machine.attempts == 1)
            #expect(machine.handle(refused) == .stream)
        }
        var missing = machine(optional: true)
        #expect(missing.handle(.begun(.missing)) == .startAttempt && missing.outcomes.inject == .unauthenticated)
        var ready = machine(optional: true)
        #expect(ready.handle(.begun(.ready)) == .startAttempt && ready.carriesToken && ready.outcomes.inject == .injected)
        #expect(ready.handle(refused) == .hold)
    }

    @Test("a client's own value is the end where it is forbidden, also where auth is optional")
    func clientValueRejected() {
        for optional in [false, true] {
            var machine = machine(optional: optional)
            #expect(machine.handle(.begun(.clientValueRejected)) == .fail(.clientValueRejected))
            #expect(machine.outcomes.inject == .clientValueRejected && machine.attempts == 0)
        }
    }

    @Test("a request that waited for its login's token is not sent with another login's")
    func anotherLoginBeforeTheFirstAttempt() {
        var machine = machine()
        _ = machine.handle(.begun(.unusable))
        _ = machine.handle(.tokenDecided(.join))
        #expect(machine.handle(.tokenAnswered(.ready, isSameSession: false)) == .fail(.tokenMissing))
        #expect(machine.attempts == 0)
    }

    @Test("a token that expires during the back-off is renewed before the next attempt, and costs no auth retry")
    func expiredInBackOff() {
        var machine = machine(retries: 1)
        _ = machine.handle(.begun(.ready))
        _ = machine.handle(unavailable)
        #expect(machine.handle(whole) == .backOff(number: 0))
        #expect(machine.handle(.tokenExpired) == .demandToken)
        #expect(machine.handle(.tokenDecided(.lead)) == .nothing)
        #expect(machine.handle(.tokenAnswered(.ready, isSameSession: true)) == .startAttempt)
        #expect(machine.attempts == 2 && machine.authRetries == 0 && machine.outcomes.retry == .retried)
    }

    @Test("a refused token is refreshed and the request sent once more; the second refusal is final")
    func authRetry() {
        var machine = machine()
        _ = machine.handle(.begun(.ready))
        #expect(machine.handle(refused) == .hold)
        #expect(machine.handle(whole) == .demandToken)
        #expect(machine.handle(.tokenDecided(.lead)) == .nothing)
        #expect(machine.handle(.tokenAnswered(.ready, isSameSession: true)) == .startAttempt)
        #expect(machine.outcomes.retry == .retried && machine.authRetries == 1)
        #expect(machine.handle(refused) == .stream)
        #expect(machine.handle(.bodyEnded) == .finish)
        #expect(machine.attempts == 2 && machine.authRetries == 1)
    }

    @Test("a newer token that is there already is used at once")
    func alreadyNewer() {
        var machine = machine()
        _ = machine.handle(.begun(.ready))
        _ = machine.handle(refused)
        _ = machine.handle(whole)
        #expect(machine.handle(.tokenDecided(.alreadyNewer)) == .startAttempt)
        #expect(machine.outcomes.refresh == .alreadyNewer)
    }

    @Test("another login's token does not carry this login's request")
    func otherSession() {
        var machine = machine(policy: true)
        _ = machine.handle(.begun(.ready))
        _ = machine.handle(refused)
        _ = machine.handle(whole)
        _ = machine.handle(.tokenDecided(.join))
        #expect(machine.handle(.tokenAnswered(.ready, isSameSession: false)) == .fail(.refreshRejected))
    }

    @Test(
        "a refresh that brings nothing hands the original refusal on: as it came, or as a failure where a policy asks for one",
        arguments: [
            (RefreshDecision.rejected, FailureReason.refreshRejected), (.failed, .refreshFailed), (.windowExceeded, .refreshWindowExceeded),
        ])
    func giveUp(_ decision: RefreshDecision, _ reason: FailureReason) {
        for policy in [false, true] {
            var machine = machine(policy: policy)
            _ = machine.handle(.begun(.ready))
            _ = machine.handle(refused)
            _ = machine.handle(whole)
            #expect(machine.handle(.tokenDecided(decision)) == (policy ? .fail(reason) : .replyHeld(reason)))
            #expect(machine.handle(.bodyEnded) == (policy ? .nothing : .finish))
            #expect(machine.attempts == 1)
        }
    }

    @Test("a body that can't be sent again refreshes for those who come later, and is not sent again")
    func notReplayable() {
        for policy in [false, true] {
            var machine = machine(policy: policy)
            _ = machine.handle(.begun(.ready))
            _ = machine.handle(refused)
            let action = machine.handle(.holdEnded(isComplete: true, isReplayable: false))
            #expect(action == .giveUpAndRefresh(.bodyNotReplayable, repliesHeld: !policy))
            #expect(machine.outcomes.retry == .notReplayable && machine.attempts == 1)
        }
    }

    @Test("a token that can't be refreshed is never asked for again")
    func cannotRefresh() {
        var machine = machine(refresh: false)
        _ = machine.handle(.begun(.ready))
        #expect(machine.handle(refused) == .stream)
    }

    @Test("a business code that refuses the token asks for one refresh, the second is the failure")
    func businessRefusal() {
        var machine = machine(policy: true)
        _ = machine.handle(.begun(.ready))
        #expect(machine.handle(toJudge) == .hold)
        #expect(machine.handle(whole) == .judge)
        #expect(machine.handle(.judged(.rejected(refusesToken: true), isReplayable: true)) == .demandToken)
        #expect(machine.handle(.tokenDecided(.alreadyNewer)) == .startAttempt)
        _ = machine.handle(toJudge)
        _ = machine.handle(whole)
        #expect(machine.handle(.judged(.rejected(refusesToken: true), isReplayable: true)) == .fail(.businessRejected))
        #expect(machine.authRetries == 1)
    }

    @Test("what the judge says is what the client gets")
    func judgements() {
        let table: [(JudgeResult, Bool, ExchangeAction, NormalizeOutcome)] = [
            (.accepted, false, .replyJudged, .accepted), (.unwrapped, false, .replyJudged, .unwrapped),
            (.notJSON, false, .fail(.responseNotJSON), .notJSON), (.notJSON, true, .replyJudged, .notJSON),
            (.rejected(refusesToken: false), false, .fail(.businessRejected), .businessRejected),
        ]
        for (result, passes, action, outcome) in table {
            var machine = machine(policy: true) { $0.passesNonJSON = passes }
            _ = machine.handle(.begun(.ready))
            _ = machine.handle(toJudge)
            _ = machine.handle(whole)
            #expect(machine.handle(.judged(result, isReplayable: true)) == action)
            #expect(machine.outcomes.normalize == outcome && machine.state == .done)
        }
    }

    @Test("a body too large to be judged passes or fails, as the policy says")
    func oversize() {
        for passes in [true, false] {
            var machine = machine(policy: true) { $0.passesOversize = passes }
            _ = machine.handle(.begun(.ready))
            _ = machine.handle(toJudge)
            let action = machine.handle(.holdEnded(isComplete: false, isReplayable: true))
            #expect(action == (passes ? .stream : .fail(.responseTooLarge)))
            #expect(machine.outcomes.normalize == .tooLarge)
        }
    }

    @Test("a status decides before a broken body does; a broken 2xx is the network's failure")
    func precedence() {
        var status = machine(policy: true)
        _ = status.handle(.begun(.ready))
        _ = status.handle(toFail)
        #expect(status.handle(.attemptFailed(.truncated, isReplayable: true)) == .fail(.upstreamStatus))
        var late = machine(policy: true)
        _ = late.handle(.begun(.ready))
        _ = late.handle(toFail)
        #expect(late.handle(.deadline(.total, isReplayable: true)) == .fail(.upstreamStatus))
        var success = machine(policy: true)
        _ = success.handle(.begun(.ready))
        _ = success.handle(toJudge)
        #expect(success.handle(.attemptFailed(.truncated, isReplayable: true)) == .fail(.responseTruncated))
    }

    @Test("transient failures are tried again up to the limit, and then shown")
    func retries() {
        var machine = machine(retries: 2)
        _ = machine.handle(.begun(.ready))
        _ = machine.handle(unavailable)
        #expect(machine.handle(whole) == .backOff(number: 0))
        #expect(machine.handle(.deadline(.backOff, isReplayable: true)) == .startAttempt)
        #expect(machine.handle(.attemptFailed(.reset, isReplayable: true)) == .backOff(number: 1))
        #expect(machine.handle(.deadline(.backOff, isReplayable: true)) == .startAttempt)
        #expect(machine.handle(unavailable) == .stream)
        #expect(machine.outcomes.retry == .limitReached && machine.attempts == 3)
    }

    @Test("what may not be tried again is not: the method, the body, the cause")
    func noRetry() {
        var method = machine(retries: 2, eligible: false)
        _ = method.handle(.begun(.ready))
        #expect(method.handle(.attemptFailed(.reset, isReplayable: true)) == .fail(.reset))
        #expect(method.outcomes.retry == .notEligible)
        var body = machine(retries: 2)
        _ = body.handle(.begun(.ready))
        #expect(body.handle(.attemptFailed(.reset, isReplayable: false)) == .fail(.reset))
        #expect(body.outcomes.retry == .notReplayable)
        for cause in [ForwardError.tlsCertificate, .pinMismatch, .malformedResponse, .requestBodyFailed] {
            var machine = machine(retries: 2)
            _ = machine.handle(.begun(.ready))
            #expect(machine.handle(.attemptFailed(cause, isReplayable: true)) == .fail(FailureReason(cause)))
        }
    }

    @Test("auth and transient retries have budgets of their own")
    func budgets() {
        var machine = machine(retries: 1)
        _ = machine.handle(.begun(.ready))
        _ = machine.handle(refused)
        _ = machine.handle(whole)
        #expect(machine.handle(.tokenDecided(.alreadyNewer)) == .startAttempt)
        #expect(machine.handle(.attemptFailed(.reset, isReplayable: true)) == .backOff(number: 0))
        #expect(machine.handle(.deadline(.backOff, isReplayable: true)) == .startAttempt)
        #expect(machine.handle(.attemptFailed(.reset, isReplayable: true)) == .fail(.reset))
        #expect(machine.attempts == 3 && machine.retries == 1 && machine.authRetries == 1)
    }

    @Test("deadlines end what they are for, and a stream only by silence")
    func deadlines() {
        var waiting = machine()
        _ = waiting.handle(.begun(.ready))
        #expect(waiting.handle(.deadline(.response, isReplayable: true)) == .fail(.upstreamTimedOut))
        #expect(waiting.outcomes.forward == .timedOut)
        var streaming = machine()
        _ = streaming.handle(.begun(.ready))
        _ = streaming.handle(pass)
        for kind in [DeadlineKind.response, .total, .tokenWait, .backOff] {
            #expect(streaming.handle(.deadline(kind, isReplayable: true)) == .nothing)
        }
        #expect(streaming.handle(.deadline(.idle, isReplayable: true)) == .abort)
        #expect(streaming.outcomes.reply == .truncated)
        var token = machine()
        _ = token.handle(.begun(.unusable))
        #expect(token.handle(.deadline(.tokenWait, isReplayable: true)) == .fail(.tokenUnavailable))
        var total = machine(optional: true)
        _ = total.handle(.begun(.unusable))
        #expect(total.handle(.deadline(.total, isReplayable: true)) == .fail(.tokenUnavailable))
        #expect(total.outcomes.forward == nil && total.outcomes.refresh == .failed)
        var refresh = machine(policy: true)
        _ = refresh.handle(.begun(.ready))
        _ = refresh.handle(refused)
        _ = refresh.handle(whole)
        #expect(refresh.handle(.deadline(.total, isReplayable: true)) == .fail(.refreshFailed))
    }

    @Test("nothing is retried once bytes went to the client")
    func nothingAfterStreaming() {
        var machine = machine(retries: 5)
        _ = machine.handle(.begun(.ready))
        _ = machine.handle(pass)
        #expect(machine.handle(.attemptFailed(.reset, isReplayable: true)) == .abort)
        #expect(machine.attempts == 1 && machine.outcomes.reply == .truncated)
    }

    static let events: [ExchangeEvent] =
        [
            .begun(.ready), .begun(.unusable), .begun(.missing), .begun(.clientValueRejected), .tokenExpired, .tokenDecided(.lead),
            .tokenDecided(.join), .tokenDecided(.alreadyNewer),
            .tokenDecided(.rejected), .tokenDecided(.failed), .tokenDecided(.windowExceeded), .tokenAnswered(.ready, isSameSession: true),
            .tokenAnswered(.ready, isSameSession: false), .tokenAnswered(.failed, isSameSession: true), pass, toJudge, toFail, refused,
            unavailable, whole, .holdEnded(isComplete: false, isReplayable: false), .judged(.accepted, isReplayable: true),
            .judged(.rejected(refusesToken: true), isReplayable: true), .judged(.rejected(refusesToken: false), isReplayable: false),
            .judged(.notJSON, isReplayable: true), .bodyEnded, .clientGone,
        ] + ForwardError.allCases.map { .attemptFailed($0, isReplayable: true) }
        + [DeadlineKind.response, .idle, .total, .tokenWait, .backOff].map { .deadline($0, isReplayable: true) }

    @Test("any event in any state is answered, no attempt follows the end, and the budgets hold on every walk")
    func totalTransitions() {
        var random = SeededRandom(seed: 20_240_607)
        for walk in 0..<20_000 {
            let limit = UInt32(walk % 3)
            var machine = machine(
                token: walk % 7 != 0, refresh: walk % 5 != 0, policy: walk % 2 == 0, retries: limit, eligible: walk % 11 != 0,
                optional: walk % 3 == 0)
            var wasStreaming = false
            var ends = 0
            for _ in 0..<24 {
                let wasDone = machine.state == .done
                let attempts = machine.attempts
                guard let event = Self.events.randomElement(using: &random) else { return }
                let action = machine.handle(event)
                if wasDone, action != .nothing { Issue.record("walk \(walk): \(action) after the end") }
                if wasStreaming, machine.attempts != attempts { Issue.record("walk \(walk): an attempt after streaming") }
                wasStreaming = wasStreaming || machine.state == .streaming
                if machine.state == .done, !wasDone { ends += 1 }
            }
            #expect(machine.authRetries <= 1 && machine.retries <= limit && ends <= 1)
            #expect(machine.attempts <= 2 + limit)
            if machine.state == .done { #expect(machine.outcomes.reply != nil) }
        }
    }
}
