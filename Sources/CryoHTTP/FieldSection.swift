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
    package var lines: [FieldLine]

    package init() {
        bytes = []
        lines = []
    }

    /// Makes an empty section over `bytes` (a raw head); lines are added with `addLine`.
    package init(over bytes: [UInt8], lineCapacity: Int = 16) {
        self.bytes = bytes
        lines = []
        lines.reserveCapacity(lineCapacity)
    }

    /// A copy that can be changed: with room for lines to come, so that neither array grows again.
    package func copy(reservingBytes: Int, lines reservedLines: Int) -> FieldSection {
        var copy = FieldSection()
        copy.bytes.reserveCapacity(bytes.count + reservingBytes)
        copy.bytes.append(contentsOf: bytes)
        copy.lines.reserveCapacity(lines.count + reservedLines)
        copy.lines.append(contentsOf: lines)
        return copy
    }

    @inlinable
    package mutating func addLine(_ line: FieldLine) { lines.append(line) }

    package mutating func removeAll(keepingCapacity: Bool = true) {
        bytes.removeAll(keepingCapacity: keepingCapacity)
        lines.removeAll(keepingCapacity: keepingCapacity)
    }

    /// Appends a line. The caller guarantees that name and value are valid (RFC 9110 §5.1, §5.5): no CR, LF or NUL.
    package mutating func append(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) {
        let start = bytes.count
        bytes.append(contentsOf: name)
        bytes.append(contentsOf: value)
        lines.append(FieldLine(nameStart: start, nameCount: name.count, valueStart: start + name.count, valueCount: value.count))
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
    package mutating func remove(_ name: StaticString) {
        for index in lines.indices where has(name, at: index) { lines[index].nameCount = 0 }
    }

    package mutating func remove(at index: Int) { lines[index].nameCount = 0 }

    /// Gives line `index` another value; it keeps its place and name. The caller guarantees that the value is valid.
    package mutating func setValue(at index: Int, _ value: [UInt8]) {
        lines[index].valueStart = UInt32(truncatingIfNeeded: bytes.count)
        lines[index].valueCount = UInt32(truncatingIfNeeded: value.count)
        bytes.append(contentsOf: value)
    }

    /// True when line `index` is named `name`, compared without case (RFC 9110 §5.1). `name` must be lower case.
    @inlinable
    package func has(_ name: StaticString, at index: Int) -> Bool {
        let line = lines[index]
        guard Int(line.nameCount) == name.utf8CodeUnitCount, line.nameCount > 0 else { return false }
        return bytes.withUnsafeBytes { equalsIgnoringCase(UnsafeRawBufferPointer(rebasing: $0[line.name]), lowercased: name.rawBytes) }
    }

    /// The first line of that name at or after `start`.
    package func firstIndex(of name: StaticString, from start: Int = 0) -> Int? {
        var index = start
        while index < lines.count {
            if has(name, at: index) { return index }
            index += 1
        }
        return nil
    }

    package func contains(_ name: StaticString) -> Bool { firstIndex(of: name) != nil }

    /// The number of lines of that name.
    package func count(of name: StaticString) -> Int {
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
    package func listContains(_ name: StaticString, token: StaticString) -> Bool {
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

extension StaticString {
    /// The bytes of the literal. Lives as long as the program.
    @inlinable
    package var rawBytes: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: utf8Start, count: utf8CodeUnitCount)
    }
}

/// Compares ASCII without case; `lowercased` must be lower case.
@inlinable
package func equalsIgnoringCase(_ bytes: UnsafeRawBufferPointer, lowercased: UnsafeRawBufferPointer) -> Bool {
    guard bytes.count == lowercased.count else { return false }
    var index = 0
    while index < bytes.count {
        var byte = bytes[index]
        if byte &- 0x41 < 26 { byte |= 0x20 }
        if byte != lowercased[index] { return false }
        index += 1
    }
    return true
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
