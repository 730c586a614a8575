// Step reply: answers that are streams. Their bytes go to the client as they come, and are looked at to be counted; where the route asks
// for it, heartbeats go in between and the failure JSON behind them.
// Domain: worker

import CryoHTTP

extension Exchange {
    /// Before the head of an answer goes out that is passed on as it comes.
    func openStream(_ response: ResponseHead) {
        guard mediaType.isStream, 200..<300 ~= response.status, !isHead, !isTunnel, !responseFraming.isNone else { return }
        stream = StreamRelay(mediaType, coding: contentCoding(response.fields), care: streamCare(response))
        countStream(.opened)
        restartHeartbeat()
        if deadlines.heartbeat < .max { armDeadlines() }
    }

    /// Empty for none, and for `identity`, which is none (RFC 9110 §12.5.3).
    func contentCoding(_ fields: FieldSection) -> [UInt8] {
        let identity: StaticString = "identity"
        return fields.withValue(of: "content-encoding") { coding in
            equalsIgnoringCase(coding, lowercased: identity.rawBytes) ? [] : Array(coding)
        } ?? []
    }

    /// An answer of announced length has no room for anything of ours, and a client of HTTP/1.0 can't tell its end from a loss.
    private func streamCare(_ response: ResponseHead) -> StreamCare {
        guard let settings = match?.route.settings.streams, head?.minorVersion == 1, response.status == 200 else { return StreamCare() }
        if case .length = responseFraming { return StreamCare() }
        return StreamCare(heartbeatNanoseconds: UInt64(settings.heartbeatMilliseconds) * 1_000_000, onLoss: settings.onLoss)
    }

    // MARK: The upstream's bytes

    func relay(_ bytes: UnsafeRawBufferPointer, through stream: StreamRelay) -> Flow {
        let (mark, missed) = stream.hold.matchMark(bytes)
        if missed > 0 {
            let bom: StaticString = "\u{FEFF}"
            _ = pass(UnsafeRawBufferPointer(rebasing: bom.rawBytes[..<missed]), through: stream)
        }
        return pass(UnsafeRawBufferPointer(rebasing: bytes[mark...]), through: stream)
    }

    private func pass(_ bytes: UnsafeRawBufferPointer, through stream: StreamRelay) -> Flow {
        guard stream.care.holdsEvents else {
            let flow = send(bytes, of: stream)
            countStream(.events, stream.watch(bytes, at: now).events)
            return flow
        }
        let (events, border) = stream.watch(bytes, at: now)
        var flow = Flow.more
        if border > 0 {
            sendHeldPart(of: stream)
            flow = send(UnsafeRawBufferPointer(rebasing: bytes[..<border]), of: stream)
            stream.hold.passed()
        }
        let rest = UnsafeRawBufferPointer(rebasing: bytes[border...])
        if !stream.hold.keep(rest) {
            sendHeldPart(of: stream)
            flow = send(rest, of: stream)
        }
        countStream(.events, events)
        return flow
    }

    private func sendHeldPart(of stream: StreamRelay) {
        let part = stream.hold.takeAll()
        if !part.isEmpty { _ = part.withUnsafeBytes { send($0, of: stream) } }
    }

    private func send(_ bytes: UnsafeRawBufferPointer, of stream: StreamRelay) -> Flow {
        guard !bytes.isEmpty else { return .more }
        bytesSent += UInt64(bytes.count)
        let flow = sink.sendBody(bytes)
        stream.isPaused = flow == .pause
        restartHeartbeat()
        return flow
    }

    // MARK: Heartbeats

    /// A comment when the client has had nothing for so long, so that nobody on the way takes the silence for an end. Only where no event
    /// is touched, and not to a client that takes nothing. The upstream's silence is none the shorter for it.
    func beat() {
        guard let stream else { return }
        if stream.isClear, !stream.isPaused {
            let comment: StaticString = ":\n\n"
            if stream.bytesCount == 0 { stream.hold.dropMark() }
            stream.heartbeatsCount &+= 1
            countStream(.heartbeats)
            _ = send(comment.rawBytes, of: stream)
        } else {
            restartHeartbeat()
        }
    }

    private func restartHeartbeat() {
        guard let length = stream?.care.heartbeatNanoseconds, length > 0 else { return }
        deadlines.heartbeat = now &+ length
    }

    // MARK: The end

    /// The upstream has ended the stream as it should: what is no whole event goes out as it is, too.
    func endStream(_ stream: StreamRelay) {
        sendHeldPart(of: stream)
        countStream(.events, stream.end(at: now))
    }

    /// The reply ends without its end. A client that gets events is told why by one more, where the route asks for it.
    func loseReply() {
        // Only a new answer's first event can have been refused here.
        let isRefused = stream != nil && business != nil
        let reason: FailureReason =
            isRefused ? .businessRejected : machine.outcomes.forward == .timedOut ? .upstreamTimedOut : .responseTruncated
        if stream != nil { held = HeldBody() }
        failure = Failure(reason, language: .english)
        if let stream, stream.care.onLoss != .cut, stream.isClear { sendErrorEvent(reason, on: stream) }
        abortReply()
    }

    private func sendErrorEvent(_ reason: FailureReason, on stream: StreamRelay) {
        let failure = makeFailure(reason, status: nil)
        self.failure = failure
        let body = renderFailure(failure, held: nil)
        // Written without line ends, which would end the line of the event.
        var event = Array("event: error\ndata: ".utf8)
        event.append(contentsOf: body)
        event.append(contentsOf: [0x0A, 0x0A])
        stream.hasErrorEvent = true
        _ = event.withUnsafeBytes { send($0, of: stream) }
    }

    /// Once for each stream, however it ended.
    func closeStream() {
        if stream != nil { countStream(.closed) }
    }

    func countStream(_ count: StreamCount, _ amount: UInt64 = 1) {
        if amount > 0 { match?.route.statistics?.streams.add(amount, to: count.rawValue, worker: context.workerIndex) }
    }
}
