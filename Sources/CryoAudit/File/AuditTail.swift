// What a new process finds at the end of an audit file: the head of its chain, and half a line where one was killed.
// Domain: cold

import Glibc

struct AuditTail {
    /// Of the last line that carries a chain.
    var head: ChainHead?
    /// Bytes after the last line end.
    var tornBytes = 0

    /// The end of a file is read in steps of this, four times as much each time a line is longer.
    private static let firstBytes = 64 << 10

    init() {}

    /// Of a file that is written plainly. Nothing when it can't be read, or is no regular file.
    init(ofFile path: String) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size > 0 else { return }
        let size = Int(status.st_size)
        var length = Self.firstBytes
        while true {
            let count = min(length, size)
            var bytes = [UInt8](repeating: 0, count: count)
            guard pread(descriptor, &bytes, count, size - count) == count else { return }
            take(bytes)
            if head != nil || count == size || length > AuditReader.lineBytesMax { return }
            length *= 4
        }
    }

    /// Of a file that may be compressed, read from its beginning.
    init(ofCompressed path: String) {
        guard let reader = try? ChainReader(path: path) else { return }
        while let line = try? reader.line() {
            if case .whole(let bytes) = line, let found = ChainLine(bytes) { head = found.head }
        }
    }

    private mutating func take(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { bytes in
            var end = bytes.lastIndex(of: 0x0A)
            tornBytes = bytes.count - (end.map { $0 + 1 } ?? 0)
            // Foreign lines are passed over: the chain goes on behind them, and they stay behind as what they are.
            while let lineEnd = end, head == nil {
                let before = bytes[..<lineEnd].lastIndex(of: 0x0A)
                head = ChainLine(UnsafeRawBufferPointer(rebasing: bytes[(before.map { $0 + 1 } ?? 0)..<lineEnd]))?.head
                end = before
            }
        }
    }
}
