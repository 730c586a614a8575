// Step reply: the connection as the sink of an exchange's reply, and as its scheduler.
// Domain: worker

import CryoHTTP
import CryoIO
import CryoPipeline

extension ClientConnection: Scheduler {
    var nanoseconds: UInt64 { worker.nanoseconds }
    var unixMicroseconds: Int64 { worker.unixMicroseconds }
    func random() -> UInt64 { worker.random() }
    var submit: @Sendable (@escaping @Sendable () -> Void) -> Void { share.submit }
    // `wake(at:)` is the endpoint's. A consumer may be called earlier than it asked for, when another deadline of the connection
    // is nearer; it arms again then.
}

/// Everything here only fills the out buffer or writes to the socket. Nothing calls the consumer back, and nothing reads: both
/// wait for the end of the batch.
extension ClientConnection: ReplySink {
    func sendContinue() {
        guard isExchangeOpen, let state, state.awaitsContinue, !state.isHeadSent else { return }
        state.awaitsContinue = false
        let line: StaticString = "HTTP/1.1 100 Continue\r\n\r\n"
        state.out.append(line.rawBytes)
        readDeadline = deadline(limits.settings.bodyTimeoutMilliseconds)
        arm()
        worker.afterBatch(self)
    }

    func sendHead(status: UInt16, fields: FieldSection, framing: BodyFraming) {
        guard isExchangeOpen, let state, !state.isHeadSent else { return }
        state.isHeadSent = true
        if status == 101 || (state.isConnect && 200..<300 ~= status) { return openTunnel(status, fields, state) }
        let hasBody = !state.isHead && status != 204 && status != 304 && status >= 200
        state.replyFraming = hasBody ? replyFraming(framing, state) : .none
        state.willClose = closesAfterReply(state)
        let keepsOwnLength = !hasBody && status != 204 && status >= 200
        state.out.append(bytesMax: fields.wireBytesMax + HeadWriter.ownBytes) { head in
            head.appendStatusLine(status)
            let seen = appendEndToEnd(fields, keepsLength: keepsOwnLength, to: &head)
            if !seen.hasDate { share.appendDate(to: &head) }
            appendFraming(framing, state, hasBody: hasBody, needsLength: keepsOwnLength && state.isHead && !seen.hasLength, to: &head)
            if state.willClose {
                head.appendField("Connection", "close")
            } else if state.isVersion10 {
                head.appendField("Connection", "keep-alive")
            }
            head.appendLineEnd()
        }
        worker.afterBatch(self)
    }

    func sendBody(_ bytes: UnsafeRawBufferPointer) -> Flow {
        // Nobody takes it any more, and the consumer hears of it after this batch: its source must not run on.
        guard isExchangeOpen, !isBroken, let state = state.take() else { return .pause }
        // Moved out meanwhile, so that no reference is counted.
        let flow = state.isHeadSent ? append(bytes, state) : .pause
        self.state = state
        return flow
    }

    private func append(_ bytes: UnsafeRawBufferPointer, _ state: RequestState) -> Flow {
        var piece = bytes
        var isChunk = false
        switch state.replyFraming {
        case .none: return .more
        case .untilClose: break
        case .length(let remaining):
            // Never more than was announced: it would be read as the next reply.
            piece = UnsafeRawBufferPointer(rebasing: bytes[..<Int(min(UInt64(bytes.count), remaining))])
            state.replyFraming = .length(remaining: remaining - UInt64(piece.count))
        case .chunked: isChunk = true
        }
        guard !piece.isEmpty else { return .more }
        if piece.count > ConnectionBounds.copiedBodyBytesMax, canWrite {
            if isChunk { state.out.appendSizeLine(of: piece) }
            writeThrough(piece, state)
            if isChunk { state.out.append(ChunkedEncoder.chunkEnd.rawBytes) }
        } else if isChunk {
            state.out.appendChunk(piece)
        } else {
            state.out.append(piece)
        }
        if state.out.count > ConnectionBounds.pendingBytesResume, canWrite { writePending(state) }
        worker.afterBatch(self)
        guard isBroken || state.out.count > ConnectionBounds.pendingBytesMax else { return .more }
        state.isReplyPaused = true
        return .pause
    }

