// Owns the address of a member: dotted text, JSON Pointer (RFC 6901), segments as bytes.
// Domain: pure

/// Where a value stands in a document. A segment names an object's member or, when it is a plain decimal without
/// leading zeros, an array's element, whichever the document has there.
package struct JSONPath: Sendable, Equatable, Hashable, CustomStringConvertible {
    /// Bound of ``segments``; a longer path is no path.
    package static let segmentsMax = 32

    /// Unescaped UTF-8 names.
    package let segments: [[UInt8]]

    /// The whole document.
    package static let root = JSONPath(checked: [])

    private init(checked segments: [[UInt8]]) {
        self.segments = segments
    }

    package init?(segments: [[UInt8]]) {
        guard segments.count <= Self.segmentsMax else { return nil }
        self.segments = segments
    }

    /// A pointer when the text begins with `/`, dotted otherwise. Empty text is neither: in a configuration it is a
    /// mistake more often than a wish for the whole document.
    package init?(_ text: String) {
        if text.utf8.first == UInt8(ascii: "/") {
            self.init(pointer: text)
        } else {
            self.init(dotted: text)
        }
    }

    /// `data.items.0.id`; `\.` and `\\` stand for the characters themselves. Empty segments are refused.
    package init?(dotted text: String) {
        var segments: [[UInt8]] = [[]]
        var isEscaped = false
        for byte in text.utf8 {
            if isEscaped {
                guard byte == UInt8(ascii: ".") || byte == UInt8(ascii: "\\") else { return nil }
                segments[segments.count - 1].append(byte)
                isEscaped = false
            } else if byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else if byte == UInt8(ascii: ".") {
                segments.append([])
            } else {
                segments[segments.count - 1].append(byte)
            }
        }
        guard !isEscaped, segments.allSatisfy({ !$0.isEmpty }) else { return nil }
        self.init(segments: segments)
    }

    /// RFC 6901: `/data/items/0`, `~0` is `~`, `~1` is `/`; empty text is the whole document.
    package init?(pointer text: String) {
        var segments: [[UInt8]] = []
        var isEscaped = false
        for byte in text.utf8 {
            if isEscaped {
                guard byte == UInt8(ascii: "0") || byte == UInt8(ascii: "1") else { return nil }
                segments[segments.count - 1].append(byte == UInt8(ascii: "0") ? UInt8(ascii: "~") : UInt8(ascii: "/"))
                isEscaped = false
                continue
            }
            if byte == UInt8(ascii: "/") {
                segments.append([])
                continue
            }
            guard !segments.isEmpty else { return nil }
            if byte == UInt8(ascii: "~") {
                isEscaped = true
            } else {
                segments[segments.count - 1].append(byte)
            }
        }
        guard !isEscaped else { return nil }
        self.init(segments: segments)
    }

    /// Dotted text where that reads back as the same path, a pointer otherwise.
    package var description: String {
        let isDottable = segments.first.map { $0.first != UInt8(ascii: "/") } ?? false
        guard isDottable, segments.allSatisfy({ !$0.isEmpty }) else { return pointer }
        return segments.map { Self.escape($0, [UInt8(ascii: "."): #"\."#, UInt8(ascii: "\\"): #"\\"#]) }
            .joined(separator: ".")
    }

    /// The path as an RFC 6901 pointer.
    package var pointer: String {
        segments.map { "/" + Self.escape($0, [UInt8(ascii: "~"): "~0", UInt8(ascii: "/"): "~1"]) }.joined()
    }

    private static func escape(_ segment: [UInt8], _ replacements: [UInt8: String]) -> String {
        var bytes: [UInt8] = []
        for byte in segment {
            if let replacement = replacements[byte] {
                bytes.append(contentsOf: replacement.utf8)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The segment as an array index (RFC 6901 section 4), or -1.
    static func index(of segment: [UInt8]) -> Int64 {
        guard !segment.isEmpty, segment.count <= 18, segment.count == 1 || segment[0] != UInt8(ascii: "0") else { return -1 }
        var value: Int64 = 0
        for byte in segment {
            guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { return -1 }
            value = value * 10 + Int64(byte - UInt8(ascii: "0"))
        }
        return value
    }
}
