// Owns bytes as hexadecimal digits, and the way back.
// Domain: pure

/// Two digits for each byte, in lower case.
package enum Hexadecimal {
    private static let digits: StaticString = "0123456789abcdef"

    package static func digits(of bytes: some Collection<UInt8>) -> [UInt8] {
        let table = digits.utf8Start
        return [UInt8](unsafeUninitializedCapacity: 2 * bytes.count) { text, count in
            for byte in bytes {
                text[count] = table[Int(byte >> 4)]
                text[count + 1] = table[Int(byte & 15)]
                count += 2
            }
        }
    }

    /// 16 digits, the highest first.
    package static func digits(of number: UInt64) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { digits(of: $0) } }

    package static func text(_ bytes: some Collection<UInt8>) -> String { String(decoding: digits(of: bytes), as: UTF8.self) }

    /// nil unless all of it is pairs of digits, in either case.
    package static func bytes(_ text: some Collection<UInt8>) -> [UInt8]? {
        guard text.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count / 2)
        var high: UInt8?
        for digit in text {
            guard let value = value(digit) else { return nil }
            if let first = high {
                bytes.append(first << 4 | value)
                high = nil
            } else {
                high = value
            }
        }
        return bytes
    }

    private static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case 0x30...0x39: digit - 0x30
        case 0x61...0x66: digit - 0x61 + 10
        case 0x41...0x46: digit - 0x41 + 10
        default: nil
        }
    }
}
