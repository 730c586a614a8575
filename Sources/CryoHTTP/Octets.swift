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
@inlinable
package func equals(_ bytes: UnsafeRawBufferPointer, _ text: StaticString) -> Bool {
    let wanted = text.rawBytes
    guard bytes.count == wanted.count else { return false }
    var index = 0
    while index < bytes.count {
        if bytes[index] != wanted[index] { return false }
        index += 1
    }
    return true
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
    asciiLowercased(UInt64(bytes.loadUnaligned(fromByteOffset: index, as: Word.self)))
        == UInt64(lowercased.loadUnaligned(fromByteOffset: index, as: Word.self))
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
