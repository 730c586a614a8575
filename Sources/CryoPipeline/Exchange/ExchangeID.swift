// Identifiers of exchanges: ULIDs, 48 bits of milliseconds and 80 bits of chance in Crockford's base 32. Sort by time as text.
// Domain: pure

package enum ExchangeID {
    package static let bytesCount = 26

    package static func make(unixMicroseconds: Int64, randomHigh: UInt64, randomLow: UInt64) -> [UInt8] {
        let alphabet: StaticString = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
        var id = [UInt8](repeating: 0x30, count: bytesCount)
        var time = UInt64(max(0, unixMicroseconds / 1000))
        for index in stride(from: 9, through: 0, by: -1) {
            id[index] = alphabet.utf8Start[Int(time & 31)]
            time >>= 5
        }
        var chance = randomHigh
        for index in 10..<18 {
            id[index] = alphabet.utf8Start[Int(chance & 31)]
            chance >>= 5
        }
        chance = randomLow
        for index in 18..<26 {
            id[index] = alphabet.utf8Start[Int(chance & 31)]
            chance >>= 5
        }
        return id
    }

    /// A client's X-Request-Id is kept when it is short and plain.
    package static func isAcceptable(_ value: UnsafeRawBufferPointer) -> Bool {
        guard !value.isEmpty, value.count <= 128 else { return false }
        return value.allSatisfy { byte in
            (byte | 0x20) &- 0x61 < 26 || byte &- 0x30 < 10 || byte == 0x2D || byte == 0x5F || byte == 0x2E || byte == 0x3A
        }
    }
}
