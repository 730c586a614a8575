// Step forward: builds attempts, feeds them the request body and takes their answers.
// Domain: worker

package import CryoHTTP
import CryoJSON

extension Exchange {
    func startAttempt() {
        guard let head, let upstream else { return }
        cancelAttempt()
        settleRest()
        if machine.isResuming { business = nil } else if !records.isEmpty { resetResponse() }
        if waitsForSignedBody() { return }
        guard passBreaker(of: upstream) else { return }
        _ = body?.rewind()
        var request = AttemptRequest(to: upstream, isIdempotent: connectUpstream == nil && isIdempotent(head), isUpgrade: isUpgrade)
        environment.swapMemory(with: &request)
        // The forwarder has taken what it needs when it returns.
        defer { environment.swapMemory(with: &request) }
        guard write(&request, head) else { return }
        noteAttempt(to: upstream)
        if head.expectsContinue { sink.sendContinue() }
        underlyingDetail = nil
        tell(.requestAdapted(request.fields))
        tell(.resumed)
        isForwarderWaitingForBody = false
        isAttemptOpen = true
        touchResponseDeadline(upstream)
        attempt = environment.forwarder.begin(request, for: self)
        armDeadlines()
    }

    private func noteAttempt(to upstream: UpstreamPlan) {
        var record = AttemptRecord(startedAt: now)
        record.isSigned = connectUpstream == nil && upstream.isSigned
        if machine.carriesToken, let credential {
            record.tokenVersion = credential.version
            record.isTokenUnwritten = credential.isUnwritten
        }
        records.begin(record)
    }

    /// False: it could not be signed; the exchange has answered.
    private func write(_ request: inout AttemptRequest, _ head: RequestHead) -> Bool {
        head.fields.bytes.withUnsafeBytes { bytes in
            let method = UnsafeRawBufferPointer(rebasing: bytes[head.method])
            // The last request's is in this memory, and often the same.
            if !equals(method, request.method) { request.method = Array(method) }
        }
        guard let route else {
            writeConnect(&request, head)
            return true
        }
        writeTarget(&request.target, head, on: route)
        writeFields(&request.fields, head, on: route)
        request.framing = head.isMethod("HEAD") ? .none : head.framing
        return !route.upstream.isSigned || sign(&request, on: route)
    }

    var isHead: Bool { head?.isMethod("HEAD") ?? false }

    /// RFC 9110 §9.2.2.
    func isIdempotent(_ head: RequestHead) -> Bool {
        head.isMethod("GET") || head.isMethod("HEAD") || head.isMethod("PUT") || head.isMethod("DELETE") || head.isMethod("OPTIONS")
            || head.isMethod("TRACE")
    }

    private func touchResponseDeadline(_ upstream: UpstreamPlan) {
        if upstream.responseNanoseconds > 0 { deadlines.response = now &+ upstream.responseNanoseconds }
    }

    func cancelAttempt() {
        guard isAttemptOpen, let attempt else { return }
        isAttemptOpen = false
        self.attempt = nil
        deadlines.response = .max
        deadlines.idle = .max
        // An attempt whose head came has responded, whatever became of its body.
        closeRecord(records.last?.status == 0 ? "cancelled" : "responded", nil)
        environment.forwarder.cancel(attempt)
    }

    func closeRecord(_ outcome: StaticString, _ timing: AttemptTiming?) {
        guard !records.isEmpty else { return }
        records.current.endedAt = now
        if let timing { records.current.timing = timing }
        records.current.outcome = outcome
    }

    // MARK: Request body, read by the forwarder (also inside its C callback: copies only)

    package func readRequestBody(_ id: AttemptID, into buffer: UnsafeMutableRawBufferPointer) -> RequestBodyRead {
        guard id == attempt || attempt == nil, let body, !isOver else { return .failed }
        let read = body.read(into: buffer)
        switch read {
        case .wait: isForwarderWaitingForBody = true
        case .bytes(let count):
            noteSent(count)
            if isBodyPaused, body.waitingBytes < ReplayBuffer.waitingBytesLow {
                isBodyPaused = false
                sink.resumeRequestBody()
            }
        case .end, .failed: break
        }
        return read
    }

