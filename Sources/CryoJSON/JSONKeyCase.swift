// Owns the change of member names from snake_case to camelCase within a JSON text, everything else byte for byte.
// Domain: pure

package enum JSONKeyCase {
    /// The names as Swift's `convertFromSnakeCase` has them: `user_name` is `userName`, `user_ID` is `userId`, underscores at either
    /// end stay (`_id`), a name without any between letters stays as it is. ASCII letters change case, others do not. A name that
    /// holds an escape stays too. Names that become equal stay both: the last one counts, as everywhere.
    ///
    /// `text` must be valid JSON. The result is never longer.
    package static func camelCased(_ text: UnsafeRawBufferPointer) -> [UInt8] {
        var out: [UInt8] = []
        out.reserveCapacity(text.count)
        var at = 0
        var copied = 0
        while let quote = text[at...].firstIndex(of: UInt8(ascii: "\"")) {
            let end = stringEnd(text, after: quote)
            at = end
            guard isName(text, after: end) else { continue }
            out.append(contentsOf: text[copied...quote])
            append(UnsafeRawBufferPointer(rebasing: text[(quote + 1)..<max(quote + 1, end - 1)]), to: &out)
            copied = max(quote + 1, end - 1)
        }
        out.append(contentsOf: text[copied...])
        return out
    }

    /// The position behind the closing quote.
    private static func stringEnd(_ text: UnsafeRawBufferPointer, after quote: Int) -> Int {
        var at = quote + 1
        while at < text.count, text[at] != UInt8(ascii: "\"") { at += text[at] == UInt8(ascii: "\\") ? 2 : 1 }
        return min(at + 1, text.count)
    }

    /// In valid JSON a string before a colon is a name, and only that.
    private static func isName(_ text: UnsafeRawBufferPointer, after end: Int) -> Bool {
        var at = end
        while at < text.count, text[at] == 0x20 || (0x09...0x0D).contains(text[at]) { at += 1 }
        return at < text.count && text[at] == UInt8(ascii: ":")
    }

    private static func append(_ name: UnsafeRawBufferPointer, to out: inout [UInt8]) {
        let underscore = UInt8(ascii: "_")
        guard let first = name.firstIndex(where: { $0 != underscore }), let last = name.lastIndex(where: { $0 != underscore }),
            name[first...last].contains(underscore), !name.contains(UInt8(ascii: "\\"))
        else { return out.append(contentsOf: name) }
        out.append(contentsOf: name[..<first])
        var startsWord = false
        for byte in name[first...last] {
            if byte == underscore {
                startsWord = true
            } else {
                out.append(startsWord ? upper(byte) : lower(byte))
                startsWord = false
            }
        }
        out.append(contentsOf: name[(last + 1)...])
    }

    private static func lower(_ byte: UInt8) -> UInt8 { byte &- UInt8(ascii: "A") < 26 ? byte | 0x20 : byte }
    private static func upper(_ byte: UInt8) -> UInt8 { byte &- UInt8(ascii: "a") < 26 ? byte & 0xDF : byte }
}
