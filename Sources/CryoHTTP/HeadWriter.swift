// Writes a message head, or what frames a chunk, into memory that is there already (RFC 9112 §2.1, §7.1).
// Domain: pure

/// The room for a whole head is asked for once; after that every piece is one copy. Too little room is a bug of the caller's, and traps.
@usableFromInline
package struct HeadWriter: ~Copyable {
    /// The digits of the largest number.
    package static let decimalBytes = 20
    /// Start line without target and method, a framing field, Connection and the empty line: all that is not somebody's field.
    package static let ownBytes = 256

    @usableFromInline package let room: UnsafeMutableRawBufferPointer
    @usableFromInline package private(set) var count = 0

    @inlinable @inline(__always)
    package init(_ room: UnsafeMutableRawBufferPointer) { self.room = room }

    @inlinable @inline(__always)
    package mutating func append(_ bytes: UnsafeRawBufferPointer) {
        guard let source = bytes.baseAddress else { return }
        precondition(bytes.count <= room.count - count)
        (room.baseAddress.unsafelyUnwrapped + count).copyMemory(from: source, byteCount: bytes.count)
        count += bytes.count
    }

    @inlinable @inline(__always)
    package mutating func append(_ text: StaticString) { append(text.rawBytes) }

    @inlinable
    package mutating func append(_ bytes: [UInt8]) { bytes.withUnsafeBytes { append($0) } }

    @usableFromInline
    package mutating func appendDecimal(_ value: UInt64) {
        // Counted first, so that the digits are written where they belong, the last one first.
        var size = 1
        var rest = value / 10
        while rest > 0 {
            size &+= 1
            rest /= 10
        }
        precondition(size <= room.count - count)
        rest = value
        var place = count &+ size
        count = place
        repeat {
            place &-= 1
            room[place] = 0x30 &+ UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        } while rest > 0
    }

    /// Lower-case digits without leading zeros.
    @inlinable @inline(__always)
    package mutating func appendHexadecimal(_ value: UInt64) {
        let digits = max(1, (67 - value.leadingZeroBitCount) >> 2)
        precondition(digits <= room.count - count)
        var shift = UInt64(digits - 1) * 4
        let end = count + digits
        while count < end {
            let digit = UInt8(truncatingIfNeeded: value &>> shift) & 15
            room.storeBytes(of: digit < 10 ? 0x30 + digit : 0x57 + digit, toByteOffset: count, as: UInt8.self)
            count += 1
            shift = shift &- 4
        }
    }

    /// `HTTP/1.1 nnn Reason` CRLF. An unknown status gets an empty reason phrase.
    package mutating func appendStatusLine(_ status: UInt16) {
        if status == 200 { return append("HTTP/1.1 200 OK\r\n") }
        append("HTTP/1.1 ")
        appendDecimal(UInt64(status))
        append(" ")
        append(reasonPhrase(status))
        appendLineEnd()
    }

    /// One field line. The caller guarantees a value without CR, LF and NUL.
    @inlinable @inline(__always)
    package mutating func appendField(_ name: StaticString, _ value: StaticString) {
        append(name)
        append(": ")
        append(value)
        appendLineEnd()
    }

    @inlinable @inline(__always)
    package mutating func appendField(_ name: StaticString, _ value: UInt64) {
        append(name)
        append(": ")
        appendDecimal(value)
        appendLineEnd()
    }

    /// Every line that is not removed, in order, name spelling kept. At most `wireBytesMax` of the fields.
    @inlinable
    package mutating func appendFields(_ fields: FieldSection) { fields.forEachRun { append($0) } }

    /// `Date` of that second.
    package mutating func appendDateField(unixSeconds: Int64) {
        var date: [UInt8] = []
        HTTPDate.append(unixSeconds: unixSeconds, to: &date)
        append("Date: ")
        append(date)
        appendLineEnd()
    }

    /// CRLF: ends a line; a second one ends the head.
    @inlinable @inline(__always)
    package mutating func appendLineEnd() { append("\r\n") }
}
