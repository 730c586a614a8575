// The request body of one attempt in the lane: what has been taken from the client and is not out yet.
// Domain: worker

import CryoHTTP
import CryoPipeline
import Glibc

struct LaneUpload: ~Copyable {
    /// Body bytes taken from the client at once.
    static let pieceBytesMax = 65_536
    /// Smaller room is not worth another chunk.
    private static let pieceBytesMin = 1_024
    /// The last chunk, and the line end of the one before.
    private static let endBytesMax = 7

    enum Step { case pending, nothing, failed }

    private var block = ByteBlock()
    private var sent = 0
    /// Not yet taken from the client; nil for a chunked body.
    private var left: UInt64? = 0
    /// Taken whole, or there is none.
    private var isTaken = true
    /// Nothing more of it is to be sent, though it is not whole.
    private(set) var isAbandoned = false
    private(set) var hasBegun = false
    private var length: UInt64? = 0
    /// The client has bytes, or may have.
    var isReady = false

    /// Every byte is out.
    var isOver: Bool { isTaken && sent == block.count }
    var isPresent: Bool { length != 0 }
    var pending: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: block.bytes[sent...]) }

    mutating func begin(_ framing: BodyFraming) {
        switch framing {
        case .none: length = 0
        case .length(let count): length = count
        case .chunked, .untilClose: length = nil
        }
        rewind()
    }

    mutating func rewind() {
        block.removeAll()
        sent = 0
        left = length
        isTaken = length == 0
        isReady = true
        hasBegun = false
        isAbandoned = false
    }

    mutating func end(keepingBytes: Int) {
        block.shrink(above: keepingBytes)
        sent = 0
        length = 0
        left = 0
        isTaken = true
        isAbandoned = false
        hasBegun = false
    }

    /// The answer has come first and does not want the rest (RFC 9112 §9.3: the connection ends with it).
    mutating func abandon() { isAbandoned = true }

    mutating func consume(_ count: Int) { sent += count }

    /// Whether the next bytes of the body may be sent past here: none are waiting, and they need no framing.
    func takesStraight(_ count: Int) -> Bool {
        guard let left, !isAbandoned else { return false }
        return sent == block.count && left >= UInt64(count)
    }

    mutating func sentStraight(_ count: Int) {
        guard let left, count > 0 else { return }
        hasBegun = true
        self.left = left - UInt64(count)
        isTaken = self.left == 0
    }

    /// Takes bytes from the client unless there are some already.
    mutating func fill(from receiver: any AttemptReceiver, _ id: AttemptID) -> Step {
        if isAbandoned { return .nothing }
        if sent < block.count { return .pending }
        guard !isTaken, isReady else { return .nothing }
        block.removeAll()
        sent = 0
        hasBegun = true
        guard block.reserve(Self.pieceBytesMax + ChunkedEncoder.sizeLineBytesMax + Self.endBytesMax) else { return .failed }
        let isWhole = left == nil ? fillChunks(from: receiver, id) : fillPlain(from: receiver, id)
        return isWhole ? block.count > 0 ? .pending : .nothing : .failed
    }

    private mutating func fillPlain(from receiver: any AttemptReceiver, _ id: AttemptID) -> Bool {
        while let left, left > 0, block.count < Self.pieceBytesMax {
            let room = Int(min(UInt64(Self.pieceBytesMax - block.count), left))
            switch receiver.readRequestBody(id, into: block.room(at: block.count, room)) {
            case .bytes(let count) where count > 0:
                block.extend(by: count)
                self.left = left - UInt64(count)
            case .wait, .bytes:
                isReady = false
                return true
            // The announced length cannot be reached any more; the upstream must not take the part for the whole.
            case .end, .failed: return false
            }
        }
        isTaken = left == 0
        return true
    }

    /// Each read becomes a chunk. Its size line is known after its bytes, so they are moved up to it.
    private mutating func fillChunks(from receiver: any AttemptReceiver, _ id: AttemptID) -> Bool {
        let end: StaticString = "\r\n"
        while true {
            let gap = ChunkedEncoder.sizeLineBytesMax
            let room = Self.pieceBytesMax - block.count
            guard room >= Self.pieceBytesMin else { return true }
            switch receiver.readRequestBody(id, into: block.room(at: block.count + gap, room)) {
            case .bytes(let count) where count > 0:
                let start = block.count + gap
                guard block.appendHead(bytesMax: gap, { ChunkedEncoder.appendSizeLine(count, to: &$0) }) else { return false }
                block.moveUp(from: start, count)
                guard block.append(end.rawBytes) else { return false }
            case .wait, .bytes:
                isReady = false
                return true
            case .end:
                isTaken = true
                return block.append(ChunkedEncoder.lastChunk.rawBytes)
            case .failed: return false
            }
        }
    }
}

extension ByteBlock {
    /// `count` bytes at `offset`, within the capacity.
    fileprivate func room(at offset: Int, _ count: Int) -> UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(start: base.map { $0 + offset }, count: min(count, capacity - offset))
    }

    /// `count` bytes that lie beyond the end, at `start`, become the end.
    fileprivate mutating func moveUp(from start: Int, _ count: Int) {
        if let base { memmove(base + self.count, base + start, count) }
        extend(by: count)
    }
}