    func finish() {
        guard isExchangeOpen, let state else { return }
        guard state.isHeadSent else { return abort() }
        if case .length(let remaining) = state.replyFraming, remaining > 0 { return abort() }
        if state.replyFraming == .chunked { state.out.append(ChunkedEncoder.lastChunk.rawBytes) }
        state.isReplyPaused = false
        if phase == .tunnel { state.lingers = true }
        let isRequestComplete = phase == .replying || (state.framing != .chunked && state.bodyRemaining == 0)
        endExchange()
        if !isRequestComplete, !state.willClose, canDiscardRest(state) {
            phase = .discarding
            readDeadline = deadline(ConnectionBounds.discardMilliseconds)
        } else if state.willClose || !isRequestComplete {
            if !isRequestComplete || state.inputCount > 0 { state.lingers = true }
            beginClosing()
        } else {
            nextRequest(state)
        }
        worker.afterBatch(self)
    }

    func abort() {
        guard isExchangeOpen, let state else { return }
        endExchange()
        // What there is of the reply goes out, so that the client sees whose it was; the missing end tells that it is cut. Without
        // framing a proper close would look like the end of the body.
        if state.isHeadSent, state.replyFraming == .untilClose { resetsOnClose = true }
        tls?.isCut = true
        beginClosing()
        worker.afterBatch(self)
    }

    func resumeRequestBody() {
        guard isExchangeOpen, let state, state.isBodyPaused else { return }
        state.isBodyPaused = false
        if phase == .body { readDeadline = deadline(limits.settings.bodyTimeoutMilliseconds) }
        worker.afterBatch(self)
    }

    /// Nothing but what is pending goes out any more.
    private func beginClosing() {
        phase = .flushing
        readDeadline = .max
    }

    // MARK: The head

    private func replyFraming(_ framing: BodyFraming, _ state: RequestState) -> ReplyFraming {
        switch framing {
        case .none: .length(remaining: 0)
        case .length(let length): .length(remaining: length)
        case .chunked: state.isVersion10 ? .untilClose : .chunked
        // A 1.1 client gets chunks, so that it can tell a whole body from a cut one and keep the connection.
        case .untilClose: state.isVersion10 ? .untilClose : .chunked
        }
    }

    private func closesAfterReply(_ state: RequestState) -> Bool {
        if !state.keepsAlive || share.isDraining || state.replyFraming == .untilClose { return true }
        if hasSeenEnd, state.inputCount == 0 { return true }
        return phase == .body && !canDiscardRest(state)
    }

    /// Whether a request body that nobody wants any more is worth reading to its end, to keep the connection. A client that
    /// still waits for `100 Continue` may or may not send it: where the next request begins is unknown then.
    private func canDiscardRest(_ state: RequestState) -> Bool {
        guard case .length = state.framing, !state.awaitsContinue else { return false }
        return state.bodyRemaining <= UInt64(ConnectionBounds.discardBytesMax)
    }

    private func appendFraming(
        _ framing: BodyFraming, _ state: RequestState, hasBody: Bool, needsLength: Bool, to head: inout HeadWriter
    ) {
        if hasBody {
            switch state.replyFraming {
            case .length(let length): head.appendField("Content-Length", length)
            case .chunked: head.appendField("Transfer-Encoding", "chunked")
            case .untilClose, .none: break
            }
        } else if needsLength, case .length(let length) = framing {
            // HEAD: what GET would have (RFC 9110 §9.3.2).
            head.appendField("Content-Length", length)
        }
    }

    /// Appends the fields that are not the sink's to say.
    func appendEndToEnd(
        _ fields: FieldSection, keepsLength: Bool, to head: inout HeadWriter
    ) -> (hasDate: Bool, hasLength: Bool) {
        guard fields.mayFrame else {
            head.appendFields(fields)
            return (fields.contains("date"), false)
        }
        var fields = fields
        fields.remove("connection")
        fields.remove("transfer-encoding")
        var length: Int?
        if keepsLength {
            length = fields.firstIndex(of: "content-length")
            if let length { while let next = fields.firstIndex(of: "content-length", from: length + 1) { fields.remove(at: next) } }
        } else {
            fields.remove("content-length")
        }
        head.appendFields(fields)
        return (fields.contains("date"), length != nil)
    }
}

extension FieldSection {
    /// False when there is nothing in it that is the sink's to say.
    fileprivate var mayFrame: Bool { mayContain("connection") || mayContain("transfer-encoding") || mayContain("content-length") }
}
