// Compresses a file into another, as gzip.
// Domain: cold (the sweeper's queue)

import CISAL
import CryoIO
import Glibc

/// By ISA-L's first level. A busy gateway compresses as much as it writes: zlib's first level was tried and took six times as long for a
/// file that is larger by an eighth.
struct GzipFile: ~Copyable {
    private static let chunkBytes = 256 << 10

    private let stream: UnsafeMutablePointer<isal_zstream>
    private let levelMemory: UnsafeMutablePointer<UInt8>
    private let input: UnsafeMutablePointer<UInt8>
    private let output: UnsafeMutablePointer<UInt8>

    private init() {
        stream = .allocate(capacity: 1)
        levelMemory = .allocate(capacity: Int(CRYO_ISAL_LEVEL_BYTES))
        input = .allocate(capacity: Self.chunkBytes)
        output = .allocate(capacity: Self.chunkBytes)
        isal_deflate_init(stream)
        stream.pointee.level = 1
        stream.pointee.level_buf = levelMemory
        stream.pointee.level_buf_size = UInt32(CRYO_ISAL_LEVEL_BYTES)
        stream.pointee.gzip_flag = UInt16(IGZIP_GZIP)
        stream.pointee.flush = UInt16(NO_FLUSH)
    }

    deinit {
        output.deallocate()
        input.deallocate()
        levelMemory.deallocate()
        stream.deallocate()
    }

    /// Everything from `source` on to its end, as one stream at the end of `target`.
    static func copy(_ source: Int32, compressedTo target: Int32) throws(SystemError) {
        let file = GzipFile()
        var isAtEnd = false
        while !isAtEnd {
            let count = read(source, file.input, chunkBytes)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw SystemError("read") }
            isAtEnd = count == 0
            try file.compress(count, isLast: isAtEnd, to: target)
        }
    }

    private func compress(_ count: Int, isLast: Bool, to target: Int32) throws(SystemError) {
        stream.pointee.next_in = input
        stream.pointee.avail_in = UInt32(count)
        stream.pointee.end_of_stream = isLast ? 1 : 0
        // More is to come as long as it fills what it is given.
        repeat {
            stream.pointee.next_out = output
            stream.pointee.avail_out = UInt32(Self.chunkBytes)
            guard isal_deflate(stream) == COMP_OK else { throw SystemError("compress", code: EIO) }
            try write(Self.chunkBytes - Int(stream.pointee.avail_out), to: target)
        } while stream.pointee.avail_out == 0
    }

    private func write(_ count: Int, to target: Int32) throws(SystemError) {
        var written = 0
        while written < count {
            let more = Glibc.write(target, output + written, count - written)
            if more < 0, errno == EINTR { continue }
            guard more > 0 else { throw SystemError("write", code: more < 0 ? errno : EIO) }
            written += more
        }
    }
}
