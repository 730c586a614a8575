// The memory of a field section: a table of lines and the bytes they lie in, one allocation.
// Domain: pure

/// The table comes first, the bytes behind it. Both have a bound that is fixed when the block is made; the section that owns it moves to a
/// larger one.
@usableFromInline
package final class FieldBlock: ManagedBuffer<FieldBlock.Extent, FieldLine> {
    @usableFromInline
    package struct Extent {
        @usableFromInline package var lines = 0
        @usableFromInline package var bytes = 0
        @usableFromInline package let linesMax: Int
        @usableFromInline package let bytesMax: Int

        package init(linesMax: Int, bytesMax: Int) {
            self.linesMax = linesMax
            self.bytesMax = bytesMax
        }
    }

    static func make(linesMax: Int, bytesMax: Int) -> FieldBlock {
        let stride = MemoryLayout<FieldLine>.stride
        let made = FieldBlock.create(minimumCapacity: linesMax + (bytesMax + stride - 1) / stride) { _ in
            Extent(linesMax: linesMax, bytesMax: bytesMax)
        }
        // SAFETY: `create` makes an instance of the class it is called on.
        return unsafeDowncast(made, to: FieldBlock.self)
    }

    /// The addresses, for the section that holds the block.
    // SAFETY: to be used up before the section is changed or let go of: nothing else keeps the block alive.
    @inlinable @inline(__always)
    package var memory: FieldMemory {
        withUnsafeMutablePointers { extent, lines in
            FieldMemory(extent: extent, lines: lines, bytes: UnsafeMutableRawPointer(lines + extent.pointee.linesMax))
        }
    }

    /// Lends the addresses. They must not leave `body`: nothing else keeps the block alive.
    @inlinable @inline(__always)
    package func withMemory<R>(_ body: (FieldMemory) throws -> R) rethrows -> R {
        try withUnsafeMutablePointers { extent, lines in
            try body(FieldMemory(extent: extent, lines: lines, bytes: UnsafeMutableRawPointer(lines + extent.pointee.linesMax)))
        }
    }
}

/// The addresses of a block.
@usableFromInline
package struct FieldMemory {
    @usableFromInline package let extent: UnsafeMutablePointer<FieldBlock.Extent>
    @usableFromInline package let lines: UnsafeMutablePointer<FieldLine>
    @usableFromInline package let bytes: UnsafeMutableRawPointer

    @inlinable @inline(__always)
    package init(extent: UnsafeMutablePointer<FieldBlock.Extent>, lines: UnsafeMutablePointer<FieldLine>, bytes: UnsafeMutableRawPointer) {
        self.extent = extent
        self.lines = lines
        self.bytes = bytes
    }

    /// The bytes that are filled.
    @inlinable @inline(__always)
    package var filled: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: bytes, count: extent.pointee.bytes) }

    /// `range` lies within what is filled: the ranges of lines do.
    @inlinable @inline(__always)
    package func slice(_ range: Range<Int>) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: bytes + range.lowerBound, count: range.count)
    }

    @inlinable @inline(__always)
    package func hasRoom(lines: Int, bytes: Int) -> Bool {
        extent.pointee.linesMax - extent.pointee.lines >= lines && extent.pointee.bytesMax - extent.pointee.bytes >= bytes
    }

    /// There is room for it.
    @inlinable @inline(__always)
    package func add(_ line: FieldLine) {
        lines[extent.pointee.lines] = line
        extent.pointee.lines &+= 1
    }

    /// There is room for them.
    @inlinable @inline(__always)
    package func add(_ more: UnsafeRawBufferPointer) {
        if let start = more.baseAddress { (bytes + extent.pointee.bytes).copyMemory(from: start, byteCount: more.count) }
        extent.pointee.bytes &+= more.count
    }

    /// There is room for it.
    @inlinable @inline(__always)
    package func add(_ byte: UInt8) {
        bytes.storeBytes(of: byte, toByteOffset: extent.pointee.bytes, as: UInt8.self)
        extent.pointee.bytes += 1
    }
}

// MARK: Whole lines

extension FieldMemory {
    /// Copies all of another block into this one, which is empty. There is room for it.
    @inline(__always)
    func fill(from other: FieldMemory) {
        lines.update(from: other.lines, count: other.extent.pointee.lines)
        extent.pointee.lines = other.extent.pointee.lines
        add(other.filled)
    }

    /// True when line `index` has that name (lower case), compared without case. A removed line has none.
    @inlinable @inline(__always)
    package func hasName(_ name: UnsafeRawBufferPointer, at index: Int) -> Bool {
        !lines[index].isRemoved && isNamed(slice(lines[index].name), lowercased: name)
    }

    /// Lays a line down at the end. There is room for it.
    @inlinable @inline(__always)
    package func write(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer, mark: NameMark) -> FieldLine {
        let (start, nameCount, valueCount) = (extent.pointee.bytes, name.count, value.count)
        let colon = start &+ nameCount
        let valueStart = colon &+ (valueCount == 0 ? 1 : 2)
        let lineEnd = valueStart &+ valueCount
        if let from = name.baseAddress { (bytes + start).copyMemory(from: from, byteCount: nameCount) }
        // Two bytes at a time are told as the number that lies in memory as they do.
        bytes.storeBytes(of: UInt16(littleEndian: 0x203A), toByteOffset: colon, as: UInt16.self)
        if let from = value.baseAddress { (bytes + valueStart).copyMemory(from: from, byteCount: valueCount) }
        bytes.storeBytes(of: UInt16(littleEndian: 0x0A0D), toByteOffset: lineEnd, as: UInt16.self)
        extent.pointee.bytes = lineEnd &+ 2
        return FieldLine(
            nameStart: start, nameCount: nameCount, valueStart: valueStart, valueCount: valueCount, mark: mark, isWire: true)
    }

    /// Adds to the value of `line`, which was laid down last and has one. There is room for it.
    @inlinable @inline(__always)
    package func lengthen(_ line: FieldLine, by more: UnsafeRawBufferPointer) -> FieldLine {
        let end = line.value.upperBound
        if let from = more.baseAddress { (bytes + end).copyMemory(from: from, byteCount: more.count) }
        bytes.storeBytes(of: UInt16(littleEndian: 0x0A0D), toByteOffset: end &+ more.count, as: UInt16.self)
        extent.pointee.bytes = end &+ more.count &+ 2
        var longer = line
        longer.valueCount &+= UInt32(truncatingIfNeeded: more.count)
        return longer
    }
}
