// The Ed25519 key that signs checkpoints: from a PEM file (0600), made when there is none.
// Domain: cold

import COpenSSL
package import CryoIO
import Glibc

package enum CheckpointKeyError: Error, CustomStringConvertible {
    case system(SystemError, path: String)
    case unusable(path: String)

    package var description: String {
        switch self {
        case .system(let error, let path): "the audit's signing key \(path): \(error)"
        case .unusable(let path): "the audit's signing key \(path) is no PEM of an Ed25519 key without passphrase"
        }
    }
}

package final class CheckpointKey {
    package static let publicBytes = 32
    static let signatureBytes = 64
    /// A PEM of such a key has some 120 bytes.
    private static let fileBytesMax = 16_384

    private let key: OpaquePointer

    private init(_ key: OpaquePointer) { self.key = key }

    deinit { EVP_PKEY_free(key) }

    /// The key in `path`; a new one, written there with 0600, when there is no such file.
    package static func open(_ path: String) throws(CheckpointKeyError) -> CheckpointKey {
        if access(path, F_OK) != 0, errno == ENOENT { return try make(path) }
        return try read(path)
    }

    package static func read(_ path: String) throws(CheckpointKeyError) -> CheckpointKey {
        let pem = try contents(of: path)
        let found = pem.withUnsafeBytes { bytes -> OpaquePointer? in
            guard let bio = BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count)) else { return nil }
            defer { BIO_free(bio) }
            // Without a callback of our own OpenSSL would ask for a passphrase on the terminal.
            return PEM_read_bio_PrivateKey(bio, nil, { _, _, _, _ in -1 }, nil)
        }
        ERR_clear_error()
        guard let found else { throw .unusable(path: path) }
        let key = CheckpointKey(found)
        guard EVP_PKEY_is_a(found, "ED25519") == 1 else { throw .unusable(path: path) }
        return key
    }

    private static func make(_ path: String) throws(CheckpointKeyError) -> CheckpointKey {
        guard let context = EVP_PKEY_CTX_new_from_name(nil, "ED25519", nil) else { throw .unusable(path: path) }
        defer { EVP_PKEY_CTX_free(context) }
        var made: OpaquePointer?
        guard EVP_PKEY_keygen_init(context) == 1, EVP_PKEY_generate(context, &made) == 1, let made else { throw .unusable(path: path) }
        let key = CheckpointKey(made)
        try write(key.pem(isPrivate: true), to: path)
        return key
    }

    func sign(_ text: [UInt8]) -> [UInt8]? {
        guard let context = EVP_MD_CTX_new() else { return nil }
        defer { EVP_MD_CTX_free(context) }
        var count = Self.signatureBytes
        var signature = [UInt8](repeating: 0, count: count)
        guard EVP_DigestSignInit(context, nil, nil, nil, key) == 1,
            EVP_DigestSign(context, &signature, &count, text, text.count) == 1, count == Self.signatureBytes
        else { return nil }
        return signature
    }

    /// The 32 bytes others verify with.
    package var publicKey: [UInt8] {
        var count = Self.publicBytes
        var bytes = [UInt8](repeating: 0, count: count)
        return EVP_PKEY_get_raw_public_key(key, &bytes, &count) == 1 && count == Self.publicBytes ? bytes : []
    }

    package var publicPEM: String { String(decoding: pem(isPrivate: false), as: UTF8.self) }

    private func pem(isPrivate: Bool) -> [UInt8] {
        guard let bio = BIO_new(BIO_s_mem()) else { return [] }
        defer { BIO_free(bio) }
        let isWritten = isPrivate ? PEM_write_bio_PrivateKey(bio, key, nil, nil, 0, nil, nil) : PEM_write_bio_PUBKEY(bio, key)
        var start: UnsafeMutablePointer<CChar>?
        let count = cryo_bio_contents(bio, &start)
        guard isWritten == 1, count > 0, let start else { return [] }
        return Array(UnsafeRawBufferPointer(start: start, count: count))
    }

    // MARK: Files

    static func contents(of path: String) throws(CheckpointKeyError) -> [UInt8] {
        let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else { throw .system(SystemError("open"), path: path) }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: fileBytesMax)
        let count = bytes.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
        guard count >= 0 else { throw .system(SystemError("read"), path: path) }
        return Array(bytes[..<count])
    }

    private static func write(_ pem: [UInt8], to path: String) throws(CheckpointKeyError) {
        let descriptor = Glibc.open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw .system(SystemError("open"), path: path) }
        defer { close(descriptor) }
        let count = pem.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
        guard !pem.isEmpty, count == pem.count, fsync(descriptor) == 0 else {
            let failure = SystemError("write")
            unlink(path)
            throw .system(failure, path: path)
        }
    }
}

/// Verifies checkpoints offline.
package final class CheckpointVerifier {
    private let key: OpaquePointer

    deinit { EVP_PKEY_free(key) }

    package init?(publicKey: [UInt8]) {
        guard publicKey.count == CheckpointKey.publicBytes,
            let key = EVP_PKEY_new_raw_public_key_ex(nil, "ED25519", nil, publicKey, publicKey.count)
        else { return nil }
        self.key = key
    }

    /// PEM of a public key, or of the private one.
    package init(file path: String) throws(CheckpointKeyError) {
        let pem = try CheckpointKey.contents(of: path)
        let found = pem.withUnsafeBytes { bytes -> OpaquePointer? in
            guard let bio = BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count)) else { return nil }
            defer { BIO_free(bio) }
            return PEM_read_bio_PUBKEY(bio, nil, { _, _, _, _ in -1 }, nil)
        }
        ERR_clear_error()
        guard let found else {
            let key = try CheckpointKey.read(path)
            guard let raw = EVP_PKEY_new_raw_public_key_ex(nil, "ED25519", nil, key.publicKey, key.publicKey.count) else {
                throw .unusable(path: path)
            }
            self.key = raw
            return
        }
        key = found
        guard EVP_PKEY_is_a(found, "ED25519") == 1 else { throw .unusable(path: path) }
    }

    func accepts(_ signature: [UInt8], of text: [UInt8]) -> Bool {
        guard let context = EVP_MD_CTX_new() else { return false }
        defer {
            EVP_MD_CTX_free(context)
            ERR_clear_error()
        }
        return EVP_DigestVerifyInit(context, nil, nil, nil, key) == 1
            && EVP_DigestVerify(context, signature, signature.count, text, text.count) == 1
    }
}
