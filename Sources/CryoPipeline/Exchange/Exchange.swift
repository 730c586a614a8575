// One client request and all that is done for it: drives an ExchangeMachine over the ports.
// Owns the request, the replay buffer, the held response and the record of what happened.
// Domain: worker

package import CryoHTTP

/// Confined to the worker of its connection. What never changes is `let`, down to the route: those references can be followed without
/// counting them. What few exchanges have lies in `uncommon`, so that beginning and ending one stays cheap.
package final class Exchange: RequestConsumer {
    let plan: PipelinePlan
    let environment: ExchangeEnvironment
    let context: ConnectionContext
    let scheduler: any Scheduler
    /// Where the reply goes: the connection, or what stands before it.
    let sink: any ReplySink
    package let exchangeID: ExchangeID
    /// nil: the read or accept step refused the request.
    let head: RequestHead?
    /// Where the route step sends the request.
    let placement: Placement
    var machine = ExchangeMachine(rules: ExchangeRules(retryReasons: []))
    /// For an exchange that never came to the machine: what the steps before it ended in.
    var earlyOutcomes: StepOutcomes?
    var uncommon: UncommonState?

    // inject
    var credential: Credential?
    /// The revision of the login the exchange began with (ledger AS4); retries do not change it.
    var revision: SessionRevision?
    /// The client's own X-Request-Id where it may be kept; empty: the exchange's id is told instead.
    let clientRequestID: [UInt8]

    // forward
    var body: ReplayBuffer?
    var isBodyPaused = false
    /// The attempt that was asked for begins when the whole body is here.
    var isAwaitingSignedBody = false
    var attempt: AttemptID?
    var isAttemptOpen = false
    var records = AttemptRecords()
    /// The breaker's, until it has been told what became of the attempt.
    var permit: Breaker.Permit?
    var isForwarderWaitingForBody = false
    /// The client asks for a WebSocket.
    var isUpgrade = false
    /// The upstream has agreed: from here on both bodies are the bytes of the tunnel.
    var isTunnel = false
    /// One side of the tunnel has ended.
    var isTunnelHalfClosed = false

    // refresh
    var ticket: UInt64?

    // normalize, reply
    var response: ResponseHead?
    var responseFraming: BodyFraming = .none
    var mediaType = MediaType.none
    /// nil: the answer is no stream.
    var stream: StreamRelay?
    var held = HeldBody()
    /// The held body without its content coding, once somebody had to look into it; nil while it has none.
    var decoded: [UInt8]?
    var isHolding = false
    /// The held response's attempt still has bytes, but is stopped until it is known whether they are wanted.
    var isHeldPaused = false
    // retry
    var retryAfterSeconds: Int64?
    /// When a request that the gateway itself refuses may come again.
    var ownRetryAfterSeconds: UInt64?
    var isRetrying = false

    var verdict: EnvelopeVerdict?
    var statusSent: UInt16 = 0
    var bytesSent: UInt64 = 0
    var isOver = false
    /// What lies beneath a failure: why a request was refused, or how an attempt ended.
    var underlyingDetail: StaticString?

    /// The state that was told last, while somebody listens.
    var toldState = ExchangeMachine.State.created

    // audit
    /// Keeps the end of the reply back where its record must be written first.
    let withheld: WithheldReply?
    /// Looks for secrets in the reply where that is asked for.
    let echo: (any SecretWatch)?
    /// Until when the exchange waits for the audit.
    var auditPatience = UInt64.max
    /// The reply that waited for its record has ended.
    var isSettled = false

    // deadlines, monotonic nanoseconds; .max is none
    var deadlines = ExchangeDeadlines()

    /// Its arguments are borrowed: an initializer that owned them would count each of them twice.
    package init(
        head: borrowing RequestHead?, plan: borrowing PipelinePlan, environment: borrowing ExchangeEnvironment,
        context: borrowing ConnectionContext
    ) {
        self.head = copy head
        self.plan = copy plan
        self.environment = copy environment
        self.context = copy context
        if plan.watchesReplies {
            (sink, withheld, echo) = Self.watching(context.sink, copy plan, copy environment)
        } else {
            (sink, withheld, echo) = (context.sink, nil, nil)
        }
        scheduler = context.scheduler
        exchangeID = ExchangeID(
            unixMicroseconds: context.startUnixMicroseconds, randomHigh: context.scheduler.random(), randomLow: context.scheduler.random())
        if let head = self.head {
            placement = Self.place(head, by: plan, context, pseudonym: environment.pseudonym)
            clientRequestID = Self.acceptableRequestID(head)
        } else {
            placement = Placement(.none)
            clientRequestID = []
        }
        environment.counters.begin()
    }

    private static func acceptableRequestID(_ head: RequestHead) -> [UInt8] {
        guard let index = head.fields.firstIndex(of: "x-request-id") else { return [] }
        return head.fields.withValue(at: index) { ExchangeID.isAcceptable($0) ? Array($0) : [] }
    }

    /// As text of its own, for those who keep it.
    package var id: [UInt8] { exchangeID.bytes }
    /// What client and upstream are told in X-Request-Id.
    var requestID: [UInt8] { clientRequestID.isEmpty ? id : clientRequestID }
    /// nil: there is none for it.
    var route: RoutePlan? { placement.route }
    /// The route's, or the one a tunnel is asked for to.
    var upstream: UpstreamPlan? { placement.route?.upstream ?? placement.tunnel }
    var now: UInt64 { scheduler.nanoseconds }
    var outcomes: StepOutcomes { earlyOutcomes ?? machine.outcomes }
    var isReplayable: Bool { body?.isReplayable ?? true }

    // MARK: From the connection

    package func begin() {
        guard let head else { return }
        tell(.requestCreated)
        switch placement.decision {
        case .none: break
        case .ping: answerPing()
        case .refused(let reason, let status, let detail): refuse(reason, status: status, detail: detail)
        case .preflight: answerPreflight()
        case .tunnel: connect()
        case .matched: if let route = placement.route { begin(on: route, head) }
        }
    }

    private func begin(on route: RoutePlan, _ head: RequestHead) {
        guard enterRoute(route) else { return }
        let standing = tokenStanding(on: route, head)
        var rules = route.rules
        if case .keptClientValue = standing { rules.injectsToken = false }
        permitRetries(&rules, on: route, head)
        machine = ExchangeMachine(rules: rules)
        if !head.framing.isNone {
            let coversBody = route.upstream.signer?.settings.coversBody ?? false
            let recordsBody = (rules.injectsToken && rules.canRefresh) || rules.retryLimit > 0 || coversBody
            body = ReplayBuffer(records: recordsBody && isWorthRecording(head.framing), openSpill: environment.openSpill)
        }
        isUpgrade = asksForWebSocket(head)
        adoptTrace(head)
        if head.framing.isNone { startTotalDeadline() }
        if isAdmittedByAudit() { perform(machine.handle(.begun(standing))) }
        armDeadlines()
    }

    private func isWorthRecording(_ framing: BodyFraming) -> Bool {
        if case .length(let length) = framing { return length <= UInt64(ReplayBuffer.fileBytesMax) }
        return true
    }

    package func receiveBody(_ bytes: UnsafeRawBufferPointer) -> Flow {
        guard !isOver, let body else { return .more }
        if isTunnel {
            touchIdle()
        } else if let audit = plan.auditRules, audit.keepsBodies {
            auditedRequestBody.take(bytes, bytesMax: audit.bodyBytesMax, environment.makeDigest)
        }
        digest(bytes)
        let sent = sendStraight(bytes, of: body)
        // Before the forwarder is woken: it may read at once, and let the client go on.
        isBodyPaused = body.append(bytes, sent: sent) == .pause && !isAwaitingSignedBody
        checkSignedBody()
        if sent < bytes.count { wakeForwarder() }
        return isBodyPaused ? .pause : .more
    }

    package func receiveBodyEnd() {
        guard !isOver, let body else { return }
        body.complete()
        if isTunnel { halfCloseTunnel() } else { startTotalDeadline() }
        endSignedBody()
        wakeForwarder()
    }

    private func wakeForwarder() {
        guard isForwarderWaitingForBody, isAttemptOpen, let attempt else { return }
        isForwarderWaitingForBody = false
        environment.forwarder.requestBodyReady(attempt)
    }

    package func bodyRefused(_ reason: FailureReason, status: UInt16, detail: StaticString) {
        guard !isOver else { return }
        var outcomes = machine.outcomes
        outcomes.read = reason == .requestTooLarge ? .tooLarge : reason == .requestTimedOut ? .timedOut : .malformed
        if machine.state == .streaming {
            outcomes.reply = .truncated
            earlyOutcomes = outcomes
            abortReply()
        } else {
            outcomes.reply = .sent
            earlyOutcomes = outcomes
            underlyingDetail = detail
            replyFailure(reason, status: status)
        }
    }

    package func clientGone() {
        guard !isOver else { return }
        _ = machine.handle(.clientGone)
        if (body?.isComplete == false && !isTunnel) || head == nil {
            var outcomes = machine.outcomes
            outcomes.read = .clientGone
            earlyOutcomes = outcomes
        }
        statusSent = statusSent == 0 ? 499 : statusSent
        failure = Failure(.clientGone, language: .english)
        conclude()
    }

    package func replyDrained() {
        stream?.isPaused = false
        guard !isOver, isAttemptOpen, let attempt else { return }
        touchIdle()
        armDeadlines()
        tell(.resumed)
        environment.forwarder.resumeResponse(attempt)
    }

    // MARK: Actions

    func perform(_ action: ExchangeAction) {
        tellTransition()
        switch action {
        case .nothing: break
        case .startAttempt: startAttempt()
        case .demandToken:
            if machine.state == .awaitingRefresh { noteRefusal() }
            demandToken()
        case .hold: isHolding = true
        case .stream: streamResponse(marked: nil)
        case .judge: judge()
        case .replyJudged: replyJudged()
        case .backOff(let number): backOff(number)
        case .fail(let reason): replyFailure(reason, status: nil)
        case .replyHeld(let reason): streamResponse(marked: reason)
        case .giveUpAndRefresh(let reason, let repliesHeld):
            noteRefusal()
            route?.credentials?.refreshInBackground(.refused(version: credential?.version ?? 0))
            if repliesHeld { streamResponse(marked: reason) } else { replyFailure(reason, status: nil) }
        case .finish:
            if let stream { endStream(stream) }
            finishReply()
        case .reconnect(let number): reconnect(number)
        case .resume: resumeStream()
        case .abort: loseReply()
        case .abandon: conclude()
        }
    }

    private func noteRefusal() {
        guard response != nil, !records.isEmpty else { return }
        records.current.refusedBy = business == nil ? "status" : "business_code"
    }

    // MARK: Deadlines

    package func deadlineReached(_ nanoseconds: UInt64) {
        guard !isOver else { return settleLate(nanoseconds) }
        while let kind = deadlines.takeDue(at: nanoseconds), !isOver {
            if kind == .audit {
                askAuditAgain(nanoseconds)
                continue
            }
            if kind == .tokenWait || kind == .total { withdrawTicket() }
            if kind == .lookAhead { firstEvent = nil }
            settleMissed(kind)
            if kind == .heartbeat {
                beat()
            } else if kind == .lookAhead, machine.isResuming {
                settleResume(.taken)
            } else if kind == .idle || kind == .response, let loss = lossOfStream(nil) {
                perform(machine.handle(loss))
            } else if kind == .backOff, !takeLatestToken() {
                perform(machine.handle(.tokenExpired))
            } else {
                perform(machine.handle(.deadline(kind, isReplayable: isReplayable)))
            }
        }
        armDeadlines()
    }

    func armDeadlines() {
        guard !isOver else { return }
        let nearest = deadlines.nearest
        if nearest < .max { scheduler.wake(at: nearest) }
    }

    func touchIdle() {
        if isTunnel { return touchTunnelIdle() }
        guard var length = route?.upstream.idleNanoseconds ?? connectUpstream?.idleNanoseconds, length > 0 else { return }
        if mediaType.isStream, let own = route?.settings.streams.idleMilliseconds { length = UInt64(own) * 1_000_000 }
        deadlines.idle = now &+ length
    }

    /// The total time begins when the whole request is here: a slow upload is bounded by the read step.
    private func startTotalDeadline() {
        guard let length = route?.upstream.totalNanoseconds, length > 0 else { return }
        deadlines.total = now &+ length
        armDeadlines()
    }
}
