// Reads audit files in large blocks of whole lines, plain or gzip.
// Domain: cold

import CCoding
import CryoIO
import CryoJSON
import Glibc

/// A block is valid until the next one is asked for. ``JSONScanner/padding`` bytes beyond it are readable.
final class AuditBlocks {
    /// Read at once; a longer line makes the buffer grow.
    static let blockBytes = 1 << 20
    /// A longer line is passed over.
    static let lineBytesMax = 16 << 20

    private let descriptor: Int32
    private var buffer: UnsafeMutableRawBufferPointer
    /// What of the buffer was handed out, and what is filled.
    private var taken = 0
    private var filled = 0
    private var isAtEnd = false
    private var isSkipping = false
    private var inflation: Inflation?
    private var isFirst = true

    /// `-` is standard input.
    init(path: String, offset: Int = 0) throws(SystemError) {
        descriptor = path == "-" ? dup(0) : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0 else { throw SystemError("can't read \(path)") }
        buffer = .allocate(byteCount: Self.blockBytes + JSONScanner.padding, alignment: 64)
        if offset > 0 { lseek(descriptor, offset, SEEK_SET) }
    }

    deinit {
        close(descriptor)
        buffer.deallocate()
    }

    /// Why the file ended before its end; what came before was handed out.
    private(set) var failure: SystemError?

    /// Lines with their line ends; the last line of a file may lack its own. nil at the end.
    func next() -> UnsafeRawBufferPointer? {
        while true {
            moveRestToStart()
            if !isAtEnd { fill() }
            let end = isAtEnd ? filled : lastLineEnd()
            if let end, end > 0 {
                let start = isSkipping ? skippedEnd(end) : 0
                taken = end
                if let start, start < end { return UnsafeRawBufferPointer(rebasing: buffer[start..<end]) }
            } else if isAtEnd {
                return nil
            } else if filled >= Self.lineBytesMax {
                isSkipping = true
                taken = filled
            } else if filled == capacity {
                grow()
            }
        }
    }

    /// The two may overlap.
    private func moveRestToStart() {
        if let base = buffer.baseAddress, taken > 0 { base.copyMemory(from: base + taken, byteCount: filled - taken) }
        filled -= taken
        taken = 0
    }

    private var capacity: Int { buffer.count - JSONScanner.padding }

    /// After a line that was too long: where the next one begins.
    private func skippedEnd(_ end: Int) -> Int? {
        guard let feed = buffer[..<end].firstIndex(of: 0x0A) else { return nil }
        isSkipping = false
        return feed + 1
    }

    private func lastLineEnd() -> Int? { buffer[..<filled].lastIndex(of: 0x0A).map { $0 + 1 } }

    private func grow() {
        let larger = UnsafeMutableRawBufferPointer.allocate(byteCount: capacity * 2 + JSONScanner.padding, alignment: 64)
        larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: buffer[..<filled]))
        buffer.deallocate()
        buffer = larger
    }

    private func fill() {
        let room = UnsafeMutableRawBufferPointer(rebasing: buffer[filled..<capacity])
        guard !room.isEmpty else { return }
        let count = inflation.map { $0.read(into: room) } ?? readPlain(into: room)
        if count <= 0 {
            if count < 0 { failure = inflation?.failure ?? SystemError("read") }
            isAtEnd = true
        } else {
            filled += count
        }
        guard isFirst, count > 1 else { return }
        isFirst = false
        // gzip begins with these two bytes, a line never does.
        guard inflation == nil, buffer[0] == 0x1F, buffer[1] == 0x8B else { return }
        inflation = Inflation(Array(buffer[..<filled]), descriptor)
        filled = 0
        isAtEnd = false
        fill()
    }

    private func readPlain(into room: UnsafeMutableRawBufferPointer) -> Int {
        var count: Int
        repeat { count = read(descriptor, room.baseAddress, room.count) } while count < 0 && errno == EINTR
        return count
    }
}

/// A gzip stream, of one or several members.
private final class Inflation {
    private let stream: UnsafeMutablePointer<z_stream>
    private let descriptor: Int32
    private var input: [UInt8]
    private var next = 0
    private var isBetweenMembers = false
    private let isReady: Bool
    private(set) var failure: SystemError?

    init(_ begun: [UInt8], _ descriptor: Int32) {
        input = begun
        self.descriptor = descriptor
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        isReady = cryo_inflate_init(stream, 15 + 16) == Z_OK
    }

    deinit {
        if isReady { inflateEnd(stream) }
        stream.deallocate()
    }

    /// 0 at the end, -1 for what is broken or cut.
    func read(into room: UnsafeMutableRawBufferPointer) -> Int {
        guard isReady else { return fail(ENOMEM) }
        while true {
            if next == input.count, !refill() { return isBetweenMembers ? 0 : fail(EBADMSG) }
            if next == input.count { return isBetweenMembers ? 0 : fail(EBADMSG) }
            var produced = 0
            let status = input.withUnsafeMutableBytes { bytes -> Int32 in
                stream.pointee.next_in = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self).advanced(by: next)
                stream.pointee.avail_in = UInt32(bytes.count - next)
                stream.pointee.next_out = room.baseAddress?.assumingMemoryBound(to: UInt8.self)
                stream.pointee.avail_out = UInt32(clamping: room.count)
                let status = inflate(stream, Z_NO_FLUSH)
                next = bytes.count - Int(stream.pointee.avail_in)
                produced = room.count - Int(stream.pointee.avail_out)
                return status
            }
            isBetweenMembers = status == Z_STREAM_END
            guard status == Z_OK || status == Z_STREAM_END || status == Z_BUF_ERROR else { return fail(EBADMSG) }
            if isBetweenMembers { inflateReset(stream) }
            if produced > 0 { return produced }
        }
    }

    private func fail(_ code: Int32) -> Int {
        failure = SystemError("the gzip data is broken or cut", code: code)
        return -1
    }

    private func refill() -> Bool {
        input = [UInt8](repeating: 0, count: 256 << 10)
        next = 0
        var count: Int
        repeat {
            count = input.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
        } while count < 0 && errno == EINTR
        input.removeLast(input.count - max(0, count))
        return count > 0
    }
}
