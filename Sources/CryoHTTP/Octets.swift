// Comparison of byte strings, literals and lists as HTTP knows them.
// Domain: pure

extension StaticString {
    /// The bytes of the literal. Lives as long as the program.
    @inlinable @inline(__always)
    package var rawBytes: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: utf8Start, count: utf8CodeUnitCount)
    }
}

/// Compares byte for byte.
@inlinable @inline(__always)
package func equals(_ bytes: UnsafeRawBufferPointer, _ text: StaticString) -> Bool { equals(bytes, text.rawBytes) }

/// Compares byte for byte.
@inlinable @inline(__always)
package func equals(_ one: UnsafeRawBufferPointer, _ other: UnsafeRawBufferPointer) -> Bool {
    guard one.count == other.count, let first = one.baseAddress, let second = other.baseAddress else { return one.count == other.count }
    return agreeInWords(first, second, one.count, besides: 0)
}

@inlinable @inline(__always)
package func equals(_ bytes: UnsafeRawBufferPointer, _ other: [UInt8]) -> Bool { other.withUnsafeBytes { equals(bytes, $0) } }

/// Compares two field names without case. `lowercased` is made of lower-case letters, digits, hyphens and underscores, `name` is a token
/// (RFC 9110 §5.6.2), as every name in a section is.
///
/// The bit that tells the cases apart is left out, of every byte. The characters that only then become one of those above are controls,
/// DEL and `@ [ \ ]`, none of which is in a token.
@inlinable @inline(__always)
package func isNamed(_ name: UnsafeRawBufferPointer, lowercased: UnsafeRawBufferPointer) -> Bool {
    guard name.count == lowercased.count, let first = name.baseAddress, let second = lowercased.baseAddress else { return false }
    return agreeInWords(first, second, name.count, besides: 0x2020_2020_2020_2020)
}

/// Compares `count` bytes but for the bits of `besides`, which are the same ones of each byte. Of a literal the words are constants. The
/// last word overlaps the one before it instead of being made up of single bytes.
@inlinable @inline(__always)
package func agreeInWords(_ one: UnsafeRawPointer, _ other: UnsafeRawPointer, _ count: Int, besides ignored: UInt64) -> Bool {
    func agree<Word: FixedWidthInteger & UnsignedInteger & BitwiseCopyable>(at index: Int, as: Word.Type) -> Bool {
        let difference =
            one.loadUnaligned(fromByteOffset: index, as: Word.self) ^ other.loadUnaligned(fromByteOffset: index, as: Word.self)
        return difference & ~Word(truncatingIfNeeded: ignored) == 0
    }
    if count >= 8 {
        var index = 0
        while index &+ 8 < count {
            if !agree(at: index, as: UInt64.self) { return false }
            index &+= 8
        }
        return agree(at: count &- 8, as: UInt64.self)
    }
    if count >= 4 { return agree(at: 0, as: UInt32.self) && agree(at: count &- 4, as: UInt32.self) }
    if count >= 2 { return agree(at: 0, as: UInt16.self) && agree(at: count &- 2, as: UInt16.self) }
    return count == 0 || agree(at: 0, as: UInt8.self)
}

/// Compares ASCII without case; `lowercased` must be lower case.
@inlinable
package func equalsIgnoringCase(_ bytes: UnsafeRawBufferPointer, lowercased: UnsafeRawBufferPointer) -> Bool {
    let count = bytes.count
    guard count == lowercased.count else { return false }
    // The last word overlaps the one before it instead of being made up of single bytes.
    if count >= 8 {
        var index = 0
        while index + 8 < count {
            if !agree(bytes, lowercased, at: index, as: UInt64.self) { return false }
            index += 8
        }
        return agree(bytes, lowercased, at: count - 8, as: UInt64.self)
    }
    if count >= 4 {
        return agree(bytes, lowercased, at: 0, as: UInt32.self) && agree(bytes, lowercased, at: count - 4, as: UInt32.self)
    }
    var index = 0
    while index < count {
        if !agree(bytes, lowercased, at: index, as: UInt8.self) { return false }
        index += 1
    }
    return true
}

@inlinable @inline(__always)
package func agree<Word: FixedWidthInteger & UnsignedInteger & BitwiseCopyable>(
    _ bytes: UnsafeRawBufferPointer, _ lowercased: UnsafeRawBufferPointer, at index: Int, as: Word.Type
) -> Bool {
    let word = UInt64(bytes.loadUnaligned(fromByteOffset: index, as: Word.self))
    let wanted = UInt64(lowercased.loadUnaligned(fromByteOffset: index, as: Word.self))
    // Most often it is lower case already.
    return word == wanted || asciiLowercased(word) == wanted
}

/// Eight bytes at once: those that are upper-case ASCII letters become lower case, the others stay. No carry leaves its byte, because
/// only seven bits of each are added.
@inlinable @inline(__always)
package func asciiLowercased(_ word: UInt64) -> UInt64 {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let highs: UInt64 = 0x8080_8080_8080_8080
    let low = word & ~highs
    let isAtLeastA = low &+ ones &* (0x80 - 0x41)
    let isAboveZ = low &+ ones &* (0x80 - 0x5B)
    return word | ((isAtLeastA & ~isAboveZ & ~word & highs) >> 2)
}

/// Calls `body` for each non-empty element of a comma-separated list, without surrounding SP and HTAB (RFC 9110 §5.6.1).
package func forEachListElement(_ value: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Void) {
    var elements = ListCursor(value)
    while let element = elements.next() { if !element.isEmpty { body(element) } }
}
