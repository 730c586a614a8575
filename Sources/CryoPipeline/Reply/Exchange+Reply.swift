// Step reply: sends what the machine decided: the upstream's answer, a part of it, or a failure.
// Domain: worker

import CryoHTTP
import CryoJSON

extension Exchange {
    // MARK: The upstream's answer

    /// Sends the head and what is held; the rest follows as it comes.
    func streamResponse(marked reason: FailureReason?) {
        guard let response else { return replyFailure(.internalError, status: nil) }
        var fields = endToEndFields(of: response)
        if describesPart {
            describePart(&fields)
            fields.remove("content-length")
        }
        if let reason {
            var failure = Failure(upstreamStatus: response.status, reason: reason, language: .english)
            failure.revision = revision
            if annotatesFailures { annotate(&fields, failure) } else { mark(&fields, kind: failure.kind, reason) }
            self.failure = failure
            tellHooksOfUnsentFailure()
        }
        openStream(response)
        sendHead(response.status, &fields, responseFraming)
        let wasPaused = isHeldPaused
        isHeldPaused = false
        isHolding = false
        if !held.bytes.isEmpty {
            tell(.dataWritten(held.bytes.count))
            let bytes = held.bytes
            _ = bytes.withUnsafeBytes { bytes in
                if let audit = plan.auditRules, audit.keepsBodies {
                    auditedResponseBody.take(bytes, bytesMax: audit.bodyBytesMax, environment.makeDigest)
                }
                if let stream { return relay(bytes, through: stream) }
                bytesSent += UInt64(bytes.count)
                return sink.sendBody(bytes)
            }
        }
        if isAnswerBlocked { return endBlockedAnswer() }
        let isCut = held.isTruncated
        held = HeldBody()
        if isAttemptOpen, let attempt {
            deadlines.total = .max
            touchIdle()
            if wasPaused { environment.forwarder.resumeResponse(attempt) }
        } else if isCut {
            perform(machine.handle(lossOfStream(.truncated) ?? .attemptFailed(.truncated, isReplayable: false)))
        } else {
            perform(machine.handle(.bodyEnded))
        }
    }

    /// Sends the judged body: whole, or the part the policy unwraps, byte for byte.
    func replyJudged() {
        guard let response else { return replyFailure(.internalError, status: nil) }
        var fields = endToEndFields(of: response)
        var part: Range<Int>?
        switch verdict {
        case .accepted(.slice(let range)):
            describePart(&fields)
            if !held.bytes.withUnsafeBytes({ Charset.of($0, response.fields) == .utf8 }) {
                fields.remove("content-type")
                fields.append("Content-Type", "application/json")
            }
            let namesChange = route?.policy?.settings.keys == .camelCase
            if namesChange || plan.auditRules?.keepsBodies == true {
                let whole = decoded ?? held.bytes
                held.bytes = whole.withUnsafeBytes { bytes in
                    let part = UnsafeRawBufferPointer(rebasing: bytes[range])
                    return namesChange ? JSONKeyCase.camelCased(part) : Array(part)
                }
            } else {
                part = range
            }
        case .accepted(.text(let text)):
            describePart(&fields)
            fields.remove("content-type")
            fields.append("Content-Type", "text/plain; charset=utf-8")
            held.bytes = text
        default: break
        }
        if let part {
            let whole = decoded ?? held.bytes
            whole.withUnsafeBytes { sendWhole(response.status, &fields, UnsafeRawBufferPointer(rebasing: $0[part])) }
        } else {
            held.bytes.withUnsafeBytes { sendWhole(response.status, &fields, $0) }
        }
        finishReply()
    }

    private func sendWhole(_ status: UInt16, _ fields: inout FieldSection, _ body: UnsafeRawBufferPointer) {
        sendHead(status, &fields, .length(UInt64(body.count)))
        bytesSent += UInt64(body.count)
        tell(.dataWritten(body.count))
        _ = sink.sendBody(body)
    }

    /// The fields that go on to the client. The framing is the sink's to say, except where there is no body to frame.
    func endToEndFields(of response: ResponseHead) -> FieldSection {
        var fields = environment.takeReplyFields(response.fields)
        removeHopByHop(&fields, dropsLength: !isHead && response.status != 304)
        rewriteAddresses(&fields)
        if isTunnel, isUpgrade { fields.append("Upgrade", "websocket") }
        // A stream is what happens now (ledger SS8); an upstream that says otherwise knows better.
        if mediaType == .eventStream, !fields.contains("cache-control") { fields.append("Cache-Control", "no-store") }
        if !fields.contains("x-request-id") { appendRequestID("X-Request-Id", to: &fields) }
        return fields
    }