    private func noteSent(_ count: Int) {
        tell(.bytesSent(count))
        if !records.isEmpty { records.current.requestBytes &+= UInt64(count) }
        if !isTunnel, let upstream { touchResponseDeadline(upstream) }
    }

    /// Smaller pieces of a body go out at the end of the batch, with those of other requests.
    private static let straightBytesMin = 16_384

    /// A large piece goes to the upstream from where it was read, uncopied. How much of it has.
    func sendStraight(_ bytes: UnsafeRawBufferPointer, of body: ReplayBuffer) -> Int {
        guard bytes.count >= Self.straightBytesMin, isAttemptOpen, let attempt, body.waitingBytes == 0 else { return 0 }
        let count = environment.forwarder.sendRequestBody(attempt, bytes)
        if count > 0 { noteSent(count) }
        return count
    }

    package func rewindRequestBody(_ id: AttemptID) -> Bool {
        guard id == attempt, !isOver else { return false }
        return body?.rewind() ?? true
    }

    // MARK: Answers

    package func attemptReceivedHead(_ id: AttemptID, _ head: ResponseHead, framing: BodyFraming) {
        guard id == attempt, !isOver else { return }
        if machine.isResuming { return resume(with: head, framing: framing) }
        deadlines.response = .max
        response = head
        responseFraming = framing
        mediaType = MediaType.of(head.fields)
        if connectUpstream != nil || (isUpgrade && head.status == 101) { openTunnel() }
        touchIdle()
        if !records.isEmpty { records.current.status = head.status }
        tell(.responseReceived)
        retryAfterSeconds = RetryRule.retryAfterSeconds(head.fields, nowUnixSeconds: scheduler.unixMicroseconds / 1_000_000)
        let action = machine.handle(
            .headReceived(
                disposition(of: head), refusesToken: refusesToken(head.status),
                isRetryStatus: machine.rules.retryLimit > 0 && route?.retry.allows(head.status) ?? false,
                isReplayable: isReplayable))
        settleHead(head.status)
        perform(action)
        armDeadlines()
    }

    private func refusesToken(_ status: UInt16) -> Bool {
        route?.credentials?.settings.refresh.onStatus.contains(status) ?? false
    }

    package func attemptReceivedBody(_ id: AttemptID, _ bytes: UnsafeRawBufferPointer) -> Flow {
        guard id == attempt, !isOver else { return .more }
        touchIdle()
        if !records.isEmpty { records.current.responseBytes &+= UInt64(bytes.count) }
        tell(.dataReceived(bytes.count))
        if isHolding { return machine.isResuming ? holdResumed(bytes) : hold(bytes) }
        if !isTunnel, let audit = plan.auditRules, audit.bodies == .all, audit.keepsBodies {
            auditedResponseBody.take(bytes, bytesMax: audit.bodyBytesMax, environment.makeDigest)
        }
        let flow: Flow
        if let stream {
            flow = relay(bytes, through: stream)
        } else {
            bytesSent += UInt64(bytes.count)
            flow = sink.sendBody(bytes)
        }
        if isAnswerBlocked {
            endBlockedAnswer()
            return .more
        }
        tell(.dataWritten(bytes.count))
        if flow == .pause {
            deadlines.idle = .max
            tell(.suspended)
        }
        return flow
    }

    package func attemptEnded(_ id: AttemptID, _ timing: AttemptTiming) {
        guard id == attempt, !isOver else { return }
        closeRecord("responded", timing)
        settleEnd()
        isAttemptOpen = false
        attempt = nil
        deadlines.idle = .max
        if isHolding, machine.isResuming { settleResume(.taken) }
        if isHolding {
            isHolding = false
            endLookAhead()
            perform(machine.handle(.holdEnded(isComplete: true, isReplayable: isReplayable)))
        } else {
            isHeldPaused = false
            perform(machine.handle(.bodyEnded))
        }
        armDeadlines()
    }

