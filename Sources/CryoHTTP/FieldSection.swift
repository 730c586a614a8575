// A field section (RFC 9110 §6.3): field lines as ranges over one run of bytes, in the order received.
// Domain: pure

/// The fields of one message. One block holds lines and bytes; no `String` is made per field.
///
/// Parsers copy a whole head (start line included) into it and add lines over it; `append` adds bytes at the end.
/// Duplicates are kept in order (RFC 9110 §5.3: only the same name's order matters, we keep all of it).
// SAFETY: a value like any other: the block is changed only by a section that is its one owner, others copy it first.
@usableFromInline
package struct FieldSection: @unchecked Sendable {
    @usableFromInline package var block: FieldBlock?
    /// The marks of every name that is here, perhaps of some that were. A name whose mark is missing is not here, and most that are asked
    /// for are not: that saves the walk over the lines.
    @usableFromInline package var marks = NameMarks()

    package init() {}

    /// Makes a section over `bytes` without lines in it.
    package init(over bytes: [UInt8]) { bytes.withUnsafeBytes { appendBytes($0) } }

    /// Becomes a copy of `other`, in the memory that is here already where that is large enough.
    package mutating func take(_ other: borrowing FieldSection, reservingBytes: Int, lines reservedLines: Int) {
        guard let taken = other.block?.memory else { return removeAll() }
        removeAll()
        makeRoom(bytes: taken.extent.pointee.bytes &+ reservingBytes, lines: taken.extent.pointee.lines &+ reservedLines)
        // Not nil: there is room.
        block.unsafelyUnwrapped.memory.fill(from: taken)
        marks = other.marks
    }

    package mutating func removeAll(keepingCapacity: Bool = true) {
        marks = NameMarks()
        guard keepingCapacity, isKnownUniquelyReferenced(&block) else {
            block = nil
            return
        }
        guard let extent = block?.memory.extent else { return }
        extent.pointee.lines = 0
        extent.pointee.bytes = 0
    }

    /// Takes out what was added last, until the section is as long as it was.
    package mutating func truncate(bytes byteCount: Int, lines lineCount: Int) {
        precondition(byteCount <= bytes.count && lineCount <= lines.count)
        guard byteCount < bytes.count || lineCount < lines.count else { return }
        makeRoom(bytes: 0, lines: 0)
        block?.withMemory {
            $0.extent.pointee.lines = lineCount
            $0.extent.pointee.bytes = byteCount
        }
    }

    /// Appends a line. The caller guarantees that name and value are valid (RFC 9110 §5.1, §5.5): no CR, LF or NUL, and that they do not
    /// lie in this section. Its bytes are laid down as they go on the wire, so that a run of lines can be sent by one copy.
    @inlinable @inline(__always)
    package mutating func append(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) {
        append(name, NameMark(name), value)
    }

    @usableFromInline
    mutating func append(_ name: UnsafeRawBufferPointer, _ mark: NameMark, _ value: UnsafeRawBufferPointer) {
        place(name, mark, value)
    }

    /// As `append`, in place instead of by a call: for the lines that every message gets. The name of a literal is then stored as numbers.
    @inlinable @inline(__always)
    package mutating func appendInPlace(_ name: StaticString, _ value: UnsafeRawBufferPointer) {
        place(name.rawBytes, NameMark(name), value)
    }

    /// As above, of a value in two parts, the first of which is not empty.
    @inlinable @inline(__always)
    package mutating func appendInPlace(_ name: StaticString, _ value: UnsafeRawBufferPointer, _ rest: UnsafeRawBufferPointer) {
        let mark = NameMark(name)
        makeRoom(bytes: name.utf8CodeUnitCount &+ value.count &+ rest.count &+ 4, lines: 1)
        marks.insert(mark)
        // Not nil: there is room.
        let memory = block.unsafelyUnwrapped.memory
        memory.add(memory.lengthen(memory.write(name: name.rawBytes, value: value, mark: mark), by: rest))
    }

    @inlinable @inline(__always)
    mutating func place(_ name: UnsafeRawBufferPointer, _ mark: NameMark, _ value: UnsafeRawBufferPointer) {
        makeRoom(bytes: name.count &+ value.count &+ 4, lines: 1)
        marks.insert(mark)
        // Not nil: there is room.
        let memory = block.unsafelyUnwrapped.memory
        memory.add(memory.write(name: name, value: value, mark: mark))
    }

    @inlinable
    package mutating func append(_ name: StaticString, _ value: [UInt8]) {
        value.withUnsafeBytes { append(name: name.rawBytes, value: $0) }
    }

    @inlinable
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
    mutating func removeLines(_ name: StaticString) {
        // Looked for before anything is changed: a section whose lines are shared is copied only when there is something to remove.
        let (name, mark) = (name.rawBytes, NameMark(name))
        guard let first = search(name, mark, from: 0) else { return }
        remove { memory, index in
            index >= first && memory.lines[index].mark == mark && (index == first || memory.hasName(name, at: index))
        }
    }

    /// Removes the lines that `isUnwanted`, and forgets the marks that are gone with them.
    @inline(__always)
    mutating func remove(where isUnwanted: (FieldMemory, Int) -> Bool) {
        makeRoom(bytes: 0, lines: 0)
        guard let memory = block?.memory else { return }
        var left = NameMarks()
        let count = memory.extent.pointee.lines
        var index = 0
        while index < count {
            if !memory.lines[index].isRemoved {
                if isUnwanted(memory, index) {
                    memory.lines[index].nameCount = 0
                } else {
                    left.insert(memory.lines[index].mark)
                }
            }
            index &+= 1
        }
        marks = left
    }

    package mutating func remove(at index: Int) {
        precondition(lines.indices.contains(index))
        makeRoom(bytes: 0, lines: 0)
        block?.withMemory { $0.lines[index].nameCount = 0 }
    }

    /// Gives line `index` another value, which must not lie in this section; it keeps its place and name. The caller guarantees that the
    /// value is valid.
    package mutating func setValue(at index: Int, _ value: UnsafeRawBufferPointer) {
        let line = lines[index]
        guard !line.isRemoved else { return }
        makeRoom(bytes: line.name.count + value.count + 4, lines: 0)
        // Not nil: there is a line.
        let memory = block.unsafelyUnwrapped.memory
        memory.lines[index] = memory.write(name: memory.slice(line.name), value: value, mark: line.mark)
    }

    package mutating func setValue(at index: Int, _ value: [UInt8]) { value.withUnsafeBytes { setValue(at: index, $0) } }

    /// False when no line has that name (lower case); true says nothing.
    @inlinable @inline(__always)
    package func mayContain(_ name: StaticString) -> Bool { marks.contains(NameMark(name)) }

    /// True when line `index` is named `name`, compared without case (RFC 9110 §5.1). `name` must be lower case.
    @inlinable
    package func has(_ name: StaticString, at index: Int) -> Bool {
        guard let block else { return false }
        return block.withMemory { memory in
            precondition(index >= 0 && index < memory.extent.pointee.lines)
            return memory.lines[index].mark == NameMark(name) && memory.hasName(name.rawBytes, at: index)
        }
    }

    /// The first line of that name at or after `start`.
    @inlinable @inline(__always)
    package func firstIndex(of name: StaticString, from start: Int = 0) -> Int? {
        mayContain(name) ? search(name.rawBytes, NameMark(name), from: start) : nil
    }

    @usableFromInline
    func search(_ name: UnsafeRawBufferPointer, _ mark: NameMark, from start: Int) -> Int? {
        guard let memory = block?.memory, start >= 0 else { return nil }
        let count = memory.extent.pointee.lines
        var index = start
        while index < count {
            if memory.lines[index].mark == mark, memory.hasName(name, at: index) { return index }
            index &+= 1
        }
        return nil
    }

    /// The lines of that name, for who changes nothing meanwhile: the sequence holds the section.
    package func indices(of name: StaticString) -> NamedLines { NamedLines(fields: self, name: name) }

    package struct NamedLines: Sequence, IteratorProtocol {
        fileprivate let fields: FieldSection
        fileprivate let name: StaticString
        private var start = 0

        fileprivate init(fields: FieldSection, name: StaticString) {
            self.fields = fields
            self.name = name
        }

        package mutating func next() -> Int? {
            guard let index = fields.firstIndex(of: name, from: start) else { return nil }
            start = index + 1
            return index
        }
    }

    @inlinable @inline(__always)
    package func contains(_ name: StaticString) -> Bool { firstIndex(of: name) != nil }

    /// The number of lines of that name.
    @inlinable @inline(__always)
    package func count(of name: StaticString) -> Int { mayContain(name) ? countLines(name) : 0 }

    @usableFromInline
    func countLines(_ name: StaticString) -> Int {
        var count = 0
        for _ in indices(of: name) { count += 1 }
        return count
    }

    /// The value of the first line of that name, as a copy. Cold paths and tests; the data path uses `withValue`.
    package func value(of name: StaticString) -> [UInt8]? { withValue(of: name) { Array($0) } }

    @inlinable @inline(__always)
    package func withValue<R>(at index: Int, _ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        let value = lines[index].value
        return try bytes.withUnsafeBytes { try body(UnsafeRawBufferPointer(rebasing: $0[value])) }
    }

    @inlinable @inline(__always)
    package func withName<R>(at index: Int, _ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        let name = lines[index].name
        return try bytes.withUnsafeBytes { try body(UnsafeRawBufferPointer(rebasing: $0[name])) }
    }

    /// The value of the first line of that name, or nil.
    @inlinable @inline(__always)
    package func withValue<R>(of name: StaticString, _ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R? {
        guard let index = firstIndex(of: name) else { return nil }
        return try withValue(at: index, body)
    }

    /// True when the fields of that name, read as a comma-separated list, hold `token` (lower case), compared without case.
    @inlinable @inline(__always)
    package func listContains(_ name: StaticString, token: StaticString) -> Bool { mayContain(name) && searchLists(name, token) }

    @usableFromInline
    func searchLists(_ name: StaticString, _ token: StaticString) -> Bool {
        guard let memory = block?.memory else { return false }
        let (name, mark, token) = (name.rawBytes, NameMark(name), token.rawBytes)
        let count = memory.extent.pointee.lines
        var index = 0
        while index < count {
            if memory.lines[index].mark == mark, memory.hasName(name, at: index) {
                var elements = ListCursor(memory.slice(memory.lines[index].value))
                while let element = elements.next() { if equalsIgnoringCase(element, lowercased: token) { return true } }
            }
            index &+= 1
        }
        return false
    }
}

extension FieldSection {
    /// Calls `body` with the lines that may have one of the names of `marks`; with their bytes it finds out.
    @inline(__always)
    func forEachLine(marked wanted: NameMarks, _ body: (FieldLine, UnsafeRawBufferPointer) -> Void) {
        guard let memory = block?.memory, marks.intersects(wanted) else { return }
        let count = memory.extent.pointee.lines
        var index = 0
        while index < count {
            let line = memory.lines[index]
            if wanted.contains(line.mark), !line.isRemoved { body(line, memory.filled) }
            index &+= 1
        }
    }
}

// MARK: What lies in it

extension FieldSection {
    /// The lines in order, removed ones among them.
    @usableFromInline
    package struct Lines: RandomAccessCollection {
        @usableFromInline package let block: FieldBlock?
        @usableFromInline package let endIndex: Int

        @inlinable @inline(__always)
        package init(_ block: FieldBlock?) {
            self.block = block
            endIndex = block?.header.lines ?? 0
        }

        @inlinable @inline(__always) package var startIndex: Int { 0 }
        @inlinable @inline(__always) package var count: Int { endIndex }

        @inlinable @inline(__always)
        package subscript(index: Int) -> FieldLine {
            precondition(index >= 0 && index < endIndex)
            // Not nil: there is a line.
            return block.unsafelyUnwrapped.withMemory { $0.lines[index] }
        }
    }

    /// The bytes that the ranges of the lines are of.
    @usableFromInline
    package struct Bytes: RandomAccessCollection {
        @usableFromInline package let block: FieldBlock?
        @usableFromInline package let endIndex: Int

        @inlinable @inline(__always)
        package init(_ block: FieldBlock?) {
            self.block = block
            endIndex = block?.header.bytes ?? 0
        }

        /// How many bytes there is memory for.
        @inlinable @inline(__always) package var capacity: Int { block?.header.bytesMax ?? 0 }
        @inlinable @inline(__always) package var startIndex: Int { 0 }
        @inlinable @inline(__always) package var count: Int { endIndex }

        @inlinable @inline(__always)
        package subscript(index: Int) -> UInt8 {
            precondition(index >= 0 && index < endIndex)
            return withUnsafeBytes { $0[index] }
        }

        @inlinable @inline(__always)
        package func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
            guard let block else { return try body(UnsafeRawBufferPointer(start: nil, count: 0)) }
            return try block.withMemory { try body($0.filled) }
        }

        @inlinable
        package func withContiguousStorageIfAvailable<R>(_ body: (UnsafeBufferPointer<UInt8>) throws -> R) rethrows -> R? {
            try withUnsafeBytes { try $0.withMemoryRebound(to: UInt8.self) { try body($0) } }
        }
    }

    @inlinable @inline(__always) package var lines: Lines { Lines(block) }
    @inlinable @inline(__always) package var bytes: Bytes { Bytes(block) }
}

