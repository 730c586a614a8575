// Reads the head of a response off a connection, whose bytes come in pieces of any size.
// Domain: pure

/// Finds the lines for a `ResponseAssembler`: most come whole, in one piece with all others; the beginning of one waits here for its end.
package struct ResponseHeadReader: Sendable {
    package enum Result: Sendable {
        /// Every byte was used, and the head goes on.
        case more
        /// Interim heads before it were dropped. The minor version of HTTP/1, nil for other protocols. How the body ends that follows
        /// (RFC 9112 §6.3), unless the request was a HEAD, whose answer has none.
        case head(ResponseHead, minorVersion: UInt8?, framing: BodyFraming)
        /// The response cannot be trusted; the connection must not be reused.
        case malformed
    }

    private var assembler: ResponseAssembler
    /// A line that has come in part. Longer ones than the assembler would take are refused before they end.
    private var part: [UInt8] = []

    package init(limits: HeadLimits) { assembler = ResponseAssembler(limits: limits) }

    /// Makes ready for the next response.
    package mutating func reset() {
        if !part.isEmpty { part = [] }
        assembler.reset()
    }

    /// Uses bytes up to the end of the head; `used` tells how many.
    package mutating func read(_ bytes: UnsafeRawBufferPointer, used: inout Int) -> Result {
        used = 0
        while used < bytes.count {
            if part.isEmpty { used += assembler.appendPlainLines(UnsafeRawBufferPointer(rebasing: bytes[used...])) }
            let rest = UnsafeRawBufferPointer(rebasing: bytes[used...])
            let line: ResponseLineResult
            if part.isEmpty, let end = assembler.appendPlainEnd(rest) {
                used += 2
                line = end
            } else if let lineFeed = endOfLine(rest) {
                used += lineFeed + 1
                line = appendLine(UnsafeRawBufferPointer(rebasing: rest[...lineFeed]))
            } else {
                part.append(contentsOf: rest)
                used = bytes.count
                return part.count > assembler.limits.fieldBytesMax + 2 ? .malformed : .more
            }
            switch line {
            case .more, .informational, .trailer: break
            case .head:
                return .head(assembler.takeHead(), minorVersion: assembler.minorVersion, framing: assembler.framing)
            case .malformed: return .malformed
            }
        }
        return .more
    }

    private mutating func appendLine(_ end: UnsafeRawBufferPointer) -> ResponseLineResult {
        if part.isEmpty { return assembler.append(end) }
        part.append(contentsOf: end)
        let result = part.withUnsafeBytes { assembler.append($0) }
        part.removeAll(keepingCapacity: true)
        return result
    }

    /// Where the first line feed is. Most often it is the first control but one.
    private func endOfLine(_ bytes: UnsafeRawBufferPointer) -> Int? {
        let control = firstControl(bytes, from: 0, to: bytes.count)
        if control + 1 < bytes.count, bytes[control + 1] == 0x0A, bytes[control] == 0x0D { return control + 1 }
        return bytes[control...].firstIndex(of: 0x0A)
    }
}
