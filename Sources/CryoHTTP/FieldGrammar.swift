// The byte classes and the field-line grammar shared by every parser here (RFC 9110 §5, §5.6.2; RFC 9112 §5).
// Domain: pure

/// True for a `tchar` (RFC 9110 §5.6.2). Two constant bitmaps instead of a table: no load, no lazy global.
@inlinable
package func isTokenByte(_ byte: UInt8) -> Bool {
    if byte < 64 { return (0x03FF_6CFA_0000_0000 as UInt64 >> UInt64(byte)) & 1 == 1 }
    if byte < 128 { return (0x57FF_FFFF_C7FF_FFFE as UInt64 >> UInt64(byte &- 64)) & 1 == 1 }
    return false
}

/// True when `bytes` is a non-empty token.
package func isToken(_ bytes: UnsafeRawBufferPointer) -> Bool {
    !bytes.isEmpty && endOfToken(bytes, from: 0, to: bytes.count) == bytes.count
}

/// The index of the first byte in `lower..<upper` that is no `tchar`, or `upper`.
///
/// Nearly all of a name is letters and hyphens: those are recognized sixteen or eight at a time, every other byte by itself.
@inline(__always)
func endOfToken(_ bytes: UnsafeRawBufferPointer, from lower: Int, to upper: Int) -> Int {
    guard lower < upper, let base = bytes.baseAddress else { return upper }
    var index = lower
    repeat {
        if upper &- index >= 16 {
            let run = bytesBefore(noLettersAndHyphens(base.loadUnaligned(fromByteOffset: index, as: SIMD16<UInt8>.self)))
            index &+= run
            if run == 16 { continue }
        } else if upper &- index >= 8 {
            let usual = lettersAndHyphens(base.loadUnaligned(fromByteOffset: index, as: UInt64.self))
            if usual == 0x8080_8080_8080_8080 {
                index &+= 8
                continue
            }
            index &+= (usual ^ 0x8080_8080_8080_8080).trailingZeroBitCount >> 3
        }
        guard isTokenByte(base.load(fromByteOffset: index, as: UInt8.self)) else { return index }
        index &+= 1
    } while index < upper
    return upper
}

@inline(__always)
private func noLettersAndHyphens(_ bytes: SIMD16<UInt8>) -> SIMDMask<SIMD16<Int8>> {
    let places = (bytes | all(0x20)) &- all(0x61)
    return (places .>= all(26)) .& (bytes .!= all(0x2D))
}

/// Spelled out, because operators between a vector and a number are compiled to calls.
@inline(__always)
private func all(_ byte: UInt8) -> SIMD16<UInt8> { SIMD16(repeating: byte) }

/// How many bytes come before the first one that was found; 16: none was.
@inline(__always)
private func bytesBefore(_ found: SIMDMask<SIMD16<Int8>>) -> Int {
    // SAFETY: the sixteen bytes of a mask, each of which is all ones or all zeros.
    let halves = unsafeBitCast(found, to: SIMD2<UInt64>.self)
    // Without a bit there are 64 zeros, which is eight bytes.
    let before = halves.x.littleEndian.trailingZeroBitCount >> 3
    return before < 8 ? before : 8 &+ (halves.y.littleEndian.trailingZeroBitCount >> 3)
}

/// The highest bit of each byte that is an ASCII letter or a hyphen. Only seven bits of each byte are added, so no carry leaves its byte.
@inline(__always)
private func lettersAndHyphens(_ word: UInt64) -> UInt64 {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let low = word & (ones &* 0x7F)
    let folded = low | (ones &* 0x20)
    let isLetter = (folded &+ ones &* (0x80 - 0x61)) & ~(folded &+ ones &* (0x80 - 0x7B))
    let isNoHyphen = (low ^ (ones &* 0x2D)) &+ ones &* 0x7F
    return (isLetter | ~isNoHyphen) & ~word & (ones &* 0x80)
}

