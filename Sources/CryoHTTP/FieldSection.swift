// A field section (RFC 9110 §6.3): field lines as ranges over one byte array, in the order received.
// Domain: pure

/// One field line as byte ranges into the section that owns it. A removed line has `isRemoved` set and is skipped by every reader.
package struct FieldLine: Sendable, Equatable {
    package var nameStart: UInt32
    package var nameCount: UInt32
    package var valueStart: UInt32
    package var valueCount: UInt32

    @inlinable
    package init(nameStart: Int, nameCount: Int, valueStart: Int, valueCount: Int) {
        self.nameStart = UInt32(truncatingIfNeeded: nameStart)
        self.nameCount = UInt32(truncatingIfNeeded: nameCount)
        self.valueStart = UInt32(truncatingIfNeeded: valueStart)
        self.valueCount = UInt32(truncatingIfNeeded: valueCount)
    }

    @inlinable package var isRemoved: Bool { nameCount == 0 }
    @inlinable package var name: Range<Int> { Int(nameStart)..<Int(nameStart) + Int(nameCount) }
    @inlinable package var value: Range<Int> { Int(valueStart)..<Int(valueStart) + Int(valueCount) }
}

/// The fields of one message. One array holds the bytes, one the ranges; no `String` is made per field.
///
/// Parsers copy a whole head (start line included) into `bytes` and add lines over it; `append` adds bytes at the end.
/// Duplicates are kept in order (RFC 9110 §5.3: only the same name's order matters, we keep all of it).
package struct FieldSection: Sendable {
    package var bytes: [UInt8]
    package private(set) var lines: [FieldLine]
    /// The marks of every name that is or was here. A name whose mark is missing is not here, and most that are asked for are not:
    /// that saves the walk over the lines.
    package private(set) var marks: UInt64 = 0

    package init() {
        bytes = []
        lines = []
    }

    /// Makes a section over `bytes` (a raw head) with `lines` in it; more are added with `addLine`.
    package init(over bytes: [UInt8], lines: [FieldLine] = []) {
        self.bytes = bytes
        self.lines = lines
        for line in lines { marks |= mark(of: line) }
    }

    /// A copy that can be changed: with room for lines to come, so that neither array grows again.
    package func copy(reservingBytes: Int, lines reservedLines: Int) -> FieldSection {
        var copy = FieldSection()
        copy.bytes.reserveCapacity(bytes.count + reservingBytes)
        copy.bytes.append(contentsOf: bytes)
        copy.lines.reserveCapacity(lines.count + reservedLines)
        copy.lines.append(contentsOf: lines)
        copy.marks = marks
        return copy
    }

    /// Becomes a copy of `other`, in the memory that is here already where that is large enough.
    package mutating func take(_ other: borrowing FieldSection, reservingBytes: Int, lines reservedLines: Int) {
        removeAll()
        bytes.reserveCapacity(other.bytes.count + reservingBytes)
        other.bytes.withUnsafeBytes { bytes.append(contentsOf: $0) }
        lines.reserveCapacity(other.lines.count + reservedLines)
        other.lines.withUnsafeBufferPointer { lines.append(contentsOf: $0) }
        marks = other.marks
    }

    /// `line` lies over bytes that are here already.
    package mutating func addLine(_ line: FieldLine) {
        marks |= mark(of: line)
        lines.append(line)
    }

    package mutating func reserveLines(_ count: Int) { lines.reserveCapacity(count) }

    /// Takes out what was added last, until the section is as long as it was.
    package mutating func truncate(bytes byteCount: Int, lines lineCount: Int) {
        bytes.removeLast(bytes.count - byteCount)
        lines.removeLast(lines.count - lineCount)
    }

    package mutating func removeAll(keepingCapacity: Bool = true) {
        bytes.removeAll(keepingCapacity: keepingCapacity)
        lines.removeAll(keepingCapacity: keepingCapacity)
        marks = 0
    }

    /// Appends a line. The caller guarantees that name and value are valid (RFC 9110 §5.1, §5.5): no CR, LF or NUL.
    /// Its bytes are laid down as they go on the wire, so that a run of lines can be sent by one copy.
    package mutating func append(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) {
        let start = bytes.count
        let valueStart = name.count + (value.isEmpty ? 1 : 2)
        let length = valueStart + value.count + 2
        withUnsafeTemporaryAllocation(byteCount: length, alignment: 1) { line in
            line.copyMemory(from: name)
            line[name.count] = 0x3A
            line[valueStart - 1] = value.isEmpty ? 0x3A : 0x20
            UnsafeMutableRawBufferPointer(rebasing: line[valueStart...]).copyMemory(from: value)
            line[length - 2] = 0x0D
            line[length - 1] = 0x0A
            bytes.append(contentsOf: line)
        }
        marks |= nameMark(name)
        lines.append(FieldLine(nameStart: start, nameCount: name.count, valueStart: start + valueStart, valueCount: value.count))
    }

    package mutating func append(_ name: StaticString, _ value: [UInt8]) {
        value.withUnsafeBytes { append(name: name.rawBytes, value: $0) }
    }

    package mutating func append(_ name: StaticString, _ value: StaticString) {
        append(name: name.rawBytes, value: value.rawBytes)
    }

    package mutating func append(name: [UInt8], value: [UInt8]) {
        name.withUnsafeBytes { name in value.withUnsafeBytes { append(name: name, value: $0) } }
    }

    /// Removes every line of that name; other lines keep their order.
    @inlinable @inline(__always)
    package mutating func remove(_ name: StaticString) { if mayContain(name) { removeLines(name) } }

    @usableFromInline
    package mutating func removeLines(_ name: StaticString) {
        // Looked for before anything is changed: a section whose lines are shared is copied only when there is something to remove.
        var found = search(name, from: 0)
        while let index = found {
            lines[index].nameCount = 0
            found = search(name, from: index + 1)
        }
    }

    package mutating func remove(at index: Int) { lines[index].nameCount = 0 }

    /// Gives line `index` another value; it keeps its place and name. The caller guarantees that the value is valid.
    package mutating func setValue(at index: Int, _ value: [UInt8]) {
        lines[index].valueStart = UInt32(truncatingIfNeeded: bytes.count)
        lines[index].valueCount = UInt32(truncatingIfNeeded: value.count)
        bytes.append(contentsOf: value)
    }

    /// False when no line has that name (lower case); true says nothing.
    @inlinable @inline(__always)
    package func mayContain(_ name: StaticString) -> Bool { marks & nameMark(name.rawBytes) != 0 }

    private func mark(of line: FieldLine) -> UInt64 { bytes.withUnsafeBytes { nameMark(UnsafeRawBufferPointer(rebasing: $0[line.name])) } }

    /// True when line `index` is named `name`, compared without case (RFC 9110 §5.1). `name` must be lower case.
    @inlinable
    package func has(_ name: StaticString, at index: Int) -> Bool {
        let line = lines[index]
        guard Int(line.nameCount) == name.utf8CodeUnitCount, line.nameCount > 0 else { return false }
        return bytes.withUnsafeBytes { equalsIgnoringCase(UnsafeRawBufferPointer(rebasing: $0[line.name]), lowercased: name.rawBytes) }
    }

    /// The first line of that name at or after `start`.
    @inlinable @inline(__always)
    package func firstIndex(of name: StaticString, from start: Int = 0) -> Int? {
        mayContain(name) ? search(name, from: start) : nil
    }

    @usableFromInline
    package func search(_ name: StaticString, from start: Int) -> Int? {
        var index = start
        while index < lines.count {
            if has(name, at: index) { return index }
            index += 1
        }
        return nil
    }

    @inlinable @inline(__always)
    package func contains(_ name: StaticString) -> Bool { firstIndex(of: name) != nil }

    /// The number of lines of that name.
    @inlinable @inline(__always)
    package func count(of name: StaticString) -> Int { mayContain(name) ? countLines(name) : 0 }

    @usableFromInline
    package func countLines(_ name: StaticString) -> Int {
        var count = 0
        for index in lines.indices where has(name, at: index) { count += 1 }
        return count
    }

    /// The value of the first line of that name, as a copy. Cold paths and tests; the data path uses `withValue`.
    package func value(of name: StaticString) -> [UInt8]? {
        guard let index = firstIndex(of: name) else { return nil }
        return Array(bytes[lines[index].value])
    }

    @inlinable
    package func withValue<R>(at index: Int, _ body: (UnsafeRawBufferPointer) -> R) -> R {
        bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[lines[index].value])) }
    }

    @inlinable
    package func withName<R>(at index: Int, _ body: (UnsafeRawBufferPointer) -> R) -> R {
        bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[lines[index].name])) }
    }

    /// The value of the first line of that name, or nil.
    @inlinable
    package func withValue<R>(of name: StaticString, _ body: (UnsafeRawBufferPointer) -> R) -> R? {
        guard let index = firstIndex(of: name) else { return nil }
        return withValue(at: index, body)
    }

    /// True when the fields of that name, read as a comma-separated list, hold `token` (lower case), compared without case.
    @inlinable @inline(__always)
    package func listContains(_ name: StaticString, token: StaticString) -> Bool { mayContain(name) && searchLists(name, token) }

    @usableFromInline
    package func searchLists(_ name: StaticString, _ token: StaticString) -> Bool {
        for index in lines.indices where has(name, at: index) {
            let found = withValue(at: index) { value in
                var found = false
                forEachListElement(value) { if equalsIgnoringCase($0, lowercased: token.rawBytes) { found = true } }
                return found
            }
            if found { return true }
        }
        return false
    }
}

