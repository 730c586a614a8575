// Builds the meaning of a filter from its tokens, and says what is wrong with it.
// Domain: pure

import CryoJSON

struct FilterParser {
    private typealias Node = RecordFilter.Node

    private var lexer: FilterLexer
    private let now: Int64
    private var token: (token: FilterToken, column: Int)?
    private var conditions = 0

    init(_ text: String, now: Int64) throws(FilterError) {
        lexer = FilterLexer(text.utf8)
        self.now = now
        token = try lexer.next()
    }

    mutating func parse() throws(FilterError) -> RecordFilter.Node {
        guard token != nil else { return .all([]) }
        let node = try alternatives(depth: 0)
        if let token { throw FilterError(column: token.column, message: "this parenthesis closes nothing") }
        return node
    }

    private mutating func advance() throws(FilterError) { token = try lexer.next() }

    private mutating func alternatives(depth: Int) throws(FilterError) -> RecordFilter.Node {
        var nodes = [try sequence(depth: depth)]
        while case .or? = token?.token {
            try advance()
            nodes.append(try sequence(depth: depth))
        }
        return nodes.count == 1 ? nodes[0] : .any(nodes)
    }

    private mutating func sequence(depth: Int) throws(FilterError) -> RecordFilter.Node {
        var nodes = [try single(depth: depth)]
        while let next = token?.token, next != .or, next != .close {
            if next == .and { try advance() }
            nodes.append(try single(depth: depth))
        }
        return nodes.count == 1 ? nodes[0] : .all(nodes)
    }

    private mutating func single(depth: Int) throws(FilterError) -> RecordFilter.Node {
        guard let (token, column) = token else {
            throw FilterError(column: lexer.endColumn, message: "a condition or a word is missing here")
        }
        guard depth < RecordFilter.nestingMax else {
            throw FilterError(column: column, message: "at most \(RecordFilter.nestingMax) levels of parentheses and nots")
        }
        try advance()
        switch token {
        case .not: return .not(try single(depth: depth + 1))
        case .open:
            let node = try alternatives(depth: depth + 1)
            guard case .close? = self.token?.token else {
                throw FilterError(column: column, message: "this parenthesis is never closed")
            }
            try advance()
            return node
        case .close, .and, .or: throw FilterError(column: column, message: "a condition or a word is missing before this")
        case .word(let bytes):
            try count(column)
            return .word(ByteNeedle(JSONEscape.escaped(bytes), ignoresCase: true))
        case .condition(let name, let sign, let value):
            try count(column)
            return try condition(name, sign, value, column)
        }
    }

    private mutating func count(_ column: Int) throws(FilterError) {
        conditions += 1
        if conditions > RecordFilter.conditionsMax {
            throw FilterError(column: column, message: "at most \(RecordFilter.conditionsMax) conditions")
        }
    }

    // MARK: Conditions

    private func condition(
        _ name: String, _ sign: FilterOperator, _ value: FilterValue, _ column: Int
    ) throws(FilterError) -> RecordFilter.Node {
        guard let field = FilterField.named(name) else { throw Self.unknown(name, column) }
        let isNegated = sign == .notEqual || sign == .notContains
        let tests: [FilterTest]
        if sign == .contains || sign == .notContains {
            guard Self.holdsText(field.kind) else {
                throw FilterError(column: column, message: "\(field.name) is no text: compare it by = != > >= < <=")
            }
            tests = [.text(TextMatch(value.bytes, isWhole: false, hasWildcards: !value.isQuoted))]
        } else if sign == .equal || sign == .notEqual {
            tests = try equalities(field, value)
        } else {
            tests = [try ordering(field, sign, value)]
        }
        let node = Node.condition(FilterCondition(source: field.source, tests: tests))
        return isNegated ? .not(node) : node
    }

    private static func unknown(_ name: String, _ column: Int) -> FilterError {
        let names = FilterField.names
        let hint = nearest(to: name, among: names).map { ", did you mean \($0)?" } ?? "; fields: \(names.joined(separator: " "))."
        return FilterError(column: column, message: "there is no field \(name)\(hint) Text with a sign in it goes into single quotes")
    }

    private static func holdsText(_ kind: FilterKind) -> Bool { kind == .text || kind == .capitals || kind == .any }

