// SHA-256 over bytes that come in pieces, in OpenSSL's hands.
// Domain: worker

import COpenSSL

package final class SHA256Digest {
    private static let bytes = 32
    private let context: OpaquePointer

    /// nil when OpenSSL has no memory.
    package init?() {
        guard let context = EVP_MD_CTX_new() else { return nil }
        self.context = context
        if EVP_DigestInit_ex(context, EVP_sha256(), nil) != 1 { return nil }
    }

    deinit { EVP_MD_CTX_free(context) }

    package func update(_ bytes: UnsafeRawBufferPointer) { _ = EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) }

    /// 32 bytes; empty when OpenSSL failed. Nothing can be added afterwards.
    package func finish() -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: Self.bytes)
        return EVP_DigestFinal_ex(context, &digest, nil) == 1 ? digest : []
    }
}