    /// The fields are gone afterwards: their memory serves the next reply.
    func sendHead(_ status: UInt16, _ fields: inout FieldSection, _ framing: BodyFraming) {
        statusSent = status
        shareWithOrigin(&fields)
        appendTiming(&fields)
        sink.sendHead(status: status, fields: fields, framing: framing)
        environment.keep(&fields)
    }

    // MARK: Failures

    /// A request that the read, accept or route step refused.
    package func refuse(_ reason: FailureReason, status: UInt16, detail: StaticString) {
        var outcomes = StepOutcomes()
        outcomes.read = .parsed
        switch reason {
        case .overCapacity: (outcomes.accept, outcomes.read) = (.overCapacity, nil)
        case .draining: (outcomes.accept, outcomes.read) = (.draining, nil)
        case .requestTooLarge: outcomes.read = .tooLarge
        case .requestTimedOut: outcomes.read = .timedOut
        case .clientGone: outcomes.read = .clientGone
        case .routeNotFound: outcomes.route = .notFound
        case .hostDenied: outcomes.route = .hostDenied
        case .originDenied: outcomes.route = .originDenied
        case .clientKeyMissing: outcomes.route = .clientKeyMissing
        case .loopDetected: outcomes.route = .loopDetected
        case .overrideUnknown: outcomes.route = .overrideUnknown
        case .concurrencyLimited: outcomes.route = .concurrencyLimited
        case .rateLimited: outcomes.route = .rateLimited
        case .auditUnavailable: outcomes.route = .matched
        default: outcomes.read = .malformed
        }
        outcomes.reply = reason == .clientGone ? .clientGone : .sent
        earlyOutcomes = outcomes
        underlyingDetail = detail
        if reason == .clientGone {
            failure = Failure(.clientGone, language: .english)
            statusSent = 499
            return conclude()
        }
        replyFailure(reason, status: status)
    }

    func replyFailure(_ reason: FailureReason, status: UInt16?) {
        let failure = makeFailure(reason, status: status)
        self.failure = failure
        if canAnnotate(reason) { return replyAnnotated(failure) }
        cancelAttempt()
        let format = route?.policy?.settings.failureFormat ?? .problem
        var fields = showsUpstreamBody(reason) ? fieldsBesideBody() : FieldSection()
        fields.append("Content-Type", format.contentType(head?.fields))
        fields.append("Cache-Control", "no-store")
        mark(&fields, kind: failure.kind, reason)
        fields.append("Proxy-Status", proxyStatus(reason))
        // RFC 9110 §15.5.8: a 407 says how to do better.
        if reason == .clientKeyMissing { fields.append("Proxy-Authenticate", "Bearer realm=\"cryonet\"") }
        if reason == .rateLimited { appendRateLimit(to: &fields) }
        fields.append("X-Request-Id", requestID)
        if response == nil, let seconds = retryAfter(failure) { fields.append("Retry-After", seconds) }
        var shown = showsUpstreamBody(reason) ? readableBody() : nil
        if let bytes = shown?.bytes, shown?.isTruncated == true || bytes.count > FailureBody.responseDataBytesMax {
            // A secret must not get out because only its beginning is here.
            var kept = Array(bytes.prefix(FailureBody.responseDataBytesMax))
            plan.redactor.scrubCut(&kept)
            shown?.bytes = kept
            shown?.isTruncated = true
        }
        let body = renderFailure(failure, held: shown)
        sendHead(failure.status, &fields, .length(UInt64(body.count)))
        bytesSent = UInt64(body.count)
        tell(.dataWritten(body.count))
        _ = body.withUnsafeBytes { sink.sendBody($0) }
        finishReply()
    }

    /// As the client gets it, and the hooks with it.
    func renderFailure(_ failure: Failure, held: HeldBody?) -> [UInt8] {
        let facts = FailureBody.Facts(
            exchangeID: id, requestID: requestID, route: route?.name, attempts: machine.attempts)
        let isMessage = route?.policy?.settings.failureFormat == .message
        var body =
            isMessage
            ? FailureBody.renderMessage(failure) : FailureBody.render(failure, facts: facts, held: held, scanner: environment.scanner)
        plan.redactor.scrub(&body)
        if isMessage { tellHooksOfUnsentFailure() } else { tellHooks(failure, body: body) }
        return body
    }

