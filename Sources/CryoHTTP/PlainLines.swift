// The short way for field lines that are beyond doubt, which nearly all are.
// Domain: pure

/// How far plain lines are read. What would exceed it is left to the careful readers, which know how it is refused.
struct PlainLineBounds {
    /// One line without its CRLF.
    let lineBytesMax: Int
    /// Where the last line may end.
    let endMax: Int
    /// Lines in the whole section.
    let linesMax: Int
}

extension FieldSection {
    /// Adds the field lines of `bytes` from `start` on that are whole, beyond doubt and within the bounds: a token, directly a colon, and no
    /// control but HTAB up to the CRLF. Where they end. What comes there is told by `scanLine` and `parseFieldLine`; a line that both ways
    /// read they read alike.
    ///
    /// Positions are stored relative to `base`; the bytes themselves are for the caller to add.
    mutating func addPlainLines(_ bytes: UnsafeRawBufferPointer, from start: Int, base: Int, _ bounds: PlainLineBounds) -> Int {
        guard let input = bytes.baseAddress else { return start }
        var position = start
        var isTableFull = true
        while isTableFull {
            makeRoom(bytes: 0, lines: 1)
            isTableFull = false
            var found = marks
            block?.withMemory { memory in
                var count = memory.extent.pointee.lines
                while count < bounds.linesMax, position < bytes.count, input[position] != 0x0D {
                    isTableFull = count == memory.extent.pointee.linesMax
                    guard !isTableFull, let (line, end) = plainLine(input, from: position, to: bytes.count, base: base),
                        end &- position <= bounds.lineBytesMax, end <= bounds.endMax
                    else { break }
                    memory.lines[count] = line
                    found.insert(line.mark)
                    count &+= 1
                    position = end &+ 2
                }
                memory.extent.pointee.lines = count
            }
            marks = found
        }
        return position
    }
}

extension UnsafeRawPointer {
    @inline(__always)
    fileprivate subscript(offset: Int) -> UInt8 { load(fromByteOffset: offset, as: UInt8.self) }
}

/// The line at `start`, and where its CRLF begins; nil when it is not plain. Nothing is read at or behind `limit`.
@inline(__always)
private func plainLine(_ input: UnsafeRawPointer, from start: Int, to limit: Int, base: Int) -> (line: FieldLine, end: Int)? {
    let bytes = UnsafeRawBufferPointer(start: input, count: limit)
    let colon = endOfToken(bytes, from: start, to: limit)
    guard colon > start, colon < limit, input[colon] == 0x3A else { return nil }
    let end = firstControl(bytes, from: colon &+ 1, to: limit)
    // The usual case: one space before the value, none behind it. No other control than HTAB is in between.
    guard end &+ 1 < limit, input[end] == 0x0D, input[end &+ 1] == 0x0A else { return nil }
    guard end &- colon > 2, input[colon &+ 1] == 0x20, input[colon &+ 2] > 0x20, input[end &- 1] > 0x20 else {
        return (FieldLine(bytes, start..<end, colon: colon, base: base), end)
    }
    let line = FieldLine(
        nameStart: start &- base, nameCount: colon &- start, valueStart: colon &+ 2 &- base, valueCount: end &- colon &- 2,
        mark: NameMark(first: input[start], last: input[colon &- 1], count: colon &- start), isWire: true)
    return (line, end)
}