// MARK: Room

extension FieldSection {
    /// Makes this section the one owner of a block with that much room.
    @inlinable @inline(__always)
    package mutating func makeRoom(bytes: Int, lines: Int) {
        if isKnownUniquelyReferenced(&block), block.unsafelyUnwrapped.memory.hasRoom(lines: lines, bytes: bytes) { return }
        move(addingBytes: bytes, lines: lines)
    }

    @usableFromInline
    mutating func move(addingBytes: Int, lines addedLines: Int) {
        // Twice what is here, so that many small additions do not copy it each time.
        let linesMax = Swift.max(16, Swift.max(lines.count + addedLines, addedLines == 0 ? 0 : lines.count * 2))
        let bytesMax = Swift.max(512, Swift.max(bytes.count + addingBytes, addingBytes == 0 ? 0 : bytes.count * 2))
        block = copyOfBlock(linesMax: linesMax, bytesMax: bytesMax)
    }

    private func copyOfBlock(linesMax: Int, bytesMax: Int) -> FieldBlock {
        let made = FieldBlock.make(linesMax: linesMax, bytesMax: bytesMax)
        block?.withMemory { old in made.withMemory { $0.fill(from: old) } }
        return made
    }

    /// For parsers, which add a line over bytes that are here or come before anything else is done.
    @inline(__always)
    mutating func add(_ line: FieldLine) {
        makeRoom(bytes: 0, lines: 1)
        marks.insert(line.mark)
        block?.withMemory { $0.add(line) }
    }