    package func attemptFailed(_ id: AttemptID, _ error: ForwardError, _ timing: AttemptTiming) {
        guard id == attempt, !isOver else { return }
        closeRecord(FailureReason(error).staticName, timing)
        underlyingDetail = error.detail
        settle(failedBy: response == nil ? FailureReason(error) : .responseTruncated)
        isAttemptOpen = false
        attempt = nil
        deadlines.response = .max
        deadlines.idle = .max
        if isHolding || isHeldPaused { held.isTruncated = true }
        isHolding = false
        if machine.isResuming { dropHeldPart() }
        perform(machine.handle(lossOfStream(error) ?? .attemptFailed(error, isReplayable: isReplayable)))
        armDeadlines()
    }

    // MARK: Holding

    private func resetResponse() {
        response = nil
        mediaType = .none
        held = HeldBody()
        decoded = nil
        isHolding = false
        isHeldPaused = false
        verdict = nil
        business = nil
        endLookAhead()
    }

    private var heldBytesMax: Int {
        if case .holding(.judgement) = machine.state { return route?.policy?.settings.bodyBytesMax ?? 0 }
        if case .holding(.firstEvent) = machine.state { return Self.lookAheadBytesMax }
        return FailureBody.responseDataBytesMax
    }

    private func hold(_ bytes: UnsafeRawBufferPointer) -> Flow {
        // With its announced length and the scanner's padding a body is never moved.
        if held.bytes.isEmpty {
            environment.lendHeld(&held.bytes)
            if case .length(let length) = responseFraming, length <= UInt64(heldBytesMax) {
                held.bytes.reserveCapacity(Int(length) + JSONScanner.padding)
            }
        }
        held.bytes.append(bytes: bytes)
        if firstEvent != nil, lookForFirstEvent(in: bytes) { return machine.state == .streaming && isAttemptOpen ? .more : .pause }
        guard held.bytes.count > heldBytesMax else { return .more }
        endLookAhead()
        isHolding = false
        isHeldPaused = true
        perform(machine.handle(.holdEnded(isComplete: false, isReplayable: isReplayable)))
        // Streaming goes on at once; while a token is awaited, or after a failure, nothing more is taken.
        return machine.state == .streaming && isAttemptOpen ? .more : .pause
    }
}

extension ForwardError {
    /// For people, in a failure's `underlyingError`.
    var detail: StaticString {
        switch self {
        case .dnsFailed: "the name could not be resolved"
        case .connectRefused: "the connection was refused or no address answered"
        case .connectTimedOut: "no connection within timeouts.connect_ms"
        case .tlsFailed: "the tls handshake failed"
        case .tlsCertificate: "the certificate could not be verified for this name"
        case .pinMismatch: "the public key matches no pin"
        case .reset: "the connection was closed or reset before an answer"
        case .emptyResponse: "the connection was closed without an answer"
        case .malformedResponse: "the answer is not valid http"
        case .truncated: "the answer ended before its announced end"
        case .requestBodyFailed: "the request body could not be read again"
        }
    }
}

extension FailureReason {
    /// The raw value as a literal, for the audit's hot path.
    var staticName: StaticString {
        switch self {
        case .upstreamDNSFailed: "upstream_dns_failed"
        case .connectRefused: "connect_refused"
        case .connectTimedOut: "connect_timed_out"
        case .tlsFailed: "tls_failed"
        case .tlsCertificateInvalid: "tls_certificate_invalid"
        case .pinMismatch: "pin_mismatch"
        case .reset: "reset"
        case .emptyResponse: "empty_response"
        case .responseMalformed: "response_malformed"
        case .responseTruncated: "response_truncated"
        default: "failed"
        }
    }
}
