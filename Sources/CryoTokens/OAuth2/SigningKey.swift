// A private key that signs JWTs (RFC 7518 §3.3 and §3.4), in OpenSSL's hands.
// Domain: cold

import COpenSSL
import CryoPipeline

final class SigningKey {
    private let key: OpaquePointer
    private let isElliptic: Bool

    /// Half an ES256 signature.
    private static let coordinateBytes = 32

    /// PEM text of an RSA key of 2048 bits or more, or of a P-256 key, without a passphrase.
    init(_ pem: Secret) throws(SourceTrouble) {
        let found = pem.withBytes { bytes -> OpaquePointer? in
            // The BIO reads where the bytes lie.
            bytes.withUnsafeBytes { buffer in
                guard let bio = BIO_new_mem_buf(buffer.baseAddress, Int32(clamping: buffer.count)) else { return nil }
                defer { BIO_free(bio) }
                // Without a callback of our own OpenSSL would ask for a passphrase on the terminal.
                return PEM_read_bio_PrivateKey(bio, nil, { _, _, _, _ in -1 }, nil)
            }
        }
        ERR_clear_error()
        guard let found else { throw SourceTrouble(.keyUnusable, "private_key is no PEM key without passphrase") }
        isElliptic = EVP_PKEY_is_a(found, "EC") == 1
        key = found
        let bits = EVP_PKEY_get_bits(found)
        let isFit = isElliptic ? Self.isP256(found) : EVP_PKEY_is_a(found, "RSA") == 1 && bits >= 2048
        guard isFit else {
            // From here on the deinitializer frees it.
            throw SourceTrouble(.keyUnusable, "private_key is neither an RSA key of 2048 bits or more nor a P-256 key")
        }
    }

    deinit { EVP_PKEY_free(key) }

    var algorithm: String { isElliptic ? "ES256" : "RS256" }

    func sign(_ text: [UInt8]) throws(SourceTrouble) -> [UInt8] {
        guard let signature = signature(of: text), let encoded = isElliptic ? Self.coordinates(of: signature) : signature else {
            ERR_clear_error()
            throw SourceTrouble(.keyUnusable, "private_key can't sign")
        }
        return encoded
    }

    private func signature(of text: [UInt8]) -> [UInt8]? {
        guard let context = EVP_MD_CTX_new() else { return nil }
        defer { EVP_MD_CTX_free(context) }
        guard EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key) == 1 else { return nil }
        var count = 0
        guard EVP_DigestSign(context, nil, &count, text, text.count) == 1 else { return nil }
        var signature = [UInt8](repeating: 0, count: count)
        guard EVP_DigestSign(context, &signature, &count, text, text.count) == 1 else { return nil }
        return Array(signature.prefix(count))
    }

    private static func isP256(_ key: OpaquePointer) -> Bool {
        var name = [CChar](repeating: 0, count: 64)
        var count = 0
        guard EVP_PKEY_get_group_name(key, &name, name.count, &count) == 1, count < name.count else { return false }
        return name.prefix(count).elementsEqual("prime256v1".utf8.map { CChar($0) })
    }

    /// OpenSSL writes ECDSA signatures in DER, JWS wants the two numbers side by side (RFC 7518 §3.4).
    private static func coordinates(of der: [UInt8]) -> [UInt8]? {
        der.withUnsafeBufferPointer { buffer -> [UInt8]? in
            var start = buffer.baseAddress
            guard let signature = d2i_ECDSA_SIG(nil, &start, buffer.count) else { return nil }
            defer { ECDSA_SIG_free(signature) }
            var text = [UInt8](repeating: 0, count: coordinateBytes * 2)
            let isWritten = text.withUnsafeMutableBufferPointer { text in
                let count = Int32(coordinateBytes)
                return BN_bn2binpad(ECDSA_SIG_get0_r(signature), text.baseAddress, count) == count
                    && BN_bn2binpad(ECDSA_SIG_get0_s(signature), text.baseAddress?.advanced(by: coordinateBytes), count) == count
            }
            return isWritten ? text : nil
        }
    }
}
