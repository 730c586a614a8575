// Owns the quoting of words for a POSIX shell.
// Domain: pure

package enum ShellText {
    /// One word that a POSIX shell reads as exactly these bytes. Control characters (also those of C1, and marks that turn the
    /// direction of text) are spelled with printf, so that a terminal which shows the command takes no order from it. There must be
    /// no NUL, which no argument can hold: it is left out.
    package static func quoted(_ bytes: some Collection<UInt8>) -> [UInt8] {
        let bytes = Array(bytes).filter { $0 != 0 }
        if !bytes.isEmpty, bytes.allSatisfy(isPlain), bytes[0] != UInt8(ascii: "-"), bytes[0] != UInt8(ascii: "=") { return bytes }
        var text: [UInt8] = [quote]
        var index = 0
        while index < bytes.count {
            let hidden = unprintable(bytes, at: index)
            if hidden > 0 {
                text += Array("'\"$(printf '".utf8)
                for byte in bytes[index..<index + hidden] { text += octal(byte) }
                text += Array("')\"'".utf8)
                index += hidden
                continue
            }
            if bytes[index] == quote { text += Array("'\\''".utf8) } else { text.append(bytes[index]) }
            index += 1
        }
        text.append(quote)
        return text
    }

    package static func quoted(_ text: String) -> [UInt8] { quoted(text.utf8) }

    /// The argument of `printf %b` that prints exactly these bytes, NUL too, as one word of the shell.
    package static func printfArgument(_ bytes: [UInt8]) -> [UInt8] {
        var text: [UInt8] = [quote]
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            let hidden = byte == 0 ? 1 : unprintable(bytes, at: index)
            if hidden > 0 || byte == UInt8(ascii: "\\") || byte == quote {
                for byte in bytes[index..<index + max(hidden, 1)] { text += Array("\\0".utf8) + octal(byte).dropFirst() }
                index += max(hidden, 1)
            } else {
                text.append(byte)
                index += 1
            }
        }
        text.append(quote)
        return text
    }

    private static let quote = UInt8(ascii: "'")

    private static func isPlain(_ byte: UInt8) -> Bool {
        (byte | 0x20) &- 0x61 < 26 || byte &- 0x30 < 10 || "%+,-./:=@_".utf8.contains(byte)
    }

    /// How many bytes from here on are a character that is not to be shown; 0 for all others. A line feed and a tab are what they are.
    private static func unprintable(_ bytes: [UInt8], at index: Int) -> Int {
        let byte = bytes[index]
        if byte == 0x0A || byte == 0x09 { return 0 }
        if byte < 0x20 || byte == 0x7F { return 1 }
        return HiddenCharacter.length(bytes, at: index)
    }

    private static func octal(_ byte: UInt8) -> [UInt8] {
        [UInt8(ascii: "\\"), 0x30 + (byte >> 6), 0x30 + (byte >> 3 & 7), 0x30 + (byte & 7)]
    }
}

/// Characters beyond ASCII that a terminal obeys instead of showing them.
enum HiddenCharacter {
    /// 2 or 3 for one that begins here, else 0: C1 controls, line separators, marks and overrides of direction, invisible joiners.
    static func length(_ bytes: [UInt8], at index: Int) -> Int {
        let rest = bytes[index...].prefix(3)
        let second = rest.count > 1 ? rest[index + 1] : 0
        let third = rest.count > 2 ? rest[index + 2] : 0
        switch bytes[index] {
        case 0xC2 where second &- 0x80 < 0x20: return 2
        case 0xD8 where second == 0x9C: return 2
        // U+200B–200F, U+2028–202E, U+2060–206F.
        case 0xE2 where second == 0x80 && ((0x8B...0x8F).contains(third) || (0xA8...0xAE).contains(third)): return 3
        case 0xE2 where second == 0x81 && (0xA0...0xAF).contains(third): return 3
        // U+FEFF
        case 0xEF where second == 0xBB && third == 0xBF: return 3
        // Bytes that are no UTF-8 where they stand: a terminal of another encoding may take them for C1.
        case 0x80...0x9F: return isContinuation(bytes, at: index) ? 0 : 1
        default: return 0
        }
    }

    private static func isContinuation(_ bytes: [UInt8], at index: Int) -> Bool {
        var back = index
        while back > 0, index - back < 3, bytes[back] & 0xC0 == 0x80 { back -= 1 }
        let lead = bytes[back]
        let length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC2 ? 2 : 0
        return index - back < length
    }
}
