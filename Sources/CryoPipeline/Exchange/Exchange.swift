// One client request and all that is done for it: drives an ExchangeMachine over the ports.
// Owns the request, the replay buffer, the held response and the record of what happened.
// Domain: worker

package import CryoHTTP
package import CryoJSON

/// What a worker lends to all its exchanges.
package final class ExchangeEnvironment {
    package let forwarder: any Forwarder
    package let scanner: JSONScanner
    package let openSpill: () -> SpillFile?
    /// Removes the codings a Content-Encoding names from a whole body, up to that many bytes.
    package let decode: (_ body: UnsafeRawBufferPointer, _ contentEncoding: UnsafeRawBufferPointer, _ bytesMax: Int) -> DecodedContent
    /// Reads the content of a body that passes; nil where it has no coding, or one that nobody here knows.
    package let makeContentReader: (_ contentEncoding: UnsafeRawBufferPointer) -> (any ContentReading)?
    package let counters: ExchangeCounters
    /// This process's name in Via. Unlike those of other gateways on the way, so that only a true loop is taken for one.
    package let pseudonym: [UInt8]
    /// Begins the digest of a body for the audit.
    package let makeDigest: () -> (any BodyDigest)?
    let scratch = AuditScratch()

    package init(
        forwarder: any Forwarder, scanner: JSONScanner, openSpill: @escaping () -> SpillFile?,
        decode: @escaping (UnsafeRawBufferPointer, UnsafeRawBufferPointer, Int) -> DecodedContent, counters: ExchangeCounters,
        pseudonym: [UInt8] = Array("cryonet".utf8), makeDigest: @escaping () -> (any BodyDigest)? = { nil },
        makeContentReader: @escaping (UnsafeRawBufferPointer) -> (any ContentReading)? = { _ in nil }
    ) {
        self.forwarder = forwarder
        self.scanner = scanner
        self.openSpill = openSpill
        self.decode = decode
        self.counters = counters
        self.pseudonym = pseudonym
        self.makeDigest = makeDigest
        self.makeContentReader = makeContentReader
    }
}

