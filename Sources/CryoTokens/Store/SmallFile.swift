// Reads whole small files, and only regular ones: a pipe or a device would block or never end.
// Domain: cold

import CryoIO
import Glibc

enum SmallFileRead {
    case bytes([UInt8], mode: UInt32)
    case missing
    case notRegular
    case tooLarge
    case failed(SystemError)
}

enum SmallFile {
    static func read(_ path: String, bytesMax: Int) -> SmallFileRead {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        if descriptor < 0 { return errno == ENOENT || errno == ENOTDIR ? .missing : .failed(SystemError("open")) }
        defer { close(descriptor) }
        var status = stat()
        if fstat(descriptor, &status) != 0 { return .failed(SystemError("fstat")) }
        guard status.st_mode & S_IFMT == S_IFREG else { return .notRegular }
        // One byte more than allowed, so that a file that grows while it is read is found out too.
        var bytes = [UInt8](repeating: 0, count: bytesMax + 1)
        var filled = 0
        while filled < bytes.count {
            let count = bytes.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress?.advanced(by: filled), $0.count - filled) }
            if count < 0, errno == EINTR { continue }
            if count < 0 { return .failed(SystemError("read")) }
            if count == 0 { break }
            filled += count
        }
        guard filled <= bytesMax else { return .tooLarge }
        bytes.removeLast(bytes.count - filled)
        return .bytes(bytes, mode: UInt32(status.st_mode & 0o7777))
    }
}
