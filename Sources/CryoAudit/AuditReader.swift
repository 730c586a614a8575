// Reads an audit file line by line, and says which lines can't be records.
// Domain: cold

package import CryoIO
import Glibc

package enum AuditLine: Sendable, Equatable {
    case record([UInt8])
    /// Not an object from brace to brace: a line that was cut, as the last one of a file may be.
    case torn([UInt8])
    /// Longer than `AuditReader.lineBytesMax`; skipped.
    case tooLong
}

package struct AuditReader: ~Copyable {
    package static let lineBytesMax = 16 << 20
    private static let chunkBytes = 64 << 10

    private let descriptor: Int32
    private var buffer: [UInt8] = []
    private var next = 0
    private var isAtEnd = false
    private var isSkipping = false

    package init(path: String) throws(SystemError) {
        descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw SystemError("open") }
    }

    deinit { close(descriptor) }

    /// nil at the end. Empty lines are passed over.
    package mutating func line() throws(SystemError) -> AuditLine? {
        var searched = next
        while true {
            if let end = buffer[searched...].firstIndex(of: 0x0A) {
                let line = Array(buffer[next..<end])
                next = end + 1
                searched = next
                if isSkipping {
                    isSkipping = false
                    return .tooLong
                }
                if !line.isEmpty { return Self.judge(line) }
                continue
            }
            if isAtEnd {
                let line = Array(buffer[next...])
                next = buffer.count
                if isSkipping {
                    isSkipping = false
                    return .tooLong
                }
                return line.isEmpty ? nil : Self.judge(line)
            }
            buffer.removeFirst(next)
            next = 0
            if buffer.count > Self.lineBytesMax {
                buffer.removeAll(keepingCapacity: true)
                isSkipping = true
            }
            searched = buffer.count
            try fill()
        }
    }

    private mutating func fill() throws(SystemError) {
        let start = buffer.count
        buffer.append(contentsOf: repeatElement(0, count: Self.chunkBytes))
        var count: Int
        repeat {
            count = buffer.withUnsafeMutableBytes { read(descriptor, $0.baseAddress?.advanced(by: start), Self.chunkBytes) }
        } while count < 0 && errno == EINTR
        let failure = SystemError("read")
        buffer.removeLast(Self.chunkBytes - max(count, 0))
        if count < 0 { throw failure }
        if count == 0 { isAtEnd = true }
    }

    private static func judge(_ line: [UInt8]) -> AuditLine {
        line.first == 0x7B && line.last == 0x7D ? .record(line) : .torn(line)
    }
}
