// Reads audit files for verification, compressed or not, a line at a time and without copying it.
// Domain: cold

import CCoding
import CryoIO
import Glibc

final class ChainReader {
    enum Line {
        /// Valid until the next call.
        case whole(UnsafeRawBufferPointer)
        /// What comes after the last line end of a file.
        case torn(UnsafeRawBufferPointer)
        /// Longer than `AuditReader.lineBytesMax`; passed over.
        case tooLong
    }

    private static let chunkBytes = 256 << 10

    private let file: gzFile
    private var buffer: UnsafeMutableRawBufferPointer
    private var next = 0
    private var end = 0
    private var isAtEnd = false
    /// Lines given out so far.
    private(set) var number: UInt64 = 0

    init(path: String) throws(SystemError) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0 else { throw SystemError("open") }
        guard let file = gzdopen(descriptor, "rb") else {
            close(descriptor)
            throw SystemError("open", code: ENOMEM)
        }
        gzbuffer(file, UInt32(Self.chunkBytes))
        self.file = file
        buffer = .allocate(byteCount: Self.chunkBytes * 2, alignment: 16)
    }

    deinit {
        gzclose(file)
        buffer.deallocate()
    }

    /// nil at the end. A line lies in `buffer`, which the next call may move.
    func line() throws(SystemError) -> Line? {
        var searched = next
        var isSkipping = false
        while true {
            if end > searched, let base = UnsafeRawPointer(buffer.baseAddress), let place = memchr(base + searched, 0x0A, end - searched) {
                let found = UnsafeRawPointer(place) - base
                let line = next..<found
                next = found + 1
                number += 1
                if isSkipping { return .tooLong }
                return .whole(pointer(to: line))
            }
            if isAtEnd {
                guard end > next || isSkipping else { return nil }
                let line = next..<end
                next = end
                number += 1
                return isSkipping ? .tooLong : .torn(pointer(to: line))
            }
            searched = end
            if end - next > AuditReader.lineBytesMax {
                isSkipping = true
                next = end
            }
            try fill(&searched)
        }
    }

    private func pointer(to range: Range<Int>) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[range])
    }

    private func fill(_ searched: inout Int) throws(SystemError) {
        guard let base = buffer.baseAddress else { throw SystemError("read", code: ENOMEM) }
        if next > 0, buffer.count - end < Self.chunkBytes {
            memmove(base, base + next, end - next)
            searched -= next
            end -= next
            next = 0
        }
        if buffer.count - end < Self.chunkBytes {
            let larger = UnsafeMutableRawBufferPointer.allocate(byteCount: buffer.count * 2, alignment: 16)
            larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[..<end]))
            buffer.deallocate()
            buffer = larger
        }
        let count = gzread(file, buffer.baseAddress.map { $0 + end }, UInt32(Self.chunkBytes))
        guard count >= 0 else { throw SystemError("read", code: EIO) }
        if count == 0 { isAtEnd = true }
        end += Int(count)
    }
}
