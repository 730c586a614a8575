// Owns the resolution of string escapes (RFC 8259 section 7).
// Domain: pure

enum JSONUnescape {
    /// `content` without its quotes. What is no valid escape (impossible after a scan) becomes U+FFFD.
    static func bytes(_ content: UnsafeRawBufferPointer) -> [UInt8] {
        var out: [UInt8] = []
        out.reserveCapacity(content.count)
        var runStart = 0
        var at = 0
        while at < content.count {
            guard content[at] == UInt8(ascii: "\\") else {
                at += 1
                continue
            }
            out.append(contentsOf: content[runStart..<at])
            append(scalar(content, &at), to: &out)
            runStart = at
        }
        out.append(contentsOf: content[runStart..<at])
        return out
    }

    private static let replacement: UInt32 = 0xFFFD

    /// Decodes the escape at `at` and moves past it.
    private static func scalar(_ content: UnsafeRawBufferPointer, _ at: inout Int) -> UInt32 {
        guard at + 1 < content.count else {
            at = content.count
            return replacement
        }
        let letter = content[at + 1]
        guard letter == UInt8(ascii: "u") else {
            at += 2
            return simple(letter)
        }
        guard let high = unit(content, at) else {
            at += 2
            return replacement
        }
        at += 6
        guard (0xD800...0xDFFF).contains(high) else { return high }
        guard high < 0xDC00, let low = unit(content, at), (0xDC00...0xDFFF).contains(low) else { return replacement }
        at += 6
        return 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00)
    }

    private static func simple(_ letter: UInt8) -> UInt32 {
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): UInt32(letter)
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "f"): 0x0C
        case UInt8(ascii: "n"): 0x0A
        case UInt8(ascii: "r"): 0x0D
        case UInt8(ascii: "t"): 0x09
        default: replacement
        }
    }

    /// The code unit of a `\uXXXX` at `at`.
    private static func unit(_ content: UnsafeRawBufferPointer, _ at: Int) -> UInt32? {
        guard at + 6 <= content.count, content[at] == UInt8(ascii: "\\"), content[at + 1] == UInt8(ascii: "u") else { return nil }
        var value: UInt32 = 0
        for byte in content[(at + 2)..<(at + 6)] {
            let letter = (byte | 0x20) &- UInt8(ascii: "a")
            if byte &- UInt8(ascii: "0") < 10 {
                value = value << 4 | UInt32(byte - UInt8(ascii: "0"))
            } else if letter < 6 {
                value = value << 4 | UInt32(letter + 10)
            } else {
                return nil
            }
        }
        return value
    }

    private static func append(_ value: UInt32, to out: inout [UInt8]) {
        guard let scalar = Unicode.Scalar(value) else { return }
        for byte in UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter { out.append(byte) }
    }
}
