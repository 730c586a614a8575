// What may be told of a command's standard error: its last line, short, without anything that looks like a secret.
// Domain: pure

import CryoPipeline

enum CommandErrors {
    /// Bytes of a line that are told.
    static let excerptBytesMax = 200
    /// Letters and digits in a row that may be a key, a token or a hash.
    private static let wordBytesMin = 16
    private static let mask = Array("***".utf8)

    /// nil when there is nothing to tell. `secrets` are those the command was given and those in use.
    static func excerpt(of errors: [UInt8], secrets: [Secret]) -> String? {
        let lines = errors.split { $0 == 0x0A || $0 == 0x0D }
        guard var line = lines.last(where: { $0.contains { $0 > 0x20 } }).map({ Array($0) }) else { return nil }
        Redactor(RedactionSettings(), credentials: [], secrets: secrets).scrub(&line)
        var text: [UInt8] = []
        var isNamed = false
        for word in line.map({ $0 < 0x20 || $0 == 0x7F ? 0x20 : $0 }).split(separator: 0x20) {
            if !text.isEmpty { text.append(0x20) }
            text.append(contentsOf: isNamed || looksSecret(word) ? mask[...] : word)
            isNamed = namesSecret(word)
        }
        let cut = String(decoding: text.prefix(excerptBytesMax), as: UTF8.self)
        return text.count > excerptBytesMax ? cut + "…" : cut
    }

    /// A long run of characters that tokens are made of, or a value behind the name of a secret in the same word.
    private static func looksSecret(_ word: ArraySlice<UInt8>) -> Bool {
        if let mark = word.firstIndex(where: { $0 == 0x3D || $0 == 0x3A }), mark + 1 < word.endIndex, namesSecret(word[...mark]) {
            return true
        }
        var run = 0
        for byte in word {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2B, 0x2D, 0x2E, 0x2F, 0x5F, 0x7E, 0x25: run += 1
            default: run = 0
            }
            if run >= wordBytesMin { return true }
        }
        return false
    }

    private static let names = [
        "password", "passwd", "passphrase", "secret", "token", "key", "bearer", "basic", "authorization", "credential",
    ]

    private static func namesSecret(_ word: ArraySlice<UInt8>) -> Bool {
        let lowered = String(decoding: word, as: UTF8.self).lowercased()
        return names.contains { name in lowered.hasSuffix(name) || lowered.hasSuffix(name + ":") || lowered.hasSuffix(name + "=") }
    }
}
