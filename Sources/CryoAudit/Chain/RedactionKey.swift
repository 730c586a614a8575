// The key with which hidden values get marks: the same value the same mark, and nobody without the key can tell which value.
// Domain: shared (immutable)

import COpenSSL
package import CryoIO
import CryoJSON
import Glibc

package struct RedactionKey: Sendable {
    private static let bytes = 32
    /// Half a SHA-256: enough to tell values apart, and short.
    private static let markBytes = 16
    private let key: [UInt8]

    /// The key in `path`; a new one, written there with 0600, when there is no such file and one is wanted.
    package init(_ path: String, makes: Bool) throws(SystemError) {
        if makes {
            let made = Glibc.open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
            if made >= 0 {
                defer { close(made) }
                key = try Self.make(made, path)
                return
            }
            if errno != EEXIST { throw SystemError("open") }
        }
        let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else { throw SystemError("open") }
        defer { close(descriptor) }
        var found = [UInt8](repeating: 0, count: Self.bytes + 1)
        let count = found.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
        guard count >= 0 else { throw SystemError("read") }
        guard count == Self.bytes else { throw SystemError("a key has \(Self.bytes) bytes", code: EINVAL) }
        key = Array(found[..<count])
    }

    private static func make(_ descriptor: Int32, _ path: String) throws(SystemError) -> [UInt8] {
        var key = [UInt8](repeating: 0, count: bytes)
        let isRandom = RAND_bytes(&key, Int32(bytes)) == 1
        let written = isRandom ? key.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) } : -1
        guard written == bytes, fsync(descriptor) == 0 else {
            let failure = SystemError("write")
            unlink(path)
            throw failure
        }
        return key
    }

    /// `hmac:` and 32 digits of HMAC-SHA256; `***` should OpenSSL fail.
    package func mark(of value: UnsafeRawBufferPointer) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 32)
        var count = 0
        let isDone = EVP_Q_mac(
            nil, "HMAC", nil, "SHA256", nil, key, key.count, value.baseAddress?.assumingMemoryBound(to: UInt8.self), value.count, &digest,
            digest.count, &count)
        guard isDone != nil, count == digest.count else { return Array("***".utf8) }
        return Array("hmac:\(Hexadecimal.text(digest.prefix(Self.markBytes)))".utf8)
    }
}
