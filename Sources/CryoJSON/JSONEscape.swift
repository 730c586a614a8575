// Owns the escaping of strings (RFC 8259 section 7) and the repair of invalid UTF-8.
// Domain: pure

package enum JSONEscape {
    /// Appends `content` as the inside of a JSON string. Escaped: quote, backslash, C0 controls, DEL, and U+2028 and
    /// U+2029, which end a line in older JavaScript. Ill-formed UTF-8 becomes U+FFFD, one per maximal part
    /// (Unicode 15, section 3.9).
    package static func append(_ content: UnsafeRawBufferPointer, to out: inout TextBuffer) {
        var runStart = 0
        var at = 0
        while at < content.count {
            if content.count - at >= 8, isPlain(content.loadUnaligned(fromByteOffset: at, as: UInt64.self)) {
                at += 8
                continue
            }
            let byte = content[at]
            if byte >= 0x20, byte < 0x7F, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") {
                at += 1
                continue
            }
            if byte >= 0x80 {
                let (length, isValid) = sequence(content, at)
                if isValid, !isLineSeparator(content, at) {
                    at += length
                    continue
                }
                out.append(UnsafeRawBufferPointer(rebasing: content[runStart..<at]))
                if isValid {
                    appendUnit(content[at + 2] == 0xA8 ? 0x2028 : 0x2029, to: &out)
                } else {
                    out.append("\u{FFFD}")
                }
                at += length
            } else {
                out.append(UnsafeRawBufferPointer(rebasing: content[runStart..<at]))
                appendEscape(byte, to: &out)
                at += 1
            }
            runStart = at
        }
        out.append(UnsafeRawBufferPointer(rebasing: content[runStart..<at]))
    }

    /// Eight bytes of ASCII none of which needs an escape. The carries of the tests may find one too many, never one too few.
    private static func isPlain(_ word: UInt64) -> Bool {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let highs: UInt64 = 0x8080_8080_8080_8080
        let quotes = word ^ ones &* 0x22
        let backslashes = word ^ ones &* 0x5C
        let deletes = word ^ ones &* 0x7F
        let control = (word &- ones &* 0x20) & ~word
        let special = (quotes &- ones) & ~quotes | (backslashes &- ones) & ~backslashes | (deletes &- ones) & ~deletes
        return (word | control | special) & highs == 0
    }

    /// True when `content` is ASCII without anything to escape, and may be copied as it is. May say false for such a text, never true
    /// for another.
    static func isPlain(_ content: UnsafeRawBufferPointer) -> Bool {
        let count = content.count
        if count >= 8 {
            var at = 0
            while at + 8 <= count {
                guard isPlain(content.loadUnaligned(fromByteOffset: at, as: UInt64.self)) else { return false }
                at += 8
            }
            // The last eight, some of them for the second time.
            return isPlain(content.loadUnaligned(fromByteOffset: count - 8, as: UInt64.self))
        }
        for byte in content where byte < 0x20 || byte >= 0x7F || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { return false }
        return true
    }

    private static func isLineSeparator(_ content: UnsafeRawBufferPointer, _ at: Int) -> Bool {
        content[at] == 0xE2 && content[at + 1] == 0x80 && content[at + 2] & 0xFE == 0xA8
    }

    /// The length of the well-formed sequence at `at`, or of the maximal ill-formed part there.
    private static func sequence(_ content: UnsafeRawBufferPointer, _ at: Int) -> (length: Int, isValid: Bool) {
        let lead = content[at]
        let need: Int
        var low: UInt8 = 0x80
        var high: UInt8 = 0xBF
        switch lead {
        case 0xC2...0xDF: need = 2
        case 0xE0...0xEF:
            need = 3
            if lead == 0xE0 { low = 0xA0 }
            if lead == 0xED { high = 0x9F }
        case 0xF0...0xF4:
            need = 4
            if lead == 0xF0 { low = 0x90 }
            if lead == 0xF4 { high = 0x8F }
        default: return (1, false)
        }
        var length = 1
        while length < need {
            guard at + length < content.count else { return (length, false) }
            let byte = content[at + length]
            guard byte >= low, byte <= high else { return (length, false) }
            low = 0x80
            high = 0xBF
            length += 1
        }
        return (need, true)
    }

    /// The content as the inside of a JSON string, on its own.
    package static func escaped(_ content: [UInt8]) -> [UInt8] {
        var out = TextBuffer()
        content.withUnsafeBytes { append($0, to: &out) }
        return out.bytes
    }

    private static func appendEscape(_ byte: UInt8, to out: inout TextBuffer) {
        let letter: UInt8
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): letter = byte
        case 0x08: letter = UInt8(ascii: "b")
        case 0x0C: letter = UInt8(ascii: "f")
        case 0x0A: letter = UInt8(ascii: "n")
        case 0x0D: letter = UInt8(ascii: "r")
        case 0x09: letter = UInt8(ascii: "t")
        default: return appendUnit(UInt16(byte), to: &out)
        }
        out.append(UInt8(ascii: "\\"))
        out.append(letter)
    }

    private static func appendUnit(_ unit: UInt16, to out: inout TextBuffer) {
        out.append(#"\u"#)
        for shift in [12, 8, 4, 0] as [UInt16] {
            let digit = UInt8(truncatingIfNeeded: unit >> shift & 0xF)
            out.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
        }
    }
}
