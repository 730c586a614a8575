// How the bytes of a text become UTF-8: by byte order mark, by the charset of Content-Type, else they are UTF-8 (RFC 8259 §8.1).
// Domain: pure

import CryoHTTP
import CryoJSON

/// What a body's text is written in. Names that nobody here reads count as UTF-8: their ASCII is the same, the rest is refused by
/// whoever wants UTF-8.
enum Charset: Equatable {
    case utf8
    case utf16(isBigEndian: Bool)
    case latin1

    /// A byte order mark wins over the name, as in browsers. `utf-16` without one is told by its first character, which is ASCII in
    /// every JSON text.
    static func of(_ body: UnsafeRawBufferPointer, _ fields: FieldSection) -> Charset {
        // A mark alone is no text at all.
        if body.count >= 4 {
            if body[0] == 0xFF, body[1] == 0xFE { return .utf16(isBigEndian: false) }
            if body[0] == 0xFE, body[1] == 0xFF { return .utf16(isBigEndian: true) }
        }
        guard let index = fields.firstIndex(of: "content-type") else { return .utf8 }
        return fields.withValue(at: index) { value in
            // The usual case, without parameters.
            if equals(value, "application/json") { return .utf8 }
            guard let name = charsetName(value) else { return .utf8 }
            if isName(name, "utf-16") { return .utf16(isBigEndian: body.first == 0) }
            if isName(name, "utf-16be") { return .utf16(isBigEndian: true) }
            if isName(name, "utf-16le") { return .utf16(isBigEndian: false) }
            if isName(name, "iso-8859-1") || isName(name, "latin1") { return .latin1 }
            return .utf8
        }
    }

    /// UTF-8 of at most twice the length; nil when the bytes are not what the charset says. Not for `utf8`, which needs no copy.
    func decoded(_ body: UnsafeRawBufferPointer) -> [UInt8]? {
        switch self {
        case .utf8: return Array(body)
        case .latin1:
            var text: [UInt8] = []
            text.reserveCapacity(body.count + body.count / 8 + JSONScanner.padding)
            for byte in body {
                if byte < 0x80 {
                    text.append(byte)
                } else {
                    text.append(0xC0 | byte >> 6)
                    text.append(0x80 | byte & 0x3F)
                }
            }
            return text
        case .utf16(let isBigEndian): return Self.fromUTF16(body, isBigEndian: isBigEndian)
        }
    }

    private static func fromUTF16(_ body: UnsafeRawBufferPointer, isBigEndian: Bool) -> [UInt8]? {
        guard body.count % 2 == 0 else { return nil }
        func unit(_ index: Int) -> UInt32 {
            let (first, second) = (UInt32(body[index]), UInt32(body[index + 1]))
            return isBigEndian ? first << 8 | second : second << 8 | first
        }
        var text: [UInt8] = []
        text.reserveCapacity(body.count * 3 / 4 + JSONScanner.padding)
        var index = 0
        while index < body.count {
            var value = unit(index)
            index += 2
            if value == 0xFEFF, index == 2 { continue }
            if 0xD800...0xDFFF ~= value {
                guard value < 0xDC00, index < body.count, 0xDC00...0xDFFF ~= unit(index) else { return nil }
                value = 0x10000 + ((value - 0xD800) << 10) + (unit(index) - 0xDC00)
                index += 2
            }
            guard let scalar = Unicode.Scalar(value), let encoded = UTF8.encode(scalar) else { return nil }
            for byte in encoded { text.append(byte) }
        }
        return text
    }

    /// The value of the first `charset` parameter, without quotes (RFC 9110 §8.3.2).
    private static func charsetName(_ value: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        let key: StaticString = "charset="
        var start = value.firstIndex(of: UInt8(ascii: ";"))
        while let semicolon = start {
            var at = semicolon + 1
            while at < value.count, value[at] == 0x20 || value[at] == 0x09 { at += 1 }
            let end = value[at...].firstIndex(of: UInt8(ascii: ";")) ?? value.count
            let length = key.utf8CodeUnitCount
            if end - at > length, equalsIgnoringCase(UnsafeRawBufferPointer(rebasing: value[at..<(at + length)]), lowercased: key.rawBytes)
            {
                var name = value[(at + length)..<end]
                while let last = name.last, last == 0x20 || last == 0x09 { name.removeLast() }
                if name.count >= 2, name.first == UInt8(ascii: "\""), name.last == UInt8(ascii: "\"") { name = name.dropFirst().dropLast() }
                return UnsafeRawBufferPointer(rebasing: name)
            }
            start = end < value.count ? end : nil
        }
        return nil
    }

    private static func isName(_ name: UnsafeRawBufferPointer, _ wanted: StaticString) -> Bool {
        equalsIgnoringCase(name, lowercased: wanted.rawBytes)
    }
}
