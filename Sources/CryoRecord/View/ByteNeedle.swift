// Owns the search for a run of bytes, exactly or without regard to the case of ASCII letters.
// Domain: pure

package struct ByteNeedle: Sendable, Equatable {
    /// Letters are small where case is ignored.
    package let bytes: [UInt8]
    package let ignoresCase: Bool

    package init(_ bytes: [UInt8], ignoresCase: Bool = false) {
        let hasLetters = bytes.contains { ($0 | 0x20) &- 0x61 < 26 }
        self.ignoresCase = ignoresCase && hasLetters
        self.bytes = self.ignoresCase ? bytes.map(Self.small) : bytes
    }

    /// Where it begins for the first time at or after `start`.
    package func first(in text: UnsafeRawBufferPointer, from start: Int = 0) -> Int? {
        guard start >= 0, start <= text.count - bytes.count else { return nil }
        if bytes.isEmpty { return start }
        return bytes.withUnsafeBytes { needle in
            if ignoresCase { return Self.search(needle, text, from: start, ignoresCase: true) }
            return Self.search(needle, text, from: start, ignoresCase: false)
        }
    }

    func isPrefix(of text: UnsafeRawBufferPointer) -> Bool {
        text.count >= bytes.count && bytes.withUnsafeBytes { Self.fits($0, text, at: 0, ignoresCase: ignoresCase) }
    }

    func isSuffix(of text: UnsafeRawBufferPointer) -> Bool {
        text.count >= bytes.count && bytes.withUnsafeBytes { Self.fits($0, text, at: text.count - $0.count, ignoresCase: ignoresCase) }
    }

    /// Looks at the first and the last byte of the needle at 32 places at a time; only where both fit it looks closer.
    @inline(__always)
    private static func search(
        _ needle: UnsafeRawBufferPointer, _ text: UnsafeRawBufferPointer, from start: Int, ignoresCase: Bool
    ) -> Int? {
        let distance = needle.count - 1
        let last = text.count - needle.count
        let head = SIMD32<UInt8>(repeating: needle[0])
        let tail = SIMD32<UInt8>(repeating: needle[distance])
        // Setting the bit makes letters small, and maps `@[\]^_` to other signs: the closer look sorts those out.
        let headBit = SIMD32<UInt8>(repeating: ignoresCase && isLetter(needle[0]) ? 0x20 : 0)
        let tailBit = SIMD32<UInt8>(repeating: ignoresCase && isLetter(needle[distance]) ? 0x20 : 0)
        var index = start
        while index + 31 <= last {
            let heads = (text.loadUnaligned(fromByteOffset: index, as: SIMD32<UInt8>.self) | headBit) .== head
            let tails = (text.loadUnaligned(fromByteOffset: index + distance, as: SIMD32<UInt8>.self) | tailBit) .== tail
            if any(heads .& tails) {
                for place in index..<index + 32 where fits(needle, text, at: place, ignoresCase: ignoresCase) { return place }
            }
            index += 32
        }
        while index <= last {
            if fits(needle, text, at: index, ignoresCase: ignoresCase) { return index }
            index += 1
        }
        return nil
    }

    private static func fits(_ needle: UnsafeRawBufferPointer, _ text: UnsafeRawBufferPointer, at index: Int, ignoresCase: Bool) -> Bool {
        for offset in 0..<needle.count {
            let byte = text[index + offset]
            if (ignoresCase ? small(byte) : byte) != needle[offset] { return false }
        }
        return true
    }

    private static func isLetter(_ byte: UInt8) -> Bool { byte &- 0x61 < 26 }
    private static func small(_ byte: UInt8) -> UInt8 { byte &- 0x41 < 26 ? byte | 0x20 : byte }
}
