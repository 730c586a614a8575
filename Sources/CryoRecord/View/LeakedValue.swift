// The spellings in which a secret that got into an audit file may stand there.
// Domain: pure

import CryoHTTP
package import CryoJSON

package struct LeakedValue: Sendable {
    package struct Form: Sendable {
        package let name: String
        package let needle: ByteNeedle
    }

    /// Shorter values turn up by chance.
    package static let bytesMin = 6

    package let forms: [Form]

    /// nil for a value that is too short to be looked for. `mark` makes what the audit writes in the place of a value where it hides
    /// values by a keyed digest.
    package init?(_ value: [UInt8], mark: (([UInt8]) -> [UInt8])? = nil) {
        guard value.count >= Self.bytesMin else { return nil }
        var forms: [Form] = []
        func add(_ name: String, _ spelled: [UInt8], ignoresCase: Bool = false) {
            let needle = ByteNeedle(spelled, ignoresCase: ignoresCase)
            if spelled.count >= Self.bytesMin, !forms.contains(where: { $0.needle == needle }) {
                forms.append(Form(name: name, needle: needle))
            }
        }
        let once = JSONEscape.escaped(value)
        // A record is JSON, and a body within it may be JSON once more.
        add("raw", once)
        add("raw", value)
        add("json", JSONEscape.escaped(once))
        // Some writers put a backslash before a slash too.
        let slashed = once.flatMap { $0 == 0x2F ? [0x5C, 0x2F] : [$0] }
        add("json", slashed)
        add("json", JSONEscape.escaped(slashed))
        let percent = percentEncoded(value)
        if percent != value {
            add("url", percent)
            add("url", lowercasedEscapes(percent))
            add("form", Self.plusForSpace(percent))
        }
        // Within a longer text a value may begin at any of three places of a group.
        for shift in 0..<3 {
            let (plain, url) = Self.base64(value, shift: shift)
            add("base64", plain)
            add("base64url", url)
        }
        if let mark {
            // What was hidden is what stood there, in whatever spelling.
            let base64 = Array(Self.base64(value, shift: 0).plain.prefix(value.count / 3 * 4))
            for spelled in [value, once, slashed, percent, lowercasedEscapes(percent), Self.plusForSpace(percent), base64] {
                add("hmac", mark(spelled))
            }
        }
        add("hex", Hexadecimal.digits(of: value), ignoresCase: true)
        self.forms = forms
    }

    private static func plusForSpace(_ encoded: [UInt8]) -> [UInt8] {
        var form: [UInt8] = []
        var index = 0
        while index < encoded.count {
            let isSpace = encoded[index...].starts(with: "%20".utf8)
            form.append(isSpace ? 0x2B : encoded[index])
            index += isSpace ? 3 : 1
        }
        return form
    }

    /// The characters that depend on the value alone when `shift` bytes stand in front of it in its group of three.
    private static func base64(_ value: [UInt8], shift: Int) -> (plain: [UInt8], url: [UInt8]) {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        let bytes = [UInt8](repeating: 0, count: shift) + value
        var plain: [UInt8] = []
        var bits: UInt32 = 0
        var count = 0
        for byte in bytes {
            bits = bits << 8 | UInt32(byte)
            count += 8
            while count >= 6 {
                count -= 6
                plain.append(alphabet[Int(bits >> UInt32(count) & 63)])
            }
        }
        // One byte in front touches two characters, two touch three.
        plain.removeFirst(shift == 0 ? 0 : shift + 1)
        return (plain, plain.map { $0 == 0x2B ? 0x2D : $0 == 0x2F ? 0x5F : $0 })
    }
}