/// The value of a hexadecimal digit, or nil.
@inlinable
package func hexadecimalValue(_ byte: UInt8) -> UInt8? {
    if byte &- 0x30 < 10 { return byte &- 0x30 }
    let lower = byte | 0x20
    return lower &- 0x61 < 6 ? lower &- 0x61 &+ 10 : nil
}

/// A strict `1*DIGIT` (RFC 9110 §8.6): no sign, no space, no separator; nil as well above `UInt64.max` or 20 digits.
package func parseDecimal(_ bytes: UnsafeRawBufferPointer) -> UInt64? {
    guard 1...20 ~= bytes.count else { return nil }
    var value: UInt64 = 0
    for byte in bytes {
        guard byte &- 0x30 < 10 else { return nil }
        let (product, wrapped) = value.multipliedReportingOverflow(by: 10)
        let (sum, carried) = product.addingReportingOverflow(UInt64(byte &- 0x30))
        if wrapped || carried { return nil }
        value = sum
    }
    return value
}

/// The index of the first control byte (below 0x20 except HTAB, or DEL) in `lower..<upper`, or `upper`. CR, LF and NUL count.
///
/// Sixteen bytes at a time, or eight: then two carry tests find a byte below 0x20 and a byte equal to 0x7F. A carry may mark further bytes
/// behind the first one found, never before it.
@inline(__always)
func firstControl(_ bytes: UnsafeRawBufferPointer, from lower: Int, to upper: Int) -> Int {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let highs: UInt64 = 0x8080_8080_8080_8080
    guard lower < upper, let base = bytes.baseAddress else { return upper }
    var index = lower
    repeat {
        if upper &- index >= 16 {
            let piece = base.loadUnaligned(fromByteOffset: index, as: SIMD16<UInt8>.self)
            let run = bytesBefore((piece .< all(0x20)) .| (piece .== all(0x7F)))
            index &+= run
            if run == 16 { continue }
        } else if upper &- index >= 8 {
            let word = base.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            let flipped = word ^ (ones &* 0x7F)
            let below = (word &- ones &* 0x20) & ~word & highs
            let deleted = (flipped &- ones) & ~flipped & highs
            if below | deleted == 0 {
                index &+= 8
                continue
            }
            index &+= (below | deleted).trailingZeroBitCount >> 3
        }
        let byte = base.load(fromByteOffset: index, as: UInt8.self)
        if (byte < 0x20 && byte != 0x09) || byte == 0x7F { return index }
        index &+= 1
    } while index < upper
    return upper
}

/// The index of the first LF or CR in `lower..<upper`, or `upper`.
///
/// As long as there is nothing below 0x0E, thirty-two bytes at a time; then eight. What else is below is passed over by itself.
@inline(__always)
func firstLineEnd(_ bytes: UnsafeRawBufferPointer, from lower: Int, to upper: Int) -> Int {
    guard let base = bytes.baseAddress else { return upper }
    var index = lower
    while upper &- index >= 32 {
        let low = base + index
        let marks = marksBelow0E(low) | marksBelow0E(low + 8) | marksBelow0E(low + 16) | marksBelow0E(low + 24)
        if marks & 0x8080_8080_8080_8080 != 0 { break }
        index &+= 32
    }
    while index < upper {
        if upper &- index >= 8 {
            let marks = marksBelow0E(base + index) & 0x8080_8080_8080_8080
            if marks == 0 {
                index &+= 8
                continue
            }
            index &+= marks.trailingZeroBitCount >> 3
        }
        let byte = base.load(fromByteOffset: index, as: UInt8.self)
        if byte == 0x0A || byte == 0x0D { return index }
        index &+= 1
    }
    return upper
}

/// Eight bytes: the highest bit of the first one below 0x0E. A carry may set that of others behind it, never before; other bits mean
/// nothing.
@inline(__always)
private func marksBelow0E(_ start: UnsafeRawPointer) -> UInt64 {
    let word = start.loadUnaligned(as: UInt64.self)
    return (word &- 0x0E0E_0E0E_0E0E_0E0E) & ~word
}

