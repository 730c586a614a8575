// Owns the matching of a text with a pattern of wildcards, in one pass whatever the pattern is.
// Domain: pure

/// A pattern for the whole of a text: `*` is any run of characters, also none, `?` one character, `[a-z0]` one of these ASCII
/// characters, `[!a-z]` one that is none of them, `\` takes the next character as it is. Anything else stands for itself.
///
/// Regular expressions were rejected: on a data path somebody's pattern must not cost more than reading the text once. The states
/// of this pattern are the bits of one word, so a byte costs the same few instructions for every pattern and every text.
package struct TextPattern: Sendable, Equatable {
    /// Bound of what a pattern has besides `*`, in bytes; a class counts as one.
    package static let itemsMax = 63

    package let text: String
    /// Bit i of element b: item i takes byte b.
    private let takers: [UInt64]
    /// Bit i: a `*` stands before item i, so that the state after i items outlasts any byte.
    private let loops: UInt64
    /// Bit i: item i - 1 takes one character of any length; the rest of its UTF-8 sequence belongs to it.
    private let tails: UInt64
    private let end: UInt64

    /// Nil for too long a pattern, an unfinished escape, and a class that is open, empty, falling or not ASCII.
    package init?(_ text: String) {
        var parser = Parser(Array(text.utf8))
        guard parser.parse() else { return nil }
        self.text = text
        takers = parser.takers
        loops = parser.loops
        tails = parser.tails
        end = 1 << UInt64(parser.count)
    }

    package static func == (one: TextPattern, other: TextPattern) -> Bool { one.text == other.text }

    /// `bytes` must be UTF-8.
    package func matches(_ bytes: UnsafeRawBufferPointer) -> Bool {
        takers.withUnsafeBufferPointer { takers in
            var states: UInt64 = 1
            for byte in bytes {
                let isTail = byte & 0xC0 == 0x80
                states = (states & takers[Int(byte)]) << 1 | states & loops | (isTail ? states & tails : 0)
                if states == 0 { return false }
            }
            return states & end != 0
        }
    }
}

private struct Parser {
    private let bytes: [UInt8]
    private var at = 0
    private(set) var count = 0
    private(set) var takers = [UInt64](repeating: 0, count: 256)
    private(set) var loops: UInt64 = 0
    private(set) var tails: UInt64 = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    mutating func parse() -> Bool {
        while at < bytes.count {
            let byte = bytes[at]
            at += 1
            switch byte {
            case UInt8(ascii: "*"):
                loops |= 1 << UInt64(count)
                continue
            case UInt8(ascii: "?"):
                guard add(where: { $0 & 0xC0 != 0x80 }) else { return false }
                tails |= 1 << UInt64(count)
            case UInt8(ascii: "["):
                guard addClass() else { return false }
            case UInt8(ascii: "\\"):
                guard at < bytes.count else { return false }
                let literal = bytes[at]
                at += 1
                guard add(where: { $0 == literal }) else { return false }
            default:
                guard add(where: { $0 == byte }) else { return false }
            }
        }
        return true
    }

    private mutating func add(where takes: (UInt8) -> Bool) -> Bool {
        guard count < TextPattern.itemsMax else { return false }
        for byte in UInt8.min...UInt8.max where takes(byte) { takers[Int(byte)] |= 1 << UInt64(count) }
        count += 1
        return true
    }

    /// After the opening bracket. `]` is a member when it comes first, `-` when it comes first or last.
    private mutating func addClass() -> Bool {
        var members: Set<UInt8> = []
        let isNegated = at < bytes.count && bytes[at] == UInt8(ascii: "!")
        if isNegated { at += 1 }
        let start = at
        while at < bytes.count, bytes[at] != UInt8(ascii: "]") || at == start {
            var low = bytes[at]
            if low == UInt8(ascii: "\\") {
                at += 1
                guard at < bytes.count else { return false }
                low = bytes[at]
            }
            at += 1
            var high = low
            if at + 1 < bytes.count, bytes[at] == UInt8(ascii: "-"), bytes[at + 1] != UInt8(ascii: "]") {
                high = bytes[at + 1]
                at += 2
            }
            guard low <= high, high < 0x80 else { return false }
            members.formUnion(low...high)
        }
        guard at < bytes.count, !members.isEmpty else { return false }
        at += 1
        guard add(where: { isNegated ? $0 & 0xC0 != 0x80 && !members.contains($0) : members.contains($0) }) else { return false }
        if isNegated { tails |= 1 << UInt64(count) }
        return true
    }
}