extension FieldSection {
    /// Calls `body` with the bytes of all lines that are not removed, as they go on the wire, in order and in as few pieces as there are.
    package func forEachRun(_ body: (UnsafeRawBufferPointer) -> Void) {
        bytes.withUnsafeBytes { bytes in
            var run = 0..<0
            func end() {
                if !run.isEmpty { body(UnsafeRawBufferPointer(rebasing: bytes[run])) }
                run = 0..<0
            }
            for line in lines where !line.isRemoved {
                let start = Int(line.nameStart)
                guard let next = line.wireEnd(in: bytes) else {
                    end()
                    spell(line, bytes, body)
                    continue
                }
                if start != run.upperBound {
                    end()
                    run = start..<next
                } else {
                    run = run.lowerBound..<next
                }
            }
            end()
        }
    }

    /// A line whose value lies elsewhere, or with other whitespace than one space before it.
    private func spell(_ line: FieldLine, _ bytes: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Void) {
        let separator: StaticString = ": "
        let lineEnd: StaticString = "\r\n"
        body(UnsafeRawBufferPointer(rebasing: bytes[line.name]))
        body(UnsafeRawBufferPointer(rebasing: separator.rawBytes[..<(line.valueCount == 0 ? 1 : 2)]))
        body(UnsafeRawBufferPointer(rebasing: bytes[line.value]))
        body(lineEnd.rawBytes)
    }
}