/// What a search for the end of a line found.
enum LineScan {
    /// No line end yet; the search goes on at `resumeAt` (before a CR whose LF has not arrived).
    case incomplete(resumeAt: Int)
    /// The line is `..<end`, the next one starts at `next`.
    case line(end: Int, next: Int)
    /// The byte at `at` cannot stand in a line.
    case malformed(StaticString, at: Int)
}

/// Finds CRLF from `start`. A bare CR, a bare LF, NUL and any other control is malformed as soon as it is seen (RFC 9112 §2.2).
func scanLine(_ bytes: UnsafeRawBufferPointer, from start: Int) -> LineScan {
    let at = firstControl(bytes, from: min(start, bytes.count), to: bytes.count)
    guard at < bytes.count else { return .incomplete(resumeAt: at) }
    switch bytes[at] {
    case 0x0D:
        guard at + 1 < bytes.count else { return .incomplete(resumeAt: at) }
        return bytes[at + 1] == 0x0A ? .line(end: at, next: at + 2) : .malformed("bare carriage return", at: at)
    case 0x0A: return .malformed("line ends without a carriage return", at: at)
    case 0x00: return .malformed("nul byte in the head", at: at)
    default: return .malformed("control character in the head", at: at)
    }
}

extension FieldLine {
    /// The line `range` of `bytes`, whose name ends at `colon`, and behind which a CRLF stands. Positions are stored relative to `base`.
    init(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>, colon: Int, base: Int) {
        let value = trimmed(bytes, colon + 1..<range.upperBound)
        let blanks = value.lowerBound - colon - 1
        let isWire = value.upperBound == range.upperBound && (value.isEmpty ? blanks == 0 : blanks == 1 && bytes[colon + 1] == 0x20)
        self.init(
            nameStart: range.lowerBound - base, nameCount: colon - range.lowerBound, valueStart: value.lowerBound - base,
            valueCount: value.count, mark: NameMark(UnsafeRawBufferPointer(rebasing: bytes[range.lowerBound..<colon])), isWire: isWire)
    }
}

/// What `parseFieldLine` made of a line.
enum FieldLineParse {
    case line(FieldLine)
    case malformed(StaticString)
}

/// Splits the line `range` (without CRLF, already free of controls) into name and value. Positions are stored relative to `base`.
///
/// Strict: a token, directly a colon, a value without its surrounding SP and HTAB (RFC 9112 §5.1). Folding is refused (§5.2).
func parseFieldLine(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>, base: Int = 0) -> FieldLineParse {
    let colon = endOfToken(bytes, from: range.lowerBound, to: range.upperBound)
    guard colon < range.upperBound else { return .malformed("field line without a colon") }
    guard bytes[colon] == 0x3A else {
        let isBlank = bytes[colon] == 0x20 || bytes[colon] == 0x09
        if isBlank && colon == range.lowerBound { return .malformed("folded field line") }
        return .malformed(isBlank ? "whitespace in or after a field name" : "field name is not a token")
    }
    guard colon > range.lowerBound else { return .malformed("empty field name") }
    return .line(FieldLine(bytes, range, colon: colon, base: base))
}

/// `range` without surrounding SP and HTAB.
@inline(__always)
func trimmed(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) -> Range<Int> {
    var lower = range.lowerBound
    var upper = range.upperBound
    while lower < upper, bytes[lower] == 0x20 || bytes[lower] == 0x09 { lower += 1 }
    while upper > lower, bytes[upper - 1] == 0x20 || bytes[upper - 1] == 0x09 { upper -= 1 }
    return lower..<upper
}

/// Walks a comma-separated list. Unlike `forEachListElement` it yields empty elements too, for callers that refuse them.
struct ListCursor {
    private let bytes: UnsafeRawBufferPointer
    private var start = 0

    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    mutating func next() -> UnsafeRawBufferPointer? {
        guard start <= bytes.count else { return nil }
        var end = start
        while end < bytes.count, bytes[end] != 0x2C { end += 1 }
        let element = trimmed(bytes, start..<end)
        start = end + 1
        return UnsafeRawBufferPointer(rebasing: bytes[element])
    }
}