    /// `=`: one of the values between commas.
    private func equalities(_ field: FilterField, _ value: FilterValue) throws(FilterError) -> [FilterTest] {
        if value.bytes.isEmpty { return [.none] }
        if value.isQuoted { return [try equality(field, value.bytes, value, hasWildcards: false)] }
        var tests: [FilterTest] = []
        for part in value.bytes.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
            guard !part.isEmpty else { throw FilterError(column: value.column, message: "a value is missing beside a comma") }
            tests.append(try equality(field, Array(part), value, hasWildcards: true))
        }
        return tests
    }

    private func equality(
        _ field: FilterField, _ part: [UInt8], _ value: FilterValue, hasWildcards: Bool
    ) throws(FilterError) -> FilterTest {
        if part == [UInt8(ascii: "*")], hasWildcards { return .some }
        switch field.kind {
        case .text, .any: return .text(TextMatch(part, isWhole: true, hasWildcards: hasWildcards))
        case .capitals:
            let capitals = part.map { $0 &- 0x61 < 26 ? $0 & 0xDF : $0 }
            return .text(TextMatch(capitals, isWhole: true, hasWildcards: hasWildcards))
        case .time:
            let period = try period(field, part, value)
            return .times(period.start..<period.end)
        case .number where part.count == 3 && part[1...].allSatisfy({ $0 | 0x20 == UInt8(ascii: "x") }) && part[0] &- 0x31 < 5:
            // `5xx`
            let hundreds = Int64(part[0] - 0x30) * 100
            return .numbers(hundreds...hundreds + 99)
        case .number, .size, .duration:
            let number = try number(field, part, value)
            return .numbers(number...number)
        }
    }

    private func ordering(_ field: FilterField, _ sign: FilterOperator, _ value: FilterValue) throws(FilterError) -> FilterTest {
        switch field.kind {
        case .text, .capitals:
            throw FilterError(column: value.column, message: "\(field.name) is text: compare it by = != ~ !~")
        case .time:
            let period = try period(field, value.bytes, value)
            switch sign {
            case .above: return .times(period.end..<Int64.max)
            case .below: return .times(Int64.min..<period.start)
            case .atMost: return .times(Int64.min..<period.end)
            default: return .times(period.start..<Int64.max)
            }
        case .number, .size, .duration, .any:
            let number = try number(field, value.bytes, value)
            switch sign {
            case .above: return .numbers(min(number, .max - 1) + 1...Int64.max)
            case .below: return .numbers(Int64.min...max(number, .min + 1) - 1)
            case .atMost: return .numbers(Int64.min...number)
            default: return .numbers(number...Int64.max)
            }
        }
    }

    private func number(_ field: FilterField, _ text: [UInt8], _ value: FilterValue) throws(FilterError) -> Int64 {
        let shown = String(decoding: text, as: UTF8.self)
        switch field.kind {
        case .duration(let unit):
            if let span = RecordTime.span(text, unit: unit) { return span }
            throw FilterError(column: value.column, message: "\(shown) is no duration: 250, 1.5s, 2m, 800us")
        case .size:
            let units: [(String, Int64)] = [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("K", 1 << 10), ("M", 1 << 20), ("B", 1)]
            let unit = units.first { shown.lowercased().hasSuffix($0.0.lowercased()) }
            if let size = RecordTime.decimal(text.dropLast(unit?.0.utf8.count ?? 0), times: unit?.1 ?? 1) { return size }
            throw FilterError(column: value.column, message: "\(shown) is no size: 512, 64KiB, 1.5MiB")
        default:
            let isNegative = text.first == UInt8(ascii: "-")
            if let number = RecordTime.decimal(isNegative ? text.dropFirst() : text[...], times: 1) { return isNegative ? -number : number }
            throw FilterError(column: value.column, message: "\(shown) is no number; \(field.name) is compared with one")
        }
    }

    /// `2026-11-30T10:00` is a minute; `-15m` is the microsecond a quarter of an hour ago; `now`.
    private func period(_ field: FilterField, _ text: [UInt8], _ value: FilterValue) throws(FilterError) -> RecordPeriod {
        if text == Array("now".utf8) { return RecordPeriod(start: now, end: now &+ 1) }
        if text.first == UInt8(ascii: "-"), let span = RecordTime.span(text.dropFirst(), unit: nil) {
            return RecordPeriod(start: now &- span, end: now &- span &+ 1)
        }
        if let period = RecordTime.period(text) { return period }
        let shown = String(decoding: text, as: UTF8.self)
        let examples = "2026-11-30, 2026-11-30T10:15, 2026-11-30T10:15:00+08:00, -15m, -2h"
        throw FilterError(column: value.column, message: "\(shown) is no time: \(examples)")
    }
}