/// Confined to the worker of its connection.
package final class Exchange: RequestConsumer {
    let plan: PipelinePlan
    let environment: ExchangeEnvironment
    let context: ConnectionContext
    package let id: [UInt8]
    var head: RequestHead?
    var machine = ExchangeMachine(rules: ExchangeRules())
    /// For an exchange that never came to the machine: what the steps before it ended in.
    var earlyOutcomes: StepOutcomes?
    var match: RouteMatch?
    /// The route's, while this exchange counts in it.
    var occupiedLoad: RouteLoad?
    /// The route that admits the request's page of another site: it may read the reply, failures included.
    var sharingRoute: RoutePlan?

    // inject
    var credential: Credential?
    /// The revision of the login the exchange began with (ledger AS4); retries do not change it.
    var revision: SessionRevision?
    var baseFields = FieldSection()
    var baseFieldsCount = (bytes: 0, lines: 0)
    /// The client's cookies without the one that carries the token; nil where no cookie does.
    var clientCookies: [[UInt8]]?
    var requestID: [UInt8] = []
    /// nil where the request belongs to no trace.
    var trace: ExchangeTrace?

    // forward
    var body: ReplayBuffer?
    var isBodyPaused = false
    /// The attempt that was asked for begins when the whole body is here.
    var isAwaitingSignedBody = false
    var digestStream: DigestStream?
    var bodyDigest: [UInt8]?
    var attempt: AttemptID?
    var isAttemptOpen = false
    var records: [AttemptRecord] = []
    /// The breaker's, until it has been told what became of the attempt.
    var permit: Breaker.Permit?
    var isForwarderWaitingForBody = false
    /// The client asks for a WebSocket.
    var isUpgrade = false
    /// The client asks for a tunnel to this upstream; there is no route then.
    var connectUpstream: UpstreamPlan?
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
    /// The upstream's, while this exchange counts in it.
    var retryBudget: RetryBudget?
    var isRetrying = false

    /// Set while a stream is held back for its first event.
    var firstEvent: FirstEventFinder?
    var business: BusinessFailure?
    var verdict: EnvelopeVerdict?
    var failure: Failure?
    var statusSent: UInt16 = 0
    var bytesSent: UInt64 = 0
    var isOver = false
    /// The beginnings of the bodies, as far as the audit wants them.
    var auditedRequestBody = AuditedBody()
    var auditedResponseBody = AuditedBody()
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

    package init(head: RequestHead?, plan: PipelinePlan, environment: ExchangeEnvironment, context: ConnectionContext) {
        self.head = head
        self.plan = plan
        self.environment = environment
        (self.context, withheld, echo) = Self.watching(context, plan, environment)
        id = ExchangeID.make(
            unixMicroseconds: context.startUnixMicroseconds, randomHigh: context.scheduler.random(), randomLow: context.scheduler.random())
        environment.counters.begin()
    }

    var upstream: UpstreamPlan? { match?.route.upstream ?? connectUpstream }
    var now: UInt64 { context.scheduler.nanoseconds }
    var outcomes: StepOutcomes { earlyOutcomes ?? machine.outcomes }
    var isReplayable: Bool { body?.isReplayable ?? true }

    // MARK: From the connection

    package func begin() {
        guard let head else { return }
        tell(.requestCreated)
        requestID = head.fields.withValue(of: "x-request-id") { ExchangeID.isAcceptable($0) ? Array($0) : nil }.flatMap { $0 } ?? id
        switch RouteRule(plan: plan, localPort: context.localPort).decide(head) {
        case .ping: answerPing()
        case .refused(let reason, let status, let detail): refuse(reason, status: status, detail: detail)
        case .keyless(let match):
            if let match, match.admitsOrigin { sharingRoute = match.route }
            refuse(.clientKeyMissing, status: 407, detail: "client key is missing or wrong")
        case .preflight(let match):
            sharingRoute = match.route
            answerPreflight(match)
        case .tunnel(let upstream): connect(to: upstream)
        case .matched(let match):
            self.match = match
            if match.admitsOrigin { sharingRoute = match.route }
            if countVia(head.fields, pseudonym: environment.pseudonym) >= Self.passesMax {
                return refuse(.loopDetected, status: 508, detail: "the request has passed this gateway before")
            }
            choose(head, match)
        }
    }

    private func choose(_ head: RequestHead, _ match: RouteMatch) {
        switch OverrideRule(plan: plan).choose(head.fields, on: match.route) {
        case .asConfigured: begin(on: match.route, head)
        case .other(let route):
            self.match = match.taking(route)
            begin(on: route, head)
        case .unknown(let detail): refuse(.overrideUnknown, status: 400, detail: detail)
        }
    }

    /// How often one request may come by. Twice is no mistake: an upstream may call another API through the same gateway.
    package static let passesMax = 2

    private func begin(on route: RoutePlan, _ head: RequestHead) {
        guard enterRoute(route) else { return }
        let standing = tokenStanding(on: route, head)
        var rules = ExchangeRules()
        rules.injectsToken = route.credentials != nil && standing != .keptClientValue
        rules.isAuthOptional = route.settings.auth == .optional
        rules.canRefresh = route.credentials?.canRefresh ?? false
        // The raw view is the upstream's answer whatever it is (ledger IC3).
        rules.hasPolicy = route.policy.map { $0.settings.view != .raw && $0.settings.failureMode == .replace } ?? false
        permitRetries(&rules, on: route, head)
        rules.passesOversize = route.policy?.settings.oversize != .fail
        rules.passesNonJSON = route.policy?.settings.nonJSON == .pass
        rules.resumesLimit = route.settings.streams.reconnect.limit
        machine = ExchangeMachine(rules: rules)
        if head.framing != .none {
            let coversBody = route.upstream.signer?.settings.coversBody ?? false
            let recordsBody = (rules.injectsToken && rules.canRefresh) || rules.retryLimit > 0 || coversBody
            body = ReplayBuffer(records: recordsBody && isWorthRecording(head.framing), openSpill: environment.openSpill)
        }
        isUpgrade = asksForWebSocket(head)
        prepareFields(head, on: route)
        deadlines.total = .max
        if head.framing == .none { startTotalDeadline() }
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
        // Before the forwarder is woken: it may read at once, and let the client go on.
        isBodyPaused = body.append(bytes) == .pause && !isAwaitingSignedBody
        checkSignedBody()
        wakeForwarder()
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
            match?.route.credentials?.refreshInBackground(.refused(version: credential?.version ?? 0))
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
        records[records.count - 1].refusedBy = business == nil ? "status" : "business_code"
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
        if nearest < .max { context.scheduler.wake(at: nearest) }
    }

    func touchIdle() {
        if isTunnel { return touchTunnelIdle() }
        guard let timeouts = upstream?.settings.timeouts, timeouts.idleMilliseconds > 0 else { return }
        let streams = mediaType.isStream ? match?.route.settings.streams : nil
        deadlines.idle = now &+ UInt64(streams?.idleMilliseconds ?? timeouts.idleMilliseconds) * 1_000_000
    }

    /// The total time begins when the whole request is here: a slow upload is bounded by the read step.
    private func startTotalDeadline() {
        guard let timeouts = match?.route.upstream.settings.timeouts, timeouts.totalMilliseconds > 0 else { return }
        deadlines.total = now &+ UInt64(timeouts.totalMilliseconds) * 1_000_000
        armDeadlines()
    }
}

/// The times by which something must have happened; `.max` is none.
struct ExchangeDeadlines {
    var response = UInt64.max
    var idle = UInt64.max
    var total = UInt64.max
    var tokenWait = UInt64.max
    var backOff = UInt64.max
    var lookAhead = UInt64.max
    var heartbeat = UInt64.max
    var audit = UInt64.max

    var nearest: UInt64 { min(response, idle, total, tokenWait, backOff, lookAhead, heartbeat, audit) }

    /// The first that is due, taken out.
    mutating func takeDue(at nanoseconds: UInt64) -> DeadlineKind? {
        if total <= nanoseconds {
            total = .max
            return .total
        }
        if backOff <= nanoseconds {
            backOff = .max
            return .backOff
        }
        if tokenWait <= nanoseconds {
            tokenWait = .max
            return .tokenWait
        }
        if response <= nanoseconds {
            response = .max
            return .response
        }
        if idle <= nanoseconds {
            idle = .max
            return .idle
        }
        if lookAhead <= nanoseconds {
            lookAhead = .max
            return .lookAhead
        }
        if heartbeat <= nanoseconds {
            heartbeat = .max
            return .heartbeat
        }
        if audit <= nanoseconds {
            audit = .max
            return .audit
        }
        return nil
    }
}

/// What the audit tells about one attempt.
struct AttemptRecord {
    var startedAt: UInt64
    var endedAt: UInt64 = 0
    /// Of the bodies, as they went to the upstream and came from it.
    var requestBytes: UInt64 = 0
    var responseBytes: UInt64 = 0
    var status: UInt16 = 0
    var outcome: StaticString = "responded"
    var tokenVersion: UInt64 = 0
    var isTokenUnwritten = false
    var isSigned = false
    /// What told that the token is refused, where that made a difference: `status` or `business_code`.
    var refusedBy: StaticString?
    var timing = AttemptTiming()
}
