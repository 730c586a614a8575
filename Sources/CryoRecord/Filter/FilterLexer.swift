// Cuts a filter's text into parentheses, words of logic, conditions and free words.
// Domain: pure

enum FilterOperator: String, Sendable, CaseIterable {
    case notEqual = "!="
    case notContains = "!~"
    case atLeast = ">="
    case atMost = "<="
    case equal = "="
    case above = ">"
    case below = "<"
    case contains = "~"
}

struct FilterValue: Equatable {
    let bytes: [UInt8]
    /// Quoted text has no wildcards and no alternatives.
    let isQuoted: Bool
    let column: Int
}

enum FilterToken: Equatable {
    case open, close, not, and, or
    case condition(field: String, FilterOperator, FilterValue)
    case word([UInt8])
}

struct FilterLexer {
    private let bytes: [UInt8]
    private var at = 0
    /// Columns of a part of another filter count from there.
    private let columnBefore: Int

    init(_ text: some Collection<UInt8>, columnBefore: Int = 0) {
        bytes = Array(text)
        self.columnBefore = columnBefore
    }

    /// Characters before the byte at `index`, plus one: continuation bytes of UTF-8 do not count.
    private func column(_ index: Int) -> Int { columnBefore + 1 + bytes[..<min(index, bytes.count)].count { $0 & 0xC0 != 0x80 } }

    private func fail(_ index: Int, _ message: String) -> FilterError { FilterError(column: column(index), message: message) }

    mutating func next() throws(FilterError) -> (token: FilterToken, column: Int)? {
        skipSpaces()
        guard at < bytes.count else { return nil }
        let start = column(at)
        return (try token(), start)
    }

    /// Where the text ends.
    var endColumn: Int { column(bytes.count) }

    private mutating func token() throws(FilterError) -> FilterToken {
        switch bytes[at] {
        case UInt8(ascii: "("):
            at += 1
            return .open
        case UInt8(ascii: ")"):
            at += 1
            return .close
        case UInt8(ascii: "'"):
            return .word(try quoted())
        case UInt8(ascii: "\""):
            return try doubleQuoted()
        case UInt8(ascii: "-") where at + 1 < bytes.count && bytes[at + 1] > 0x20:
            at += 1
            return .not
        case UInt8(ascii: "!") where operatorHere(at) == nil:
            at += 1
            return .not
        default: break
        }
        if let sign = operatorHere(at) {
            throw fail(at, "\(sign.rawValue) needs a field before it, as in status\(sign.rawValue)…")
        }
        if let condition = try condition() { return condition }
        return word()
    }

    /// A field's name with an operator behind it; spaces may stand around the operator where the name is a field's.
    private mutating func condition() throws(FilterError) -> FilterToken? {
        let start = at
        var nameEnd = at
        while nameEnd < bytes.count, Self.isNameByte(bytes[nameEnd]) { nameEnd += 1 }
        let name = String(decoding: bytes[start..<nameEnd], as: UTF8.self)
        guard nameEnd > start else { return nil }
        let isField = FilterField.named(name) != nil
        var signStart = nameEnd
        if isField { while signStart < bytes.count, bytes[signStart] <= 0x20 { signStart += 1 } }
        guard let sign = operatorHere(signStart) else { return nil }
        // `http://a?b=c` is no condition, and neither is what stands behind a sign no name can hold.
        at = signStart + sign.rawValue.utf8.count
        // What other languages write for equality.
        if sign == .equal, at < bytes.count, bytes[at] == UInt8(ascii: "=") { at += 1 }
        if isField { skipSpaces() }
        return .condition(field: name, sign, try value(after: "\(name)\(sign.rawValue)"))
    }

    private mutating func value(after what: String) throws(FilterError) -> FilterValue {
        let start = column(at)
        if at < bytes.count, bytes[at] == UInt8(ascii: "\"") || bytes[at] == UInt8(ascii: "'") {
            let text = try quoted()
            if at < bytes.count, bytes[at] > 0x20, bytes[at] != UInt8(ascii: ")") {
                throw fail(at, "a space or the end must follow a quoted value")
            }
            return FilterValue(bytes: text, isQuoted: true, column: start)
        }
        let text = bareText()
        guard !text.isEmpty else { throw fail(at, "\(what) needs a value; \"\" is the empty one") }
        return FilterValue(bytes: text, isQuoted: false, column: start)
    }

    /// `"path~/news"`: double quotes hold a condition with spaces together, as in a shell. What is none is text.
    private mutating func doubleQuoted() throws(FilterError) -> FilterToken {
        let start = column(at)
        let text = try quoted()
        let name = text.prefix(while: Self.isNameByte)
        guard !name.isEmpty, FilterField.named(String(decoding: name, as: UTF8.self)) != nil else { return .word(text) }
        let inner = FilterLexer(text, columnBefore: start)
        guard let sign = inner.operatorHere(name.count) else { return .word(text) }
        let value = Array(text.dropFirst(name.count + sign.rawValue.utf8.count))
        let valueColumn = inner.column(text.count - value.count)
        guard !value.isEmpty else { throw FilterError(column: valueColumn, message: "\(sign.rawValue) needs a value") }
        return .condition(
            field: String(decoding: name, as: UTF8.self), sign, FilterValue(bytes: value, isQuoted: false, column: valueColumn))
    }

    /// The content of the quotes that open here. In double quotes `\` takes the next character as it is.
    private mutating func quoted() throws(FilterError) -> [UInt8] {
        let start = at
        let quote = bytes[at]
        var text: [UInt8] = []
        at += 1
        while at < bytes.count, bytes[at] != quote {
            if bytes[at] == UInt8(ascii: "\\"), quote == UInt8(ascii: "\""), at + 1 < bytes.count { at += 1 }
            text.append(bytes[at])
            at += 1
        }
        guard at < bytes.count else { throw fail(start, "this quote is never closed") }
        at += 1
        return text
    }

    private mutating func word() -> FilterToken {
        let text = bareText()
        switch String(decoding: text, as: UTF8.self).lowercased() {
        case "or", "||": return .or
        case "and", "&&": return .and
        case "not": return .not
        default: return .word(text)
        }
    }

    /// Up to a space or a parenthesis. Parentheses that open and close within belong to it.
    private mutating func bareText() -> [UInt8] {
        let start = at
        var depth = 0
        while at < bytes.count, bytes[at] > 0x20 {
            if bytes[at] == UInt8(ascii: "(") { depth += 1 }
            if bytes[at] == UInt8(ascii: ")") {
                if depth == 0 { break }
                depth -= 1
            }
            at += 1
        }
        return Array(bytes[start..<at])
    }

    private mutating func skipSpaces() { while at < bytes.count, bytes[at] <= 0x20 { at += 1 } }

    private func operatorHere(_ index: Int) -> FilterOperator? {
        guard index < bytes.count else { return nil }
        return FilterOperator.allCases.first { bytes[index...].starts(with: $0.rawValue.utf8) }
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        (byte | 0x20) &- 0x61 < 26 || byte &- 0x30 < 10 || "_.-".utf8.contains(byte)
    }
}
