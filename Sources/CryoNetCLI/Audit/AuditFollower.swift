// Waits for what is written to an audit file, through rotation and truncation.
// Domain: cold

import CryoIO
import CryoJSON
import Glibc

struct AuditFollower {
    private static let pollMicroseconds: UInt32 = 100_000
    private static let readBytes = 256 << 10

    private let path: String
    private var descriptor: Int32 = -1
    private var offset = 0
    private var rest: [UInt8] = []
    private var isSkipping = false
    /// The bytes before `offset`: where they are others now, the file was cut and written anew.
    private var mark: [UInt8] = []
    private static let markBytes = 64

    init(path: String) { self.path = path }

    /// The last lines that match, in their order, from a file that is open from now on: nothing is missed and nothing told twice. A file
    /// that is not there yet has none.
    mutating func begin(_ search: AuditSearch, last count: Int) throws(SystemError) -> [[UInt8]] {
        descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0 else {
            if errno == ENOENT { return [] }
            throw SystemError("can't read \(path)")
        }
        let end = size()
        offset = end
        var window = 1 << 20
        while true {
            let start = max(0, end - window)
            let (found, lineEnd) = lines(search, from: start, to: end)
            if start == 0 || found.count >= count || count == 0 {
                // A line that is only half there is told when it is whole.
                offset = lineEnd
                mark = bytesBeforeOffset()
                return Array(found.suffix(count))
            }
            window *= 8
        }
    }

    /// Matching whole lines between two places, and where the last whole line ends.
    private func lines(_ search: AuditSearch, from start: Int, to end: Int) -> ([[UInt8]], Int) {
        var bytes = [UInt8](repeating: 0, count: end - start + JSONScanner.padding)
        var filled = 0
        while filled < end - start {
            let count = bytes.withUnsafeMutableBytes {
                pread(descriptor, $0.baseAddress?.advanced(by: filled), end - start - filled, start + filled)
            }
            if count < 0, errno == EINTR { continue }
            if count <= 0 { break }
            filled += count
        }
        return bytes.withUnsafeBytes { bytes in
            let whole = bytes[..<filled].lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
            let first = start == 0 ? 0 : AuditSearch.lineEnd(bytes, from: 0).map { $0 + 1 } ?? whole
            var found: [[UInt8]] = []
            if first < whole {
                _ = search.lines(of: UnsafeRawBufferPointer(rebasing: bytes[first..<whole])) {
                    found.append(Array($0))
                    return true
                }
            }
            return (found, start + whole)
        }
    }

    private func size() -> Int {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? Int(status.st_size) : 0
    }

    /// Hands over matching lines as they come, until `take` says false.
    mutating func follow(_ search: AuditSearch, _ take: (UnsafeRawBufferPointer) -> Bool, idle: () -> Void) {
        while true {
            if descriptor >= 0 {
                let size = size()
                // Cut, and perhaps longer again by now: it begins anew.
                if size < offset || (size > offset && bytesBeforeOffset() != mark) { restart(at: 0) }
                if !readMore(search, take) { return }
            }
            if wasReplaced() {
                // What was written to the old file after the last look is still there.
                if descriptor >= 0 {
                    if !readMore(search, take) { return }
                    close(descriptor)
                }
                descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
                restart(at: 0)
                continue
            }
            idle()
            usleep(Self.pollMicroseconds)
        }
    }

    private mutating func restart(at start: Int) {
        offset = start
        rest = []
        mark = []
        isSkipping = false
    }

    private func bytesBeforeOffset() -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: min(offset, Self.markBytes))
        let start = offset - bytes.count
        let count = bytes.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, start) }
        return Array(bytes.prefix(max(0, count)))
    }

    /// The path names another file than the one that is open. While it names none, the writer has yet to make it.
    private func wasReplaced() -> Bool {
        var named = stat()
        guard stat(path, &named) == 0 else { return false }
        guard descriptor >= 0 else { return true }
        var ours = stat()
        return fstat(descriptor, &ours) == 0 && (named.st_ino != ours.st_ino || named.st_dev != ours.st_dev)
    }

    private mutating func readMore(_ search: AuditSearch, _ take: (UnsafeRawBufferPointer) -> Bool) -> Bool {
        while true {
            let start = rest.count
            rest.append(contentsOf: repeatElement(0, count: Self.readBytes))
            let count = rest.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress?.advanced(by: start), Self.readBytes, offset) }
            let isInterrupted = count < 0 && errno == EINTR
            rest.removeLast(Self.readBytes - max(0, count))
            if isInterrupted { continue }
            if count <= 0 {
                mark = bytesBeforeOffset()
                return true
            }
            offset += count
            guard let end = rest.lastIndex(of: 0x0A) else {
                if rest.count > AuditBlocks.lineBytesMax {
                    rest = []
                    isSkipping = true
                }
                continue
            }
            let skipped = isSkipping ? (rest.firstIndex(of: 0x0A) ?? end) + 1 : 0
            isSkipping = false
            let whole = Array(rest[skipped...end]) + [UInt8](repeating: 0x20, count: JSONScanner.padding)
            rest.removeSubrange(...end)
            let goesOn = whole.withUnsafeBytes {
                search.lines(of: UnsafeRawBufferPointer(rebasing: $0[..<($0.count - JSONScanner.padding)]), take)
            }
            if !goesOn { return false }
        }
    }
}
