// SHA-256 of bytes that come in pieces, and HMAC-SHA256 of bytes that are all there, by OpenSSL.
// Domain: worker

import COpenSSL

/// Memory that OpenSSL could not get is no digest, never a wrong one.
package final class SHA256Stream {
    private var context: OpaquePointer?

    package init() {
        context = EVP_MD_CTX_new()
        if EVP_DigestInit_ex(context, EVP_sha256(), nil) != 1 { discard() }
    }

    deinit { discard() }

    package func update(_ bytes: UnsafeRawBufferPointer) {
        guard let context, !bytes.isEmpty else { return }
        if EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) != 1 { discard() }
    }

    /// The digest, once; nil where something went wrong on the way.
    package func finish() -> [UInt8]? {
        guard let context else { return nil }
        defer { discard() }
        var digest = [UInt8](repeating: 0, count: 32)
        var count: UInt32 = 0
        guard EVP_DigestFinal_ex(context, &digest, &count) == 1, count == 32 else { return nil }
        return digest
    }

    private func discard() {
        EVP_MD_CTX_free(context)
        context = nil
    }
}

package enum HMACSHA256 {
    package static func code(of bytes: [UInt8], key: [UInt8]) -> [UInt8]? {
        var code = [UInt8](repeating: 0, count: 32)
        var count: UInt32 = 0
        guard HMAC(EVP_sha256(), key, Int32(clamping: key.count), bytes, bytes.count, &code, &count) != nil, count == 32 else { return nil }
        return code
    }
}

package enum Base64Text {
    /// RFC 4648 §4 with its padding; nil when it is anything else.
    package static func decoded(_ text: [UInt8]) -> [UInt8]? {
        guard !text.isEmpty, text.count % 4 == 0 else { return nil }
        let padding = text.reversed().prefix { $0 == 0x3D }.count
        // OpenSSL itself also takes spaces and line ends around it.
        let isPlain = text.dropLast(padding).allSatisfy {
            ($0 | 0x20) &- 0x61 < 26 || $0 &- 0x30 < 10 || $0 == 0x2B || $0 == 0x2F
        }
        guard padding <= 2, isPlain else { return nil }
        var bytes = [UInt8](repeating: 0, count: text.count / 4 * 3)
        let count = EVP_DecodeBlock(&bytes, text, Int32(clamping: text.count))
        guard count == Int32(bytes.count) else { return nil }
        return Array(bytes.dropLast(padding))
    }
}
