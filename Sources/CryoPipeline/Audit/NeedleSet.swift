// Texts that are looked for in everything that is written: the spellings of secrets.
// Domain: shared (immutable)

import CryoJSON

/// They lie in one piece of memory, so that a search counts no reference for each of them.
package final class NeedleSet: Sendable {
    private struct Needle {
        let range: Range<Int>
        let rarest: Int
    }

    private let bytes: [UInt8]
    private let needles: [Needle]
    /// Of the shortest and of the longest. With none at all nothing is long enough to hold one.
    package let shortest: Int
    package let longest: Int

    package static let none = NeedleSet([])

    /// Empty texts are everywhere, and left out.
    package init(_ texts: [[UInt8]]) {
        var bytes: [UInt8] = []
        var needles: [Needle] = []
        for text in texts where !text.isEmpty {
            needles.append(Needle(range: bytes.count..<bytes.count + text.count, rarest: ByteNeedle.rarest(in: text)))
            bytes += text
        }
        self.bytes = bytes
        self.needles = needles
        shortest = needles.map(\.range.count).min() ?? .max
        longest = needles.map(\.range.count).max() ?? 0
    }

    package var texts: [[UInt8]] { needles.map { Array(bytes[$0.range]) } }

    /// Whether one of them is there.
    func isFound(in text: UnsafeRawBufferPointer) -> Bool {
        guard text.count >= shortest else { return false }
        return bytes.withUnsafeBytes { bytes in
            for needle in needles {
                let spelled = UnsafeRawBufferPointer(rebasing: bytes[needle.range])
                if ByteNeedle.first(of: spelled, rarest: needle.rarest, in: text) != nil { return true }
            }
            return false
        }
    }

    /// Puts something else in the place of each, one after the other.
    func replace(in text: inout [UInt8], by mark: (UnsafeRawBufferPointer) -> [UInt8]) {
        bytes.withUnsafeBytes { bytes in
            for needle in needles {
                let spelled = UnsafeRawBufferPointer(rebasing: bytes[needle.range])
                var start = 0
                while let found = text.withUnsafeBytes({ ByteNeedle.first(of: spelled, rarest: needle.rarest, in: $0, from: start) }) {
                    let mark = mark(spelled)
                    text.replaceSubrange(found..<found + spelled.count, with: mark)
                    start = found + mark.count
                }
            }
        }
    }

    /// How many bytes at the end may be the beginning of one that goes on in what follows.
    func beginning(in text: UnsafeRawBufferPointer) -> Int {
        var longest = 0
        bytes.withUnsafeBytes { bytes in
            for needle in needles {
                let spelled = UnsafeRawBufferPointer(rebasing: bytes[needle.range])
                var count = min(spelled.count - 1, text.count)
                while count > longest, !Self.isBeginning(of: spelled, text, count) { count -= 1 }
                longest = max(longest, count)
            }
        }
        return longest
    }

    private static func isBeginning(of needle: UnsafeRawBufferPointer, _ text: UnsafeRawBufferPointer, _ count: Int) -> Bool {
        let start = text.count - count
        for offset in 0..<count where text[start + offset] != needle[offset] { return false }
        return true
    }
}
