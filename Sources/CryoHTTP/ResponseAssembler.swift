// Builds response heads from header lines, one by one or as many as have come, and judges their framing (RFC 9112 §4–§6).
// Domain: pure

package enum ResponseLineResult: Sendable {
    case more
    /// An interim head (1xx other than 101) is over; it is dropped. The final head follows.
    case informational(UInt16)
    /// The head is whole: take it with `takeHead`. 101 comes this way too, its fields matter to whoever asked for the upgrade.
    case head
    /// A trailer line came after the head; it was checked and dropped.
    case trailer
    /// The response cannot be trusted; the connection must not be reused.
    case malformed(StaticString)
}

/// Takes one line per call, with its line end, or all lines of a piece that are beyond doubt. Strict where a lax reading could change the
/// message: names, controls, folding, status, framing fields. A line end of LF alone is refused although a recipient may take it (RFC 9112
/// §2.2): where an application lets a line feed into a value, that is how a field of somebody else's gets into the head. Lenient where it
/// cannot: a missing reason phrase.
package struct ResponseAssembler: Sendable {
    /// Interim heads before the final one.
    package static let informationalMax = 32

    /// Each case lists what may follow it.
    private enum Phase {
        /// Then `fields`.
        case statusLine
        /// Then `statusLine` after an interim head, or `trailers`.
        case fields
        /// Stays until `reset`.
        case trailers
        /// Stays until `reset`.
        case failed
    }

    let limits: HeadLimits
    private var phase = Phase.statusLine
    private var status: UInt16 = 0
    /// Those of the head that is coming; after it the head's own, until the next one begins.
    private var fields = FieldSection()
    private var failure: StaticString = ""
    private var informationalCount = 0
    private var headBytes = 0
    private var trailerLines = 0
    /// What the fields of the finished head say, whatever its status.
    private var fieldFraming = BodyFraming.untilClose
    /// The protocol of the current head: minor version of HTTP/1, nil for HTTP/2 and HTTP/3.
    package private(set) var minorVersion: UInt8?

    package init(limits: HeadLimits = HeadLimits()) { self.limits = limits }

    /// The finished head.
    package func takeHead() -> ResponseHead { ResponseHead(status: status, fields: fields) }

    /// What `responseFraming` says of the finished head, if it answers no HEAD, without another look at its fields.
    package var framing: BodyFraming { isBodiless(status: status, requestIsHead: false) ? .none : fieldFraming }

    /// Makes ready for the next response, with its memory kept.
    package mutating func reset() {
        phase = .statusLine
        informationalCount = 0
        headBytes = 0
        trailerLines = 0
        minorVersion = nil
        fields.dropLarge()
    }

    package mutating func append(_ line: UnsafeRawBufferPointer) -> ResponseLineResult {
        var end = line.count
        if end > 0, line[end - 1] == 0x0A {
            guard end > 1, line[end - 2] == 0x0D else {
                return phase == .failed ? .malformed(failure) : fail("response line ends without a carriage return")
            }
            end -= 2
        }
        let text = UnsafeRawBufferPointer(rebasing: line[..<end])
        if phase == .failed { return .malformed(failure) }
        if firstControl(text, from: 0, to: end) < end { return fail("control character in the response head") }
        headBytes += line.count
        if end > limits.fieldBytesMax { return fail("response field line is too long") }
        if headBytes > limits.headBytesMax { return fail("response head is too large") }
        switch phase {
        case .statusLine: return takeStatusLine(text)
        case .fields: return text.isEmpty ? endHead() : takeField(text, of: line)
        case .trailers: return text.isEmpty ? .more : takeTrailer(text)
        case .failed: return .malformed(failure)
        }
    }

    /// Takes the lines at the beginning of `bytes` that are whole, beyond doubt and within the bounds, field lines by one copy; how many
    /// bytes they are. What comes behind them is for `append`, which alone knows what is malformed.
    mutating func appendPlainLines(_ bytes: UnsafeRawBufferPointer) -> Int {
        let start = phase == .statusLine ? appendUsualStatusLine(bytes) : 0
        guard phase == .fields else { return 0 }
        let bounds = PlainLineBounds(
            lineBytesMax: limits.fieldBytesMax, endMax: start + limits.headBytesMax - headBytes - 2, linesMax: limits.fieldsMax)
        let used = fields.addPlainLines(bytes, from: start, base: start - fields.bytes.count, bounds)
        guard used > start else { return start }
        headBytes += used - start
        fields.appendBytes(UnsafeRawBufferPointer(rebasing: bytes[start..<used]))
        return used
    }

    /// Success, as nearly every server spells it: taken by one comparison.
    private mutating func appendUsualStatusLine(_ bytes: UnsafeRawBufferPointer) -> Int {
        let usual: StaticString = "HTTP/1.1 200 OK\r\n"
        let count = usual.utf8CodeUnitCount
        guard bytes.count >= count, equals(UnsafeRawBufferPointer(rebasing: bytes[..<count]), usual),
            count - 2 <= limits.fieldBytesMax, headBytes + count <= limits.headBytesMax
        else { return 0 }
        headBytes += count
        minorVersion = 1
        beginFields(status: 200)
        return count
    }

    private mutating func beginFields(status: UInt16) {
        self.status = status
        fields.startOver()
        phase = .fields
    }

    /// Takes the empty line that ends the head; nil when `bytes` begin with something else, or when `append` is to tell what it means.
    mutating func appendPlainEnd(_ bytes: UnsafeRawBufferPointer) -> ResponseLineResult? {
        guard phase == .fields, headBytes + 2 <= limits.headBytesMax, bytes.count >= 2, bytes[0] == 0x0D, bytes[1] == 0x0A else {
            return nil
        }
        return endHead()
    }

    private mutating func fail(_ reason: StaticString) -> ResponseLineResult {
        phase = .failed
        failure = reason
        return .malformed(reason)
    }

    /// `HTTP/1.0`, `HTTP/1.1`, `HTTP/2` or `HTTP/3`, a space, three digits, and perhaps a space and anything (RFC 9112 §4).
    private mutating func takeStatusLine(_ text: UnsafeRawBufferPointer) -> ResponseLineResult {
        guard text.count >= 10, equals(UnsafeRawBufferPointer(rebasing: text[..<5]), "HTTP/") else { return fail("malformed status line") }
        var index = 6
        switch text[5] {
        case 0x31:
            guard text[6] == 0x2E, text[7] == 0x30 || text[7] == 0x31 else { return fail("malformed version in the status line") }
            minorVersion = text[7] &- 0x30
            index = 8
        case 0x32, 0x33: minorVersion = nil
        default: return fail("malformed version in the status line")
        }
        guard text.count >= index + 4, text[index] == 0x20,
            let status = parseDecimal(UnsafeRawBufferPointer(rebasing: text[index + 1..<index + 4])),
            text.count == index + 4 || text[index + 4] == 0x20
        else { return fail("malformed status line") }
        guard 100...599 ~= status else { return fail("response status out of range") }
        beginFields(status: UInt16(status))
        return .more
    }

    /// `line` is `text` with its line end, if it had one: a whole line can go on by one copy.
    private mutating func takeField(_ text: UnsafeRawBufferPointer, of line: UnsafeRawBufferPointer) -> ResponseLineResult {
        guard fields.lines.count < limits.fieldsMax else { return fail("too many response field lines") }
        switch parseFieldLine(text, 0..<text.count, base: -fields.bytes.count) {
        case .malformed(let reason): return fail(reason)
        case .line(let field):
            let lineEnd: StaticString = "\r\n"
            fields.add(field)
            fields.appendBytes(line)
            if line.count == text.count { fields.appendBytes(lineEnd.rawBytes) }
            return .more
        }
    }

    private mutating func takeTrailer(_ text: UnsafeRawBufferPointer) -> ResponseLineResult {
        trailerLines += 1
        if trailerLines > ChunkedDecoder.trailerLinesMax { return fail("too many trailer lines") }
        if case .malformed(let reason) = parseFieldLine(text, 0..<text.count) { return fail(reason) }
        return .trailer
    }

    private mutating func endHead() -> ResponseLineResult {
        headBytes = 0
        if status < 200, status != 101 {
            informationalCount += 1
            if informationalCount > Self.informationalMax { return fail("too many interim responses") }
            phase = .statusLine
            return .informational(status)
        }
        if let reason = collapseFraming() { return fail(reason) }
        phase = .trailers
        return .head
    }

    /// Refuses what two readers could delimit differently; of equal Content-Length lines one is kept (RFC 9112 §6.3 rule 5).
    private mutating func collapseFraming() -> StaticString? {
        let first = fields.firstIndex(of: "content-length")
        let codings = transferCodings(fields)
        if let codings {
            if first != nil { return "content-length and transfer-encoding together" }
            if minorVersion != 1 { return "transfer-encoding in a version without it" }
            if !codings.isPlainChunked { return "transfer-encoding is not plain chunked" }
        }
        guard let first else {
            fieldFraming = codings == nil ? .untilClose : .chunked
            return nil
        }
        guard let length = fields.withValue(at: first, parseDecimal), length <= UInt64(Int64.max) else {
            return "invalid content-length"
        }
        fieldFraming = .length(length)
        var last = first
        while last + 1 < fields.lines.count, let next = fields.firstIndex(of: "content-length", from: last + 1) {
            guard fields.withValue(at: next, parseDecimal) == length else { return "conflicting content-length fields" }
            fields.remove(at: next)
            last = next
        }
        return nil
    }
}

