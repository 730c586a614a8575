// Owns the names of the content codings and the reading of a Content-Encoding value (RFC 9110 §8.4).
// Domain: pure

enum ContentCoding: Equatable {
    case gzip
    case deflate
    case brotli
    case zstd
    case identity

    /// More codings than any honest sender applies; each one multiplies the work an attacker gets for a byte.
    static let codingsMax = 4

    /// The codings in the order applied, without identity; nil when one is unknown or there are more than `codingsMax`.
    /// Empty list elements are skipped (RFC 9110 §5.6.1.2), identity counts towards the bound.
    static func list(_ value: UnsafeRawBufferPointer) -> [ContentCoding]? {
        var applied: [ContentCoding] = []
        var seen = 0
        var start = 0
        while start < value.count {
            var end = start
            while end < value.count, value[end] != UInt8(ascii: ",") { end += 1 }
            let token = trimmed(UnsafeRawBufferPointer(rebasing: value[start..<end]))
            start = end + 1
            if token.isEmpty { continue }
            seen += 1
            guard seen <= codingsMax, let coding = ContentCoding(token) else { return nil }
            if coding != .identity { applied.append(coding) }
        }
        return applied
    }

    private init?(_ token: UnsafeRawBufferPointer) {
        if Self.matches(token, "gzip") || Self.matches(token, "x-gzip") {
            self = .gzip
        } else if Self.matches(token, "br") {
            self = .brotli
        } else if Self.matches(token, "zstd") {
            self = .zstd
        } else if Self.matches(token, "deflate") {
            self = .deflate
        } else if Self.matches(token, "identity") {
            self = .identity
        } else {
            return nil
        }
    }

    /// `name` is lower case; only letters of the token are folded, so `\u{0D}` never equals a hyphen.
    private static func matches(_ token: UnsafeRawBufferPointer, _ name: StaticString) -> Bool {
        guard token.count == name.utf8CodeUnitCount else { return false }
        return name.withUTF8Buffer { expected in
            for (byte, wanted) in zip(token, expected) {
                let isUpper = byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z")
                if (isUpper ? byte | 0x20 : byte) != wanted { return false }
            }
            return true
        }
    }

    private static func trimmed(_ token: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        var range = 0..<token.count
        while let first = range.first, isBlank(token[first]) { range.removeFirst() }
        while let last = range.last, isBlank(token[last]) { range.removeLast() }
        return UnsafeRawBufferPointer(rebasing: token[range])
    }

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
    }
}
