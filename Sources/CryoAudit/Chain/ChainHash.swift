// The hash that ties a record to the one before it: SHA-256, in OpenSSL's hands.
// Domain: cold (one queue or thread)

import COpenSSL
package import CryoJSON

/// 32 bytes, written as 64 hexadecimal digits.
package struct ChainHash: Sendable, Equatable {
    package static let digits = 64
    package var bytes = SIMD32<UInt8>(repeating: 0)

    package init() {}

    /// nil unless the text is 64 small hexadecimal digits.
    package init?(_ text: UnsafeRawBufferPointer) {
        guard text.count == Self.digits else { return nil }
        for index in 0..<32 {
            guard let high = Self.value(text[index * 2]), let low = Self.value(text[index * 2 + 1]) else { return nil }
            bytes[index] = high << 4 | low
        }
    }

    /// Four bytes at a time: each half of a byte gets a byte of its own, and all eight become digits at once.
    package func append(to text: inout TextBuffer) {
        withUnsafeBytes(of: bytes) { bytes in
            text.append(upTo: Self.digits) { digits in
                for index in 0..<8 {
                    var halves = UInt64(UInt32(littleEndian: bytes.load(fromByteOffset: 4 * index, as: UInt32.self)))
                    halves = (halves | halves << 16) & 0x0000_FFFF_0000_FFFF
                    halves = (halves | halves << 8) & 0x00FF_00FF_00FF_00FF
                    halves = (halves >> 4 | halves << 8) & 0x0F0F_0F0F_0F0F_0F0F
                    // One in each half above nine: these are letters, 0x27 behind the digits.
                    let letters = (halves &+ 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
                    let spelled = halves &+ 0x3030_3030_3030_3030 &+ letters &* 0x27
                    UnsafeMutableRawPointer(digits + 8 * index).storeBytes(of: spelled.littleEndian, as: UInt64.self)
                }
                return Self.digits
            }
        }
    }

    package var text: String {
        var digits = TextBuffer()
        append(to: &digits)
        return String(decoding: digits.bytes, as: UTF8.self)
    }

    private static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case 0x30...0x39: digit - 0x30
        case 0x61...0x66: digit - 0x61 + 10
        default: nil
        }
    }
}

/// Where a chain stands: the last record's number, counted from 1, and its hash.
package struct ChainHead: Sendable, Equatable {
    package var sequence: UInt64 = 0
    package var hash = ChainHash()

    package init() {}

    /// `N:HASH`, as a verification prints it.
    package init?(_ text: String) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let sequence = UInt64(parts[0]) else { return nil }
        guard let hash = Array(parts[1].utf8).withUnsafeBytes({ ChainHash($0) }) else { return nil }
        self.init(sequence: sequence, hash: hash)
    }

    package init(sequence: UInt64, hash: ChainHash) {
        self.sequence = sequence
        self.hash = hash
    }
}

/// Keeps OpenSSL's context and its choice of implementation, which cost more than the hash of a record.
final class ChainHasher {
    private let context: OpaquePointer
    private let algorithm: OpaquePointer

    /// nil when OpenSSL has no memory, or no SHA-256.
    init?() {
        guard let algorithm = EVP_MD_fetch(nil, "SHA256", nil) else { return nil }
        guard let context = EVP_MD_CTX_new() else {
            EVP_MD_free(algorithm)
            return nil
        }
        self.algorithm = algorithm
        self.context = context
    }

    deinit {
        EVP_MD_CTX_free(context)
        EVP_MD_free(algorithm)
    }

    /// SHA-256 of the hash before and the text. Zeros if OpenSSL fails, which no chain passes for.
    func hash(after previous: ChainHash, _ text: UnsafeRawBufferPointer) -> ChainHash {
        var result = ChainHash()
        let isDone = withUnsafeBytes(of: previous.bytes) { previous in
            EVP_DigestInit_ex(context, algorithm, nil) == 1 && EVP_DigestUpdate(context, previous.baseAddress, 32) == 1
                && EVP_DigestUpdate(context, text.baseAddress, text.count) == 1
        }
        guard isDone else { return ChainHash() }
        let isFinal = withUnsafeMutableBytes(of: &result.bytes) { bytes in
            EVP_DigestFinal_ex(context, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), nil) == 1
        }
        return isFinal ? result : ChainHash()
    }
}
