// One field line as positions in the bytes of its section, and the mark by which names are told apart before they are compared.
// Domain: pure

/// Where a line's name and value lie in the section that owns it. A removed line has no name and is skipped by every reader.
@usableFromInline
package struct FieldLine: Sendable, Equatable {
    @usableFromInline package internal(set) var nameStart: UInt32
    @usableFromInline package internal(set) var nameCount: UInt32
    @usableFromInline package internal(set) var valueStart: UInt32
    @usableFromInline package var valueCount: UInt32
    /// The mark of the name.
    @usableFromInline package var mark: NameMark
    /// Name and value lie in the bytes as they go on the wire: `name: value` CRLF, or `name:` CRLF.
    @usableFromInline package var isWire: Bool

    @inlinable @inline(__always)
    package init(nameStart: Int, nameCount: Int, valueStart: Int, valueCount: Int, mark: NameMark, isWire: Bool) {
        self.nameStart = UInt32(truncatingIfNeeded: nameStart)
        self.nameCount = UInt32(truncatingIfNeeded: nameCount)
        self.valueStart = UInt32(truncatingIfNeeded: valueStart)
        self.valueCount = UInt32(truncatingIfNeeded: valueCount)
        self.mark = mark
        self.isWire = isWire
    }

    @inlinable @inline(__always) package var isRemoved: Bool { nameCount == 0 }
    @inlinable @inline(__always) package var name: Range<Int> { Int(nameStart)..<Int(nameStart) &+ Int(nameCount) }
    @inlinable @inline(__always) package var value: Range<Int> { Int(valueStart)..<Int(valueStart) &+ Int(valueCount) }

    /// Where the bytes of the line and its line end lie, when they lie as they go on the wire.
    @inlinable @inline(__always) package var wire: Range<Int> { Int(nameStart)..<Int(valueStart) &+ Int(valueCount) &+ 2 }
}

/// One of 64 numbers for a field name: the same for names that differ in case only (RFC 9110 §5.1). Other names may share it; the factors
/// keep apart the names that are common in messages and those that are asked for. Of a literal it is a constant.
@usableFromInline
package struct NameMark: Sendable, Equatable {
    @usableFromInline package let number: UInt8

    @inlinable @inline(__always)
    package init(_ name: UnsafeRawBufferPointer) {
        guard let first = name.first, let last = name.last else {
            self.init(first: 0, last: 0, count: 0)
            return
        }
        self.init(first: first, last: last, count: name.count)
    }

    @inlinable @inline(__always)
    package init(first: UInt8, last: UInt8, count: Int) {
        let sum = UInt(first | 0x20) &* 2 &+ UInt(last | 0x20) &* 19 &+ UInt(bitPattern: count) &* 14
        number = UInt8(truncatingIfNeeded: sum & 63)
    }

    @inlinable @inline(__always)
    package init(_ name: StaticString) { self.init(name.rawBytes) }
}

/// The marks of several names. A name whose mark is missing is not among them.
@usableFromInline
package struct NameMarks: Sendable, Equatable {
    @usableFromInline package var bits: UInt64 = 0

    @inlinable @inline(__always)
    package init() {}

    /// Of literals: a constant.
    @inlinable @inline(__always)
    package init(_ name: StaticString) { insert(NameMark(name)) }

    @inlinable @inline(__always)
    package static func | (one: NameMarks, other: StaticString) -> NameMarks {
        var sum = one
        sum.insert(NameMark(other))
        return sum
    }

    @inlinable @inline(__always)
    package mutating func insert(_ mark: NameMark) { bits |= 1 << UInt64(mark.number) }

    @inlinable @inline(__always)
    package func contains(_ mark: NameMark) -> Bool { bits >> UInt64(mark.number) & 1 == 1 }

    @inlinable @inline(__always)
    package func intersects(_ other: NameMarks) -> Bool { bits & other.bits != 0 }
}
