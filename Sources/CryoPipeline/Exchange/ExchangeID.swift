// Identifiers of exchanges: ULIDs, 48 bits of milliseconds and 80 bits of chance in Crockford's base 32. Sort by time as text.
// Domain: pure

/// Kept as its text, in place: an exchange is seldom asked for anything else.
package struct ExchangeID: Sendable {
    package static let bytesCount = 26
    private var text = InlineArray<26, UInt8>(repeating: 0x30)

    /// Of chance, the lower 40 bits of each number.
    package init(unixMicroseconds: Int64, randomHigh: UInt64, randomLow: UInt64) {
        let time = UInt64(max(0, unixMicroseconds / 1000))
        withUnsafeMutableBytes(of: &text) { text in
            // Two digits for the upper ten bits of the time, then three times eight.
            text[0] = Self.digit(time >> 45)
            text[1] = Self.digit(time >> 40)
            text.storeBytes(of: Self.digits(time), toByteOffset: 2, as: UInt64.self)
            text.storeBytes(of: Self.digits(randomHigh), toByteOffset: 10, as: UInt64.self)
            text.storeBytes(of: Self.digits(randomLow), toByteOffset: 18, as: UInt64.self)
        }
    }

    package static func make(unixMicroseconds: Int64, randomHigh: UInt64, randomLow: UInt64) -> [UInt8] {
        ExchangeID(unixMicroseconds: unixMicroseconds, randomHigh: randomHigh, randomLow: randomLow).bytes
    }

    package var bytes: [UInt8] { withBytes { Array($0) } }

    @inline(__always)
    package func withBytes<R>(_ body: (UnsafeRawBufferPointer) -> R) -> R { withUnsafeBytes(of: text, body) }

    private static let alphabet: StaticString = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

    /// The lower five bits.
    private static func digit(_ number: UInt64) -> UInt8 { alphabet.utf8Start[Int(number & 31)] }

    /// The lower 40 bits as eight digits of five bits, the highest first in memory. All eight at once: the bits are spread over the bytes
    /// by halves, and each step of the alphabet is added to the bytes that have reached it.
    private static func digits(_ number: UInt64) -> UInt64 {
        var spread = (number & 0xF_FFFF) | (number >> 20 & 0xF_FFFF) << 32
        spread = (spread & 0x0000_03FF_0000_03FF) | (spread & 0x000F_FC00_000F_FC00) << 6
        spread = (spread & 0x001F_001F_001F_001F) | (spread & 0x03E0_03E0_03E0_03E0) << 3
        let ones: UInt64 = 0x0101_0101_0101_0101
        func reached(_ digit: UInt64) -> UInt64 { (spread &+ ones &* (0x80 - digit)) >> 7 & ones }
        // Letters begin at 10; I, L, O and U are left out.
        let letters = reached(10) &* (0x41 - 0x3A)
        let skipped = reached(18) &+ reached(20) &+ reached(22) &+ reached(27)
        return (spread &+ ones &* 0x30 &+ letters &+ skipped).bigEndian
    }

    /// A client's X-Request-Id is kept when it is short and plain.
    package static func isAcceptable(_ value: UnsafeRawBufferPointer) -> Bool {
        guard !value.isEmpty, value.count <= 128 else { return false }
        return value.allSatisfy { byte in
            (byte | 0x20) &- 0x61 < 26 || byte &- 0x30 < 10 || byte == 0x2D || byte == 0x5F || byte == 0x2E || byte == 0x3A
        }
    }
}