extension FieldLine {
    /// The position behind the line's CRLF when its bytes lie in one piece as they go on the wire: `name: value` CRLF, or `name:` CRLF.
    fileprivate func wireEnd(in bytes: UnsafeRawBufferPointer) -> Int? {
        let nameEnd = Int(nameStart) + Int(nameCount)
        let valueEnd = Int(valueStart) + Int(valueCount)
        let isSpaced = Int(valueStart) == nameEnd + 2 && valueCount > 0
        guard isSpaced || (Int(valueStart) == nameEnd + 1 && valueCount == 0), bytes.count >= valueEnd + 2, bytes[nameEnd] == 0x3A,
            !isSpaced || bytes[nameEnd + 1] == 0x20, bytes[valueEnd] == 0x0D, bytes[valueEnd + 1] == 0x0A
        else { return nil }
        return valueEnd + 2
    }
}

/// One bit of 64 for a field name: the same for names that differ in case only (RFC 9110 §5.1).
@inlinable @inline(__always)
package func nameMark(_ name: UnsafeRawBufferPointer) -> UInt64 {
    guard let first = name.first, let last = name.last else { return 0 }
    let sum = UInt64(first | 0x20) &* 3 &+ UInt64(last | 0x20) &* 5 &+ UInt64(truncatingIfNeeded: name.count) &* 7
    return 1 << (sum & 63)
}

extension StaticString {
    /// The bytes of the literal. Lives as long as the program.
    @inlinable
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
    guard bytes.count == lowercased.count else { return false }
    var index = 0
    while index + 8 <= bytes.count {
        let word = asciiLowercased(bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self))
        if word != lowercased.loadUnaligned(fromByteOffset: index, as: UInt64.self) { return false }
        index += 8
    }
    while index < bytes.count {
        var byte = bytes[index]
        if byte &- 0x41 < 26 { byte |= 0x20 }
        if byte != lowercased[index] { return false }
        index += 1
    }
    return true
}

/// Eight bytes at once: those that are upper-case ASCII letters become lower case, the others stay. No carry leaves its byte, because
/// only seven bits of each are added.
@inlinable
func asciiLowercased(_ word: UInt64) -> UInt64 {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let highs: UInt64 = 0x8080_8080_8080_8080
    let low = word & ~highs
    let isAtLeastA = low &+ ones &* (0x80 - 0x41)
    let isAboveZ = low &+ ones &* (0x80 - 0x5B)
    return word | ((isAtLeastA & ~isAboveZ & ~word & highs) >> 2)
}

/// Calls `body` for each non-empty element of a comma-separated list, without surrounding SP and HTAB (RFC 9110 §5.6.1).
package func forEachListElement(_ value: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Void) {
    var start = 0
    var index = 0
    while index <= value.count {
        if index == value.count || value[index] == 0x2C {
            var lower = start
            var upper = index
            while lower < upper, value[lower] == 0x20 || value[lower] == 0x09 { lower += 1 }
            while upper > lower, value[upper - 1] == 0x20 || value[upper - 1] == 0x09 { upper -= 1 }
            if lower < upper { body(UnsafeRawBufferPointer(rebasing: value[lower..<upper])) }
            start = index + 1
        }
        index += 1
    }
}
