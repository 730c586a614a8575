// What a connection needs only while a request is being read or answered. An idle connection holds none.
// Domain: worker

import CryoHTTP

/// How the body of the reply goes out.
enum ReplyFraming: Equatable {
    /// No body bytes, whatever the consumer sends: HEAD, 204, 304.
    case none
    case length(remaining: UInt64)
    case chunked
    case untilClose
}

final class RequestState {
    var parser: RequestParser
    var decoder = ChunkedDecoder()

    /// Bytes read and not yet used: a partial head, further requests, or a body that the consumer does not take now.
    var input: [UInt8] = []
    var inputStart = 0
    var out = ReplyBuffer()

    // The request.
    var framing: BodyFraming = .none
    var bodyRemaining: UInt64 = 0
    var bodyReceived: UInt64 = 0
    var isHead = false
    var isConnect = false
    var isVersion10 = false
    var keepsAlive = true
    /// The client waits for `100 Continue`, and neither it nor a body byte has been seen.
    var awaitsContinue = false
    var startNanoseconds: UInt64 = 0
    var startUnixMicroseconds: Int64 = 0
    /// The rest of the client's bytes is of no use, and the connection closes after the reply.
    var willDiscard = false
    /// The client may still be sending when the connection closes.
    var lingers = false
    /// Bytes thrown away since the request was given up.
    var discarded = 0

    // The reply.
    var isHeadSent = false
    var willClose = false
    var replyFraming = ReplyFraming.none
    /// `sendBody` has answered `.pause`.
    var isReplyPaused = false
    /// `receiveBody` has answered `.pause`.
    var isBodyPaused = false
    /// In a tunnel: our sending side is shut once everything has gone out.
    var shutsAfterFlush = false
    /// In a tunnel: the consumer knows that the client sends nothing more.
    var isEndTold = false

    init(limits: HeadLimits) { parser = RequestParser(limits: limits) }

    var bufferBytes: Int { input.capacity + out.capacity }
    var inputCount: Int { input.count - inputStart }

    /// As new, with the buffers' memory kept.
    func reset(limits: HeadLimits) {
        parser.reset(limits: limits)
        if !input.isEmpty { input.removeAll(keepingCapacity: true) }
        inputStart = 0
        out.removeAll()
        beginRequest()
    }

    /// Forgets the last request and reply; input and output that are still on their way stay.
    func beginRequest() {
        framing = .none
        bodyRemaining = 0
        bodyReceived = 0
        isHead = false
        isConnect = false
        isVersion10 = false
        keepsAlive = true
        awaitsContinue = false
        startNanoseconds = 0
        startUnixMicroseconds = 0
        willDiscard = false
        lingers = false
        discarded = 0
        isHeadSent = false
        willClose = false
        replyFraming = .none
        isReplyPaused = false
        isBodyPaused = false
        shutsAfterFlush = false
        isEndTold = false
    }

    func appendInput(_ bytes: UnsafeRawBufferPointer) {
        if inputStart > 0 {
            input.removeSubrange(..<inputStart)
            inputStart = 0
        }
        input.append(contentsOf: bytes)
    }

    func useInput(_ count: Int) {
        inputStart += count
        if inputStart >= input.count { dropInput() }
    }

    func dropInput() {
        input.removeAll(keepingCapacity: input.capacity <= ConnectionBounds.spareBufferBytesMax)
        inputStart = 0
    }
}
