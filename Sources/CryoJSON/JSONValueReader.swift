// Owns the meaning of raw slices: text, integers, truth, comparison with configured scalars.
// Domain: pure

/// A value a configuration compares with. A number keeps its text, so it may have any size.
package enum JSONScalar: Sendable, Equatable {
    case number(String)
    case string([UInt8])
    case bool(Bool)
    case null
}

/// An inclusive range of numbers of any size; nil is no bound on that side.
package struct JSONNumberRange: Sendable, Equatable {
    package var lowest: String?
    package var highest: String?

    package init(lowest: String?, highest: String?) {
        self.lowest = lowest
        self.highest = highest
    }

    /// No number is within.
    package var isEmpty: Bool {
        guard let lowest, let highest else { return false }
        return Array(lowest.utf8).withUnsafeBytes { low in
            Array(highest.utf8).withUnsafeBytes { high in
                guard let low = JSONDecimal(prefixOf: low), let high = JSONDecimal(prefixOf: high) else { return false }
                return JSONDecimal.isLess(high, low)
            }
        }
    }
}

/// Reads slices of one scanned document. Valid as long as `bytes` are; slices must come from a scan of the same bytes.
package struct JSONValueReader {
    private let bytes: UnsafeRawBufferPointer

    package init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    /// The value's bytes as they stand in the document: a string with its quotes, a number's exact text.
    package func raw(_ slice: JSONSlice) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: bytes[slice.range])
    }

    /// A number's text, exactly as sent; nil for every other kind.
    package func numberText(_ slice: JSONSlice) -> UnsafeRawBufferPointer? {
        slice.kind == .number ? raw(slice) : nil
    }

    /// What stands between a string's quotes, escapes and all; nil for every other kind.
    package func rawStringContent(_ slice: JSONSlice) -> UnsafeRawBufferPointer? {
        guard slice.kind == .string, slice.range.count >= 2 else { return nil }
        return UnsafeRawBufferPointer(rebasing: bytes[(slice.range.lowerBound + 1)..<(slice.range.upperBound - 1)])
    }

    /// A string's content with escapes resolved, lone surrogates as U+FFFD; empty for every other kind.
    package func stringBytes(_ slice: JSONSlice) -> [UInt8] {
        guard let content = rawStringContent(slice) else { return [] }
        return JSONUnescape.bytes(content)
    }

    package func isNonEmptyString(_ slice: JSONSlice) -> Bool {
        slice.kind == .string && slice.range.count > 2
    }

    package func bool(_ slice: JSONSlice) -> Bool? {
        slice.kind == .bool ? bytes[slice.range.lowerBound] == UInt8(ascii: "t") : nil
    }

    /// A business code (SwiftyJSON's `int`): numbers, decimals truncated, and bools as 1 or 0. Strings only when
    /// accepted, and then only if the whole string is an integer. Nil otherwise and when it does not fit.
    package func integer(_ slice: JSONSlice, acceptStrings: Bool = false) -> Int64? {
        switch slice.kind {
        case .number: return JSONDecimal(prefixOf: raw(slice))?.truncated
        case .bool: return bool(slice) == true ? 1 : 0
        case .string where acceptStrings:
            return withContent(slice) { content in
                guard let decimal = JSONDecimal(prefixOf: content), decimal.consumed == content.count, decimal.isIntegral
                else { return nil }
                return decimal.truncated
            }
        default: return nil
        }
    }

    /// SwiftyJSON's `intValue`, which the seeds compare codes with: what is no number counts as 0, a missing member
    /// too. A string gives the decimal it begins with (`NSDecimalNumber(string:)`), after white space. Nil only when
    /// the number does not fit 64 bits: it equals no configured code, while wrapping around could equal a wrong one.
    package func seedIntValue(_ slice: JSONSlice) -> Int64? {
        switch slice.kind {
        case .missing, .null, .array, .object: return 0
        case .bool, .number: return integer(slice)
        case .string:
            return withContent(slice) { content in
                let start = content.firstIndex { $0 != 0x20 && !(0x09...0x0D).contains($0) } ?? content.count
                guard let decimal = JSONDecimal(prefixOf: UnsafeRawBufferPointer(rebasing: content[start...])) else { return 0 }
                return decimal.truncated
            }
        }
    }

    /// Truth as in JavaScript: missing, null, false, zero and the empty string are false, containers are true even
    /// when empty.
    package func isTruthy(_ slice: JSONSlice) -> Bool {
        switch slice.kind {
        case .missing, .null: false
        case .bool: bool(slice) == true
        case .number: JSONDecimal(prefixOf: raw(slice)).map { !$0.isZero } ?? false
        case .string: isNonEmptyString(slice)
        case .array, .object: true
        }
    }

    /// Whether the value is the configured one. Numbers compare by exact value: `1`, `1.0` and `10e-1` are equal, and
    /// integers of any length keep every digit. Unless `strict`, a string equals the number or bool it spells exactly (`"0"` is
    /// 0, `"00000"` and `" 0"` are not) and the other way round. A bool or null is never a number. A missing value equals nothing.
    package func equals(_ slice: JSONSlice, _ scalar: JSONScalar, strict: Bool = false) -> Bool {
        switch (slice.kind, scalar) {
        case (.null, .null):
            return true
        case (.bool, .bool(let wanted)):
            return bool(slice) == wanted
        case (.number, .number(let text)):
            return Self.withBytes(of: text) { Self.areEqualNumbers(raw(slice), $0) }
        case (.string, .string(let wanted)):
            return withContent(slice) { $0.elementsEqual(wanted) }
        default:
            return !strict && equalsCoerced(slice, scalar)
        }
    }

    /// Whether the value is a number within the range; unless `strict`, also a string that spells one.
    package func isWithin(_ slice: JSONSlice, _ range: JSONNumberRange, strict: Bool = false) -> Bool {
        switch slice.kind {
        case .number: return Self.isWithin(raw(slice), range)
        case .string where !strict: return withContent(slice) { Self.isPlainNumber($0) && Self.isWithin($0, range) }
        default: return false
        }
    }

    private static func isWithin(_ text: UnsafeRawBufferPointer, _ range: JSONNumberRange) -> Bool {
        guard let number = JSONDecimal(prefixOf: text), number.consumed == text.count else { return false }
        if let lowest = range.lowest, withBytes(of: lowest, { isBelow(number, JSONDecimal(prefixOf: $0)) }) { return false }
        if let highest = range.highest, withBytes(of: highest, { isAbove(number, JSONDecimal(prefixOf: $0)) }) { return false }
        return true
    }

    private static func isBelow(_ number: JSONDecimal, _ bound: JSONDecimal?) -> Bool {
        bound.map { JSONDecimal.isLess(number, $0) } ?? true
    }

    private static func isAbove(_ number: JSONDecimal, _ bound: JSONDecimal?) -> Bool {
        bound.map { JSONDecimal.isLess($0, number) } ?? true
    }

    /// Whether a string's content has the pattern; unless `strict`, also the text of a number or bool.
    package func matches(_ slice: JSONSlice, _ pattern: TextPattern, strict: Bool = false) -> Bool {
        switch slice.kind {
        case .string: withContent(slice) { pattern.matches($0) }
        case .number, .bool: !strict && pattern.matches(raw(slice))
        case .missing, .null, .array, .object: false
        }
    }

    private func equalsCoerced(_ slice: JSONSlice, _ scalar: JSONScalar) -> Bool {
        switch (slice.kind, scalar) {
        case (.string, .number(let text)):
            return withContent(slice) { content in Self.withBytes(of: text) { content.elementsEqual($0) } }
        case (.number, .string(let wanted)):
            return wanted.withUnsafeBytes { Self.isPlainNumber($0) && Self.areEqualNumbers(raw(slice), $0) }
        case (.string, .bool(let wanted)):
            return withContent(slice) { $0.elementsEqual((wanted ? "true" : "false").utf8) }
        case (.bool, .string(let wanted)):
            return raw(slice).elementsEqual(wanted)
        default:
            return false
        }
    }

    /// A number as JSON writes it: no leading zeros, no plus sign.
    private static func isPlainNumber(_ text: UnsafeRawBufferPointer) -> Bool {
        let digits = text.first == UInt8(ascii: "-") ? UnsafeRawBufferPointer(rebasing: text.dropFirst()) : text
        guard let first = digits.first, first &- UInt8(ascii: "0") < 10 else { return false }
        return first != UInt8(ascii: "0") || digits.count == 1 || digits[1] &- UInt8(ascii: "0") >= 10
    }

    /// `left` is a number of the body.
    private static func areEqualNumbers(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
        // The usual case: one digit, and the same one.
        if left.count == 1, right.count == 1, left[0] == right[0] { return true }
        guard let leftDecimal = JSONDecimal(prefixOf: left), leftDecimal.consumed == left.count,
            let rightDecimal = JSONDecimal(prefixOf: right), rightDecimal.consumed == right.count
        else { return false }
        return JSONDecimal.areEqual(leftDecimal, rightDecimal)
    }

    /// Native strings lend their bytes without a copy.
    private static func withBytes<Result>(of text: String, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        if let result = text.utf8.withContiguousStorageIfAvailable({ body(UnsafeRawBufferPointer($0)) }) { return result }
        return Array(text.utf8).withUnsafeBytes(body)
    }

    /// The unescaped content of a string; copied only when it holds an escape.
    private func withContent<Result>(_ slice: JSONSlice, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        guard let content = rawStringContent(slice), !content.contains(UInt8(ascii: "\\")) else {
            return stringBytes(slice).withUnsafeBytes(body)
        }
        return body(content)
    }
}