private func transferCodings(_ fields: FieldSection) -> TransferCodings? {
    var codings: TransferCodings?
    var from = 0
    while let index = fields.firstIndex(of: "transfer-encoding", from: from) {
        var sum = codings ?? TransferCodings()
        fields.withValue(at: index) { sum.add($0) }
        codings = sum
        from = index + 1
    }
    return codings
}

private func isBodiless(status: UInt16, requestIsHead: Bool) -> Bool {
    requestIsHead || status < 200 || status == 204 || status == 304
}

/// How the body of a final response ends (RFC 9112 §6.3, rules 1 to 8); nil when the fields are invalid, which the assembler has refused.
/// HEAD, 1xx, 204 and 304 have no body whatever the fields say.
package func responseFraming(status: UInt16, requestIsHead: Bool, fields: FieldSection) -> BodyFraming? {
    if isBodiless(status: status, requestIsHead: requestIsHead) { return BodyFraming.none }
    if let codings = transferCodings(fields) {
        return codings.isPlainChunked && !fields.contains("content-length") ? .chunked : nil
    }
    guard let index = fields.firstIndex(of: "content-length") else { return .untilClose }
    guard let length = fields.withValue(at: index, parseDecimal), length <= UInt64(Int64.max) else { return nil }
    return .length(length)
}
