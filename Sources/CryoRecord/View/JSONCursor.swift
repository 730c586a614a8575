// Owns the walk through members and elements of a JSON value in a record's line.
// Domain: pure

package import CryoJSON

/// Walks one level of an object or an array. Made for lines a ``JSONScanner`` has checked; on any other bytes it ends early and
/// stays within them.
package struct JSONCursor {
    private let bytes: UnsafeRawBufferPointer
    private var at: Int
    private let end: Int

    /// The inside of the container at `slice`; nothing for any other value.
    package init(_ bytes: UnsafeRawBufferPointer, inside slice: JSONSlice) {
        self.bytes = bytes
        let isContainer = (slice.kind == .object || slice.kind == .array) && slice.range.count >= 2
        at = isContainer ? slice.range.lowerBound + 1 : 0
        end = isContainer ? min(slice.range.upperBound - 1, bytes.count) : 0
    }

    /// The whole text as one value.
    static func root(_ bytes: UnsafeRawBufferPointer) -> JSONSlice {
        guard let first = bytes.firstIndex(where: { $0 > 0x20 }), let last = bytes.lastIndex(where: { $0 > 0x20 }) else { return .missing }
        return JSONSlice(kind: kind(bytes[first]), range: first..<last + 1)
    }

    /// The next member of an object.
    package mutating func member() -> (key: JSONSlice, value: JSONSlice)? {
        guard let key = element(), key.kind == .string, let value = element() else { return nil }
        return (key, value)
    }

    /// The next element of an array.
    package mutating func element() -> JSONSlice? {
        while at < end, bytes[at] <= 0x20 || bytes[at] == UInt8(ascii: ",") || bytes[at] == UInt8(ascii: ":") { at += 1 }
        guard at < end else { return nil }
        let start = at
        let kind = Self.kind(bytes[start])
        skipValue()
        return JSONSlice(kind: kind, range: start..<at)
    }

    private static func kind(_ byte: UInt8) -> JSONKind {
        switch byte {
        case UInt8(ascii: "{"): .object
        case UInt8(ascii: "["): .array
        case UInt8(ascii: "\""): .string
        case UInt8(ascii: "t"), UInt8(ascii: "f"): .bool
        case UInt8(ascii: "n"): .null
        default: .number
        }
    }

    private mutating func skipValue() {
        var depth = 0
        repeat {
            switch bytes[at] {
            case UInt8(ascii: "\""): skipString()
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                at += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                at += 1
            case UInt8(ascii: ","), UInt8(ascii: ":"), 0...0x20: at += 1
            default: skipScalar()
            }
        } while depth > 0 && at < end
    }

    private mutating func skipScalar() {
        while at < end {
            switch bytes[at] {
            case UInt8(ascii: ","), UInt8(ascii: "}"), UInt8(ascii: "]"), UInt8(ascii: ":"), 0...0x20: return
            default: at += 1
            }
        }
    }

    private mutating func skipString() {
        at += 1
        while at < end {
            let byte = bytes[at]
            at += 1
            if byte == UInt8(ascii: "\"") { return }
            if byte == UInt8(ascii: "\\") { at = min(at + 1, end) }
        }
    }
}
