// Owns the search for a run of bytes, exactly or without regard to the case of ASCII letters.
// Domain: pure

import Glibc

package struct ByteNeedle: Sendable, Equatable {
    /// Letters are small where case is ignored.
    package let bytes: [UInt8]
    package let ignoresCase: Bool
    /// The place in it of the byte that records hold least of.
    private let rarest: Int

    package init(_ bytes: [UInt8], ignoresCase: Bool = false) {
        let hasLetters = bytes.contains { ($0 | 0x20) &- 0x61 < 26 }
        let isFolded = ignoresCase && hasLetters
        let spelled = isFolded ? bytes.map(Self.small) : bytes
        self.ignoresCase = isFolded
        self.bytes = spelled
        rarest = Self.rarest(in: spelled)
    }

    /// The place of the byte that records hold least of.
    package static func rarest(in bytes: [UInt8]) -> Int {
        bytes.indices.min { frequency(bytes[$0]) < frequency(bytes[$1]) } ?? 0
    }

    /// Where it begins for the first time at or after `start`.
    package func first(in text: UnsafeRawBufferPointer, from start: Int = 0) -> Int? {
        guard start >= 0, start <= text.count - bytes.count else { return nil }
        if bytes.isEmpty { return start }
        return bytes.withUnsafeBytes { Self.search($0, rarest, ignoresCase: ignoresCase, text, from: start) }
    }

    /// The same for a needle that lies somewhere else, is not empty, and is meant letter by letter.
    package static func first(
        of needle: UnsafeRawBufferPointer, rarest: Int, in text: UnsafeRawBufferPointer, from start: Int = 0
    ) -> Int? {
        guard start >= 0, start <= text.count - needle.count else { return nil }
        return search(needle, rarest, ignoresCase: false, text, from: start)
    }

    package func isPrefix(of text: UnsafeRawBufferPointer) -> Bool {
        text.count >= bytes.count && bytes.withUnsafeBytes { Self.fits($0, text, at: 0, ignoresCase: ignoresCase) }
    }

    package func isSuffix(of text: UnsafeRawBufferPointer) -> Bool {
        text.count >= bytes.count && bytes.withUnsafeBytes { Self.fits($0, text, at: text.count - $0.count, ignoresCase: ignoresCase) }
    }

    /// Goes by memchr from one place of the rarest byte to the next, of the letter in both sizes where case is ignored. Comparing vectors
    /// of bytes in Swift was tried: a hundredth of the speed.
    private static func search(
        _ needle: UnsafeRawBufferPointer, _ rarest: Int, ignoresCase: Bool, _ text: UnsafeRawBufferPointer, from start: Int
    ) -> Int? {
        let byte = needle[rarest]
        let last = text.count - needle.count
        let end = last + rarest + 1
        let hasTwoSizes = ignoresCase && byte &- 0x61 < 26
        var next = place(of: byte, in: text, from: start + rarest, to: end)
        var nextLarge = hasTwoSizes ? place(of: byte & 0xDF, in: text, from: start + rarest, to: end) : end
        while next < end || nextLarge < end {
            let found = min(next, nextLarge)
            if fits(needle, text, at: found - rarest, ignoresCase: ignoresCase) { return found - rarest }
            if next == found {
                next = place(of: byte, in: text, from: found + 1, to: end)
            } else {
                nextLarge = place(of: byte & 0xDF, in: text, from: found + 1, to: end)
            }
        }
        return nil
    }

    /// Where the byte is for the first time; `end` where there is none.
    package static func place(of byte: UInt8, in text: UnsafeRawBufferPointer, from start: Int, to end: Int) -> Int {
        guard start < end, let base = text.baseAddress, let found = memchr(base + start, Int32(byte), end - start) else { return end }
        return UnsafeRawPointer(found) - base
    }

    /// How much of a record is this byte, roughly: the higher the more.
    private static func frequency(_ byte: UInt8) -> Int {
        switch byte {
        case UInt8(ascii: "\""): return 100
        case UInt8(ascii: ":"), UInt8(ascii: ","), UInt8(ascii: "_"), UInt8(ascii: "0"): return 60
        case UInt8(ascii: "1")...UInt8(ascii: "9"): return 40
        case UInt8(ascii: "a")...UInt8(ascii: "z"): return 5 + letters[Int(byte - UInt8(ascii: "a"))]
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "/"): return 8
        case UInt8(ascii: "{"), UInt8(ascii: "}"), UInt8(ascii: "["), UInt8(ascii: "]"), UInt8(ascii: "\\"): return 12
        default: return 1
        }
    }

    /// a to z, as they are in the records' names and words.
    private static let letters = [40, 5, 25, 40, 90, 10, 5, 10, 50, 1, 3, 12, 20, 55, 45, 25, 3, 45, 50, 80, 30, 3, 3, 5, 8, 1]

    private static func fits(_ needle: UnsafeRawBufferPointer, _ text: UnsafeRawBufferPointer, at index: Int, ignoresCase: Bool) -> Bool {
        for offset in 0..<needle.count {
            let byte = text[index + offset]
            if (ignoresCase ? small(byte) : byte) != needle[offset] { return false }
        }
        return true
    }

    private static func small(_ byte: UInt8) -> UInt8 { byte &- 0x41 < 26 ? byte | 0x20 : byte }
}