    /// Only where it is we who refuse; what an upstream advises goes on with its answer.
    private func retryAfter(_ failure: Failure) -> [UInt8]? {
        guard failure.status == 503 || failure.reason == .tokenUnavailable || ownRetryAfterSeconds != nil else { return nil }
        var text: [UInt8] = []
        text.appendDecimal(max(1, ownRetryAfterSeconds ?? 1))
        return text
    }

    func makeFailure(_ reason: FailureReason, status: UInt16?) -> Failure {
        let language = clientLanguage
        var failure: Failure
        if let business, reason != .upstreamStatus {
            failure = Failure(reason, language: language)
            apply(business, to: &failure)
        } else if let response, reason == .upstreamStatus || FailureTable.row(reason).kind == .authenticationExpired {
            failure = Failure(upstreamStatus: response.status, reason: reason, language: language)
        } else {
            failure = Failure(reason, language: language)
            failure.upstreamStatus = response?.status
            if failure.kind == .decoding, let response { failure.code = Int(response.status) }
        }
        if let status { failure.status = status }
        if let message = message(of: failure, language) { failure.message = message }
        if let policy = route?.policy, policy.codes.namesCodes {
            failure.codeName = failure.codeName ?? CodeTable.unknownName
        }
        failure.underlying = underlyingDetail
        failure.revision = revision
        if !isSafeToRepeat(after: reason) { failure.isRetryable = false }
        return failure
    }

    func showsUpstreamBody(_ reason: FailureReason) -> Bool {
        switch reason {
        case .upstreamStatus, .refreshRejected, .refreshFailed, .refreshWindowExceeded, .bodyNotReplayable, .businessRejected,
            .responseNotJSON, .responseTruncated:
            true
        default: false
        }
    }

    func mark(_ fields: inout FieldSection, kind: FailureKind, _ reason: FailureReason) {
        fields.append("CryoNet-Failure", Array("\(kind.rawValue)/\(reason.rawValue)".utf8))
    }

    /// RFC 9209 §2: who failed, the registered error type where there is one, and the upstream's status if it answered.
    func proxyStatus(_ reason: FailureReason) -> [UInt8] {
        let name: StaticString = "cryonet"
        let errorParameter: StaticString = "; error="
        let statusParameter: StaticString = "; received-status="
        var value = Array(name.rawBytes)
        if let error = FailureTable.row(reason).proxyStatusError {
            value.append(contentsOf: errorParameter.rawBytes)
            value.append(contentsOf: error.rawBytes)
        }
        if let response {
            value.append(contentsOf: statusParameter.rawBytes)
            value.appendDecimal(UInt64(response.status))
        }
        return value
    }

    /// The upstream's fields that hold for a failure made of its answer: cookies, challenges, limits, advice, but nothing that
    /// describes the body we replace.
    private func fieldsBesideBody() -> FieldSection {
        guard let response else { return FieldSection() }
        var fields = response.fields
        removeHopByHop(&fields)
        let describing: [StaticString] = [
            "content-type", "content-length", "content-encoding", "content-language", "content-location", "content-range", "content-md5",
            "content-digest", "content-disposition", "repr-digest", "digest", "etag", "last-modified", "accept-ranges", "cache-control",
            "expires", "age", "x-request-id", "cryonet-failure", "proxy-status",
        ]
        for name in describing { fields.remove(name) }
        rewriteAddresses(&fields)
        return fields
    }

    // MARK: OPTIONS *

    /// Answers for the gateway itself: `cryonet health` asks this.
    func answerPing() {
        var outcomes = StepOutcomes()
        outcomes.read = .parsed
        outcomes.reply = .sent
        earlyOutcomes = outcomes
        var fields = FieldSection()
        fields.append("Allow", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS")
        sendHead(204, &fields, .none)
        finishReply()
    }

    // MARK: The end

    func finishReply() {
        if let echo, !echo.release() { return endBlockedAnswer() }
        if let withheld { return finish(withheld) }
        conclude()
        sink.finish()
    }

    func abortReply() {
        conclude()
        sink.abort()
    }

    /// Writes the audit record and lets go of everything. The last thing an exchange does.
    func conclude() {
        guard !isOver else { return }
        endWork()
        tally(writeAudit())
        environment.counters.end()
        if !held.bytes.isEmpty { environment.keepHeld(&held.bytes) }
    }

    func endWork() {
        if let echo, echo.hasFound {
            plan.echoes?.note(route: route?.settings.name ?? "-", isBlocked: plan.blocksEchoes, nanoseconds: now)
        }
        withdrawTicket()
        cancelAttempt()
        settleRest()
        isOver = true
        closeStream()
        giveBackRetryBudget()
        leaveRoute()
        tellEnd()
    }
}
