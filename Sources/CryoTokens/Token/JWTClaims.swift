// Reads when a token that is a JWT ends. Nothing is verified: the issuer is the one that was asked, and the upstream judges.
// Domain: pure

import CryoPipeline

enum JWTClaims {
    /// A longer token is not looked into.
    static let tokenBytesMax = 16_384

    /// `exp` (RFC 7519 §4.1.4) in seconds since 1970, fractions cut off; nil when the token is no JWT or has none.
    static func expiry(of token: [UInt8]) -> Int64? {
        guard token.count <= tokenBytesMax else { return nil }
        let parts = token.split(separator: 0x2E, omittingEmptySubsequences: false)
        guard parts.count == 3, let claims = Base64URL.decode(parts[1]) else { return nil }
        return JSONMembers(claims, names: ["exp"])?.seconds(0)
    }
}

/// RFC 4648 §5 without padding.
enum Base64URL {
    static func encode(_ bytes: [UInt8]) -> [UInt8] {
        bytes.withUnsafeBytes { Base64.encode($0) }.compactMap { byte in
            switch byte {
            case 0x2B: 0x2D
            case 0x2F: 0x5F
            case 0x3D: nil
            default: byte
            }
        }
    }

    static func decode(_ text: some Sequence<UInt8>) -> [UInt8]? {
        var bytes: [UInt8] = []
        var group: UInt32 = 0
        var bits = 0
        for byte in text {
            guard let value = value(of: byte) else { return nil }
            group = group << 6 | value
            bits += 6
            guard bits >= 8 else { continue }
            bits -= 8
            bytes.append(UInt8(truncatingIfNeeded: group >> UInt32(bits)))
        }
        return bits == 6 ? nil : bytes
    }

    private static func value(of byte: UInt8) -> UInt32? {
        switch byte {
        case 0x41...0x5A: UInt32(byte - 0x41)
        case 0x61...0x7A: UInt32(byte - 0x61 + 26)
        case 0x30...0x39: UInt32(byte - 0x30 + 52)
        case 0x2D: 62
        case 0x5F: 63
        default: nil
        }
    }
}
