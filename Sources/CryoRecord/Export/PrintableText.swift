// Makes text of strangers safe to show on a terminal.
// Domain: pure

package enum PrintableText {
    /// Control characters and others a terminal obeys become `\n`, `\x1b`, `\u{202e}`: seen, and without effect. Line feeds and tabs
    /// stay where `keepsLines` is set.
    package static func text(_ text: String, keepsLines: Bool = false) -> String {
        let bytes = Array(text.utf8)
        let isPlain = bytes.indices.allSatisfy { index in
            bytes[index] >= 0x20 && bytes[index] != 0x7F && (bytes[index] < 0x80 || HiddenCharacter.length(bytes, at: index) == 0)
        }
        if isPlain { return text }
        var shown = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\n", "\t":
                if keepsLines { shown.unicodeScalars.append(scalar) } else { shown += scalar == "\n" ? "\\n" : "\\t" }
            case "\r": shown += "\\r"
            default:
                let bytes = Array(String(scalar).utf8)
                if scalar.value < 0x20 || scalar.value == 0x7F {
                    let digits = String(scalar.value, radix: 16)
                    shown += "\\x" + (digits.count < 2 ? "0" : "") + digits
                } else if HiddenCharacter.length(bytes, at: 0) > 0 {
                    shown += "\\u{" + String(scalar.value, radix: 16) + "}"
                } else {
                    shown.unicodeScalars.append(scalar)
                }
            }
        }
        return shown
    }
}
