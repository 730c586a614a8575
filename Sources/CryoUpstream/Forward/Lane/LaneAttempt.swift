// One attempt in the lane: its request as bytes, how much of it is out, and the answer as far as it has come.
// Domain: worker

import CryoHTTP
import CryoPipeline

/// Pooled: its buffers and its slot serve many attempts, one at a time. The connection it is on moves the bytes; a pooled connection
/// that turns out dead is replaced by a fresh one under the same attempt, once.
final class LaneAttempt {
    enum Outcome { case ended, failed(ForwardError) }

    /// A larger block is given back when the attempt ends.
    static let keptBytesMax = 16_384

    var id: AttemptID
    var receiver: (any AttemptReceiver)?
    // SAFETY: set while that connection serves this attempt, and a connection lets go of its attempt before it goes.
    unowned(unsafe) var connection: LaneConnection?
    var outcome: Outcome?
    var isIdempotent = false
    var isRetried = false
    var startedAt: UInt64 = 0
    var firstByteAt: UInt64 = 0

    // The request. The head stays whole, for another connection.
    var isHead = false
    var head = ByteBlock()
    var headSent = 0
    var upload = LaneUpload()

    // The answer.
    var isBodyBegun = false
    /// The answer's own word on the connection, and its framing, allow another request.
    var keepsConnection = false
    /// Bytes came that belong to no answer.
    var hasExcess = false
    var isPaused = false
    var headReader = ResponseHeadReader(limits: .response)
    var body = ResponseBodyReader()
    /// What a reader that paused has not taken.
    var kept = ByteBlock()

    init(id: AttemptID) { self.id = id }

    /// Writes the head. False when memory is short.
    func prepare(_ request: AttemptRequest, for receiver: any AttemptReceiver, at nanoseconds: UInt64) -> Bool {
        self.receiver = receiver
        startedAt = nanoseconds
        isIdempotent = request.isIdempotent
        isHead = request.method.withUnsafeBytes { equals($0, "HEAD") }
        upload.begin(request.framing)
        return head.writeRequestHead(request)
    }

    /// Everything is out, or nothing more is wanted.
    var isRequestSent: Bool { headSent == head.count && upload.isOver }

    /// Nobody wants it any more, or it has ended and everything of it is delivered.
    var isSettled: Bool { receiver == nil || (outcome != nil && !isPaused) }

    /// Sends body bytes behind what is left of the head; how many have gone out.
    func sendBody(_ bytes: UnsafeRawBufferPointer) -> Int {
        guard outcome == nil, upload.takesStraight(bytes.count), let connection else { return 0 }
        return connection.sendStraight(bytes, of: self)
    }

    /// From the first byte again, on another connection. False when the body's bytes are gone.
    func rewind() -> Bool {
        headSent = 0
        guard upload.hasBegun else { return true }
        guard let receiver, receiver.rewindRequestBody(id) else { return false }
        upload.rewind()
        return true
    }

    /// Makes ready for the next attempt.
    func reset() {
        receiver = nil
        connection = nil
        outcome = nil
        isRetried = false
        firstByteAt = 0
        head.shrink(above: Self.keptBytesMax)
        headSent = 0
        upload.end(keepingBytes: Self.keptBytesMax)
        hasExcess = false
        isPaused = false
        kept.shrink(above: Self.keptBytesMax)
        isBodyBegun = false
        headReader.reset()
    }
}

extension ByteBlock {
    /// The request line and the fields (RFC 9112 §3), those of the framing last. One block, filled once.
    fileprivate mutating func writeRequestHead(_ request: AttemptRequest) -> Bool {
        removeAll()
        return appendHead(bytesMax: HeadWriter.bytesMax(of: request)) { head in
            head.appendRequest(request)
            switch request.framing {
            case .none: break
            case .length(let count): head.appendField("Content-Length", count)
            case .chunked, .untilClose: head.appendField("Transfer-Encoding", "chunked")
            }
            head.appendLineEnd()
        }
    }
}
