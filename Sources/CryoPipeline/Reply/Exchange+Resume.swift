// Step reply: takes a broken event stream up again, from the client's last event on (WHATWG HTML §9.2.3).
// Domain: worker

import CryoHTTP

extension Exchange {
    /// What the loss of the upstream means where the head of a stream has gone out; nil elsewhere.
    func lossOfStream(_ error: ForwardError?) -> ExchangeEvent? {
        guard stream != nil, machine.state == .streaming || machine.isResuming else { return nil }
        return .streamLost(error, streamStanding)
    }

    /// Only what can be asked for twice, and only from a point where nothing the client has would come again.
    private var streamStanding: StreamStanding {
        guard let stream, let head, stream.care.onLoss == .reconnect, stream.isClear, stream.isLastEventNamed, head.isMethod("GET"),
            head.framing == .none, Self.isFieldValue(stream.lastEventID)
        else { return .final }
        return .resumable(hasAdvanced: stream.hasAdvanced)
    }

    /// Whether an id can be said in a header as it is; at the tap's bound it may have been cut.
    private static func isFieldValue(_ id: [UInt8]) -> Bool {
        guard let first = id.first, let last = id.last else { return true }
        return first != 0x20 && last != 0x20 && id.count < EventStreamTap.nameBytesMax && id.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    }

    /// Waits before attempt `number` (from 0) to go on.
    func reconnect(_ number: UInt32) {
        guard let stream, let settings = match?.route.settings.streams.reconnect else { return }
        cancelAttempt()
        stream.restart()
        countStream(.reconnects)
        if deadlines.total == .max { deadlines.total = now &+ UInt64(settings.totalMilliseconds) * 1_000_000 }
        let delay = settings.delayNanoseconds(
            number: number, asked: stream.retryMilliseconds, retryAfterSeconds: retryAfterSeconds, random: context.scheduler.random())
        retryAfterSeconds = nil
        let due = now &+ delay
        if due >= deadlines.total { return perform(machine.handle(.retryDenied(.noTimeLeft))) }
        deadlines.backOff = due
        armDeadlines()
    }

    /// In the place of the client's own, which led to the first attempt. Before an event has come, that one still holds.
    func appendLastEventID(to fields: inout FieldSection) {
        guard machine.isResuming, let id = stream?.lastEventID, !id.isEmpty else { return }
        fields.remove("last-event-id")
        fields.append("Last-Event-ID", id)
    }

    /// The answer to an attempt that should go on. Its head goes nowhere: the client has one.
    func resume(with head: ResponseHead, framing: BodyFraming) {
        deadlines.response = .max
        if !records.isEmpty { records.current.status = head.status }
        let answer = resumeAnswer(head, framing)
        if answer == .busy {
            retryAfterSeconds = RetryRule.retryAfterSeconds(head.fields, nowUnixSeconds: context.scheduler.unixMicroseconds / 1_000_000)
        }
        if answer == .taken, let policy = match?.route.policy, policy.settings.view != .raw, policy.settings.streams == .firstEvent {
            isHolding = true
            beginLookAhead(.eventStream)
        } else {
            settleResume(answer)
        }
        armDeadlines()
    }

    /// Holds the beginning of the new answer until its first event is judged: it may say in its own way that the token is refused.
    func holdResumed(_ bytes: UnsafeRawBufferPointer) -> Flow {
        held.bytes.append(contentsOf: bytes)
        if let content = firstEvent?.find(in: bytes), let policy = match?.route.policy {
            settleResume(resumeAnswer(verdict(onEvent: content, policy)))
        } else if held.bytes.count > Self.lookAheadBytesMax {
            settleResume(.taken)
        } else {
            return .more
        }
        return machine.state == .streaming && isAttemptOpen ? .more : .pause
    }

    private func resumeAnswer(_ verdict: JudgeResult) -> ResumeAnswer {
        guard case .rejected(let refusesToken, let isRetryCode) = verdict else { return .taken }
        return refusesToken ? .tokenRefused : isRetryCode ? .busy : .refused
    }

    func settleResume(_ answer: ResumeAnswer) {
        if answer != .taken {
            cancelAttempt()
            dropHeldPart()
        }
        endLookAhead()
        isHolding = false
        perform(machine.handle(.resumeAnswered(answer, streamStanding)))
        armDeadlines()
    }

    /// What is held of a new answer that is not taken.
    func dropHeldPart() {
        endLookAhead()
        isHolding = false
        held = HeldBody()
    }

    private func resumeAnswer(_ head: ResponseHead, _ framing: BodyFraming) -> ResumeAnswer {
        if match?.route.credentials?.settings.refresh.onStatus.contains(head.status) == true { return .tokenRefused }
        switch head.status {
        case 204: return .over
        case 200:
            let isEventStream = MediaType.of(head.fields) == .eventStream && framing != .none
            return isEventStream && contentCoding(head.fields).isEmpty ? .taken : .refused
        case 408, 425, 429, 500..<600: return .busy
        default: return .refused
        }
    }

    /// The stream goes on where it was.
    func resumeStream() {
        guard let stream else { return }
        stream.resumesCount &+= 1
        countStream(.resumed)
        deadlines.total = .max
        touchIdle()
        let part = held.bytes
        held = HeldBody()
        if !part.isEmpty, part.withUnsafeBytes({ relay($0, through: stream) }) == .pause { deadlines.idle = .max }
        if isAnswerBlocked { endBlockedAnswer() }
    }
}