    /// Adds bytes that lines lie over.
    mutating func appendBytes(_ more: UnsafeRawBufferPointer) {
        makeRoom(bytes: more.count, lines: 0)
        // Not nil: there is room.
        block.unsafelyUnwrapped.memory.add(more)
    }

    mutating func appendByte(_ byte: UInt8) {
        makeRoom(bytes: 1, lines: 0)
        block?.withMemory { $0.add(byte) }
    }

    /// Empties the section for another message. Keeps its memory when nobody else has it and it is no larger than usual.
    mutating func startOver() {
        dropLarge()
        removeAll()
    }

    /// For who holds the section only for its memory.
    mutating func dropLarge() { if let block, block.header.bytesMax > Self.keptBytesMax { self = FieldSection() } }

    /// A larger block is given back with its message.
    private static let keptBytesMax = 4096
}

// MARK: The wire

extension FieldSection {
    /// Calls `body` with the bytes of all lines that are not removed, as they go on the wire, in order and in as few pieces as there are.
    @inlinable @inline(__always)
    package func forEachRun(_ body: (UnsafeRawBufferPointer) -> Void) {
        block?.withMemory { memory in
            var start = 0
            var end = 0
            var index = 0
            while index < memory.extent.pointee.lines {
                let line = memory.lines[index]
                index &+= 1
                if line.isRemoved { continue }
                if !line.isWire || Int(line.nameStart) != end {
                    if start < end { body(memory.slice(start..<end)) }
                    start = Int(line.nameStart)
                    end = start
                }
                if line.isWire { end = line.wire.upperBound } else { line.spell(memory.filled, body) }
            }
            if start < end { body(memory.slice(start..<end)) }
        }
    }

    /// No more than this goes on the wire.
    @inlinable @inline(__always)
    package var wireBytesMax: Int { bytes.count + 4 * lines.count }
}

extension FieldLine {
    /// A line with other whitespace than one space before its value, or with some behind it.
    @usableFromInline
    func spell(_ bytes: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Void) {
        let separator: StaticString = ": "
        let lineEnd: StaticString = "\r\n"
        body(UnsafeRawBufferPointer(rebasing: bytes[name]))
        body(UnsafeRawBufferPointer(rebasing: separator.rawBytes[..<(valueCount == 0 ? 1 : 2)]))
        body(UnsafeRawBufferPointer(rebasing: bytes[value]))
        body(lineEnd.rawBytes)
    }
}
