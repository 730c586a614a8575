// A filter over audit records: what it means, compiled from its text.
// Domain: pure

import CryoJSON

/// `route=news status>=500 (kind=business or duration>2s) !client=127.0.0.1 refund`
///
/// Conditions that follow one another must all hold; `or`, `not` (also `!`, `-`) and parentheses do the rest. `=` is the whole value,
/// where `*` stands for anything and `,` between values means one of them; `~` is a part of it, without regard to the case of ASCII
/// letters; `>`, `>=`, `<`, `<=` are for numbers, times and durations. `!=` and `!~` are the opposite, also for records that lack the
/// field. A free word is looked for in the whole record. Quotes keep spaces, and take away the meaning of `*` and `,`.
package struct RecordFilter: Sendable, Equatable {
    /// A longer text, more conditions or deeper parentheses are refused.
    package static let filterBytesMax = 4096
    package static let conditionsMax = 48
    package static let nestingMax = 32

    indirect enum Node: Sendable, Equatable {
        case all([Node])
        case any([Node])
        case not(Node)
        case condition(FilterCondition)
        /// Anywhere in the line, as it is spelled there.
        case word(ByteNeedle)
    }

    package let text: String
    let root: Node

    /// `now` is what `time>-15m` counts from.
    package init(_ text: String, nowUnixMicroseconds now: Int64) throws(FilterError) {
        guard text.utf8.count <= Self.filterBytesMax else {
            throw FilterError(column: 1, message: "a filter has at most \(Self.filterBytesMax) bytes")
        }
        var parser = try FilterParser(text, now: now)
        root = try parser.parse()
        self.text = text
    }

    /// No condition: every record matches.
    package static let everything = RecordFilter(text: "", root: .all([]))

    private init(text: String, root: Node) {
        self.text = text
        self.root = root
    }

    package var isEmpty: Bool { root == .all([]) }

    /// The fields a filter can name.
    package static var fieldNames: [String] { FilterField.names }

    /// The longest text that stands in the line of every match, so that lines without it need no closer look.
    var required: ByteNeedle? { Self.required(root) }

    private static func required(_ node: Node) -> ByteNeedle? {
        switch node {
        case .all(let nodes): nodes.compactMap { required($0) }.max { $0.bytes.count < $1.bytes.count }
        case .any(let nodes): nodes.count == 1 ? required(nodes[0]) : nil
        case .not: nil
        case .condition(let condition): condition.literal.map { ByteNeedle($0) }
        case .word(let needle): needle.bytes.isEmpty ? nil : needle
        }
    }

    /// The members that must be found in a line.
    var paths: [JSONPath] {
        var paths = [FilterField.identity]
        func collect(_ node: Node) {
            switch node {
            case .all(let nodes), .any(let nodes): nodes.forEach(collect)
            case .not(let node): collect(node)
            case .word: break
            case .condition(let condition): if !paths.contains(condition.source.path) { paths.append(condition.source.path) }
            }
        }
        collect(root)
        return paths
    }
}

extension FilterSource {
    /// The member it is taken from.
    var path: JSONPath {
        switch self {
        case .member(let path): path
        case .path, .query: FilterField.target
        case .header(let member, _): member
        case .attemptCount, .attempt: FilterField.attempts
        }
    }
}
