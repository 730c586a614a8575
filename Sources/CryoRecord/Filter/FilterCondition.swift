// One comparison of a filter: a field, and what its value is held against.
// Domain: pure

import CryoJSON

/// Pieces of text that must follow one another; `*` stands between them.
struct TextMatch: Sendable, Equatable {
    private let pieces: [ByteNeedle]
    /// The whole text must be covered; otherwise a part of it is enough.
    private let isWhole: Bool

    init(_ pattern: [UInt8], isWhole: Bool, hasWildcards: Bool) {
        self.isWhole = isWhole
        let parts = hasWildcards ? pattern.split(separator: UInt8(ascii: "*"), omittingEmptySubsequences: false).map(Array.init) : [pattern]
        pieces = parts.map { ByteNeedle($0, ignoresCase: !isWhole) }
    }

    func matches(_ text: UnsafeRawBufferPointer) -> Bool {
        guard isWhole else { return parts(pieces[...], of: text, from: 0, to: text.count) }
        guard let first = pieces.first, let last = pieces.last else { return false }
        if pieces.count == 1 { return text.count == first.bytes.count && first.isPrefix(of: text) }
        guard first.bytes.count + last.bytes.count <= text.count, first.isPrefix(of: text), last.isSuffix(of: text) else { return false }
        return parts(pieces[1..<(pieces.count - 1)], of: text, from: first.bytes.count, to: text.count - last.bytes.count)
    }

    private func parts(_ parts: ArraySlice<ByteNeedle>, of text: UnsafeRawBufferPointer, from start: Int, to end: Int) -> Bool {
        var at = start
        let text = UnsafeRawBufferPointer(rebasing: text[..<end])
        for part in parts {
            guard let found = part.first(in: text, from: at) else { return false }
            at = found + part.bytes.count
        }
        return true
    }

    /// The exact text, where it is the only one that matches.
    var literal: [UInt8]? { isWhole && pieces.count == 1 ? pieces[0].bytes : nil }
}

/// What a value must be. A missing value fits only ``none``.
enum FilterTest: Sendable, Equatable {
    case text(TextMatch)
    /// Empty, null, or not there.
    case none
    /// Anything but ``none``.
    case some
    /// Within, both ends included.
    case numbers(ClosedRange<Int64>)
    /// From the first microsecond of it to the one before the last.
    case times(Range<Int64>)
}

struct FilterCondition: Sendable, Equatable {
    let source: FilterSource
    /// Any of them is enough.
    let tests: [FilterTest]

    /// The texts a matching record must hold in its line, one of which is enough to look for first; nil where there is no such text.
    var literal: [UInt8]? {
        guard case .member = source, tests.count == 1, case .text(let match) = tests[0], let text = match.literal else { return nil }
        // Writers may escape other characters in their own way.
        guard text.count >= 2, text.allSatisfy({ $0 >= 0x20 && $0 < 0x7F && $0 != 0x22 && $0 != 0x5C && $0 != 0x2F }) else { return nil }
        return text
    }

    func matches(_ value: UnsafeRawBufferPointer?, isString: Bool) -> Bool {
        for test in tests where Self.matches(test, value, isString: isString) { return true }
        return false
    }

    private static func matches(_ test: FilterTest, _ value: UnsafeRawBufferPointer?, isString: Bool) -> Bool {
        guard let value, !value.isEmpty || isString else { return test == .none }
        switch test {
        case .none: return value.isEmpty
        case .some: return !value.isEmpty
        case .text(let match): return match.matches(value)
        case .numbers(let range): return number(value).map { range.contains($0) } ?? false
        case .times(let range): return RecordTime.microseconds(value).map { range.contains($0) } ?? false
        }
    }

    /// Decimals are cut to whole numbers. What does not fit is as large as can be.
    private static func number(_ text: UnsafeRawBufferPointer) -> Int64? {
        let isNegative = text.first == UInt8(ascii: "-")
        let digits = UnsafeRawBufferPointer(rebasing: isNegative ? text.dropFirst() : text[...]).prefix { $0 &- 0x30 < 10 }
        guard !digits.isEmpty else { return nil }
        let value = RecordTime.decimal(digits, times: 1) ?? .max
        return isNegative ? -value : value
    }
}
