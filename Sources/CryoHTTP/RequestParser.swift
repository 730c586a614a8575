// Cuts a strict HTTP/1.x request head out of a byte stream (RFC 9112 §2–§5). What the head means is judged in RequestJudgement.swift.
// Domain: pure

/// The bounds of a message head. At a bound the message passes, one more is refused (414 for the target, 431 for fields).
package struct HeadLimits: Sendable, Equatable {
    package var targetBytesMax: Int
    /// One field line without its CRLF.
    package var fieldBytesMax: Int
    /// Start line, fields and the final empty line together.
    package var headBytesMax: Int
    package var fieldsMax: Int

    package init(targetBytesMax: Int = 8192, fieldBytesMax: Int = 16384, headBytesMax: Int = 65536, fieldsMax: Int = 128) {
        self.targetBytesMax = targetBytesMax
        self.fieldBytesMax = fieldBytesMax
        self.headBytesMax = headBytesMax
        self.fieldsMax = fieldsMax
    }
}

extension HeadLimits {
    /// Of what an upstream answers.
    package static let response =
        HeadLimits(fieldBytesMax: 65_536, headBytesMax: 262_144, fieldsMax: 512)
}

/// Why a request is refused: the status to answer with and a short reason for audit and failure details. Holds no client bytes.
/// The connection must be closed after it; where the next message starts is unknown.
package struct RequestRefusal: Error, Sendable {
    package let status: UInt16
    package let reason: StaticString

    package init(status: UInt16 = 400, _ reason: StaticString) {
        self.status = status
        self.reason = reason
    }
}

package enum RequestParseResult: Sendable {
    case needsMore
    case head(RequestHead, consumed: Int)
    case refused(RequestRefusal)
}

/// The parts of a request line, as positions relative to the head's first byte.
struct RequestLine: Sendable {
    var method: Range<Int>
    var target: Range<Int>
    var minorVersion: UInt8
}

/// An incremental parser. Each call gets the whole unconsumed buffer, from the message's first byte; what was read is not read again.
/// After a head the parser is ready for the next one; after a refusal it is done, and repeats it.
///
/// Cost per head: one copy of its bytes. The memory for it, and for the lines, is that of the head before if nobody has it any more.
package struct RequestParser: Sendable {
    /// Longer methods are unknown to everyone: 501 (RFC 9112 §3).
    package static let methodBytesMax = 32
    /// Empty lines tolerated before a request line (RFC 9112 §2.2).
    package static let leadingEmptyLinesMax = 4
    /// ` HTTP/1.1` and the space before the target.
    private static let requestLineOverhead = 10

    package private(set) var limits: HeadLimits
    private var scanned = 0
    private var lineStart = 0
    private var headStart = 0
    private var emptyLines = 0
    private var requestLine: RequestLine?
    /// The lines as far as they have come; their bytes follow with the end of the head. After it the head's own fields, until the next
    /// one begins.
    private var fields = FieldSection()
    private var refusal: RequestRefusal?

    package init(limits: HeadLimits = HeadLimits()) { self.limits = limits }

    /// As new, with its memory kept.
    package mutating func reset(limits: HeadLimits) {
        self.limits = limits
        refusal = nil
        fields.dropLarge()
        beginMessage()
    }

    private mutating func beginMessage() {
        scanned = 0
        lineStart = 0
        headStart = 0
        emptyLines = 0
        requestLine = nil
    }

    /// True when not a byte of a message has been seen (empty lines aside): an idle connection, not a slow request.
    package var isAtStart: Bool { requestLine == nil && scanned <= headStart }

    package mutating func parse(_ input: UnsafeRawBufferPointer) -> RequestParseResult {
        if let refusal { return .refused(refusal) }
        do {
            guard let end = try scan(input) else { return .needsMore }
            guard let requestLine else { return .needsMore }
            let bytes = UnsafeRawBufferPointer(rebasing: input[headStart..<end])
            fields.appendBytes(bytes)
            let head = try judgeRequest(bytes, requestLine: requestLine, fields: fields)
            beginMessage()
            return .head(head, consumed: end)
        } catch {
            refusal = error
            return .refused(error)
        }
    }

    /// Consumes lines until the empty one that ends the head; the position after it, or nil when more bytes are needed.
    private mutating func scan(_ input: UnsafeRawBufferPointer) throws(RequestRefusal) -> Int? {
        while true {
            if requestLine != nil, scanned == lineStart, takePlainLines(input) { return lineStart }
            if lineStart < input.count { try checkLineBeginning(input[lineStart]) }
            switch scanLine(input, from: scanned) {
            case .incomplete(let resumeAt):
                scanned = resumeAt
                try checkBounds(input, lineEnd: resumeAt)
                return nil
            case .malformed(let reason, let at):
                // What comes first is told, however the bytes arrived.
                try checkBounds(input, lineEnd: at)
                throw RequestRefusal(reason)
            case .line(let end, let next):
                try checkBounds(input, lineEnd: end)
                let line = lineStart..<end
                scanned = next
                lineStart = next
                if try takeLine(input, line, next: next) { return next }
            }
        }
    }

    /// Takes whole field lines that are beyond doubt and within the bounds; true when the empty line came behind them. Whatever else
    /// comes is left to the careful steps of `scan`, which alone know the refusals.
    private mutating func takePlainLines(_ input: UnsafeRawBufferPointer) -> Bool {
        let endMax = headStart + limits.headBytesMax
        var end = fields.addPlainLines(
            input, from: lineStart, base: headStart,
            PlainLineBounds(lineBytesMax: limits.fieldBytesMax, endMax: endMax, linesMax: limits.fieldsMax))
        let isLast = end + 1 < input.count && input[end] == 0x0D && input[end + 1] == 0x0A && end + 2 <= endMax
        if isLast { end += 2 }
        scanned = end
        lineStart = end
        return isLast
    }

    /// A line's first byte already tells a folded line, and what cannot be a method, before the line is whole.
    private func checkLineBeginning(_ byte: UInt8) throws(RequestRefusal) {
        if requestLine != nil {
            if byte == 0x20 || byte == 0x09 { throw RequestRefusal("folded field line") }
        } else if !isTokenByte(byte) && byte != 0x0D && byte != 0x0A {
            throw RequestRefusal("request line does not begin with a method")
        }
    }

    /// Takes one whole line; true when it ended the head.
    private mutating func takeLine(
        _ input: UnsafeRawBufferPointer, _ line: Range<Int>, next: Int
    ) throws(RequestRefusal) -> Bool {
        guard requestLine != nil else {
            if line.isEmpty {
                emptyLines += 1
                headStart = next
                if emptyLines > Self.leadingEmptyLinesMax { throw RequestRefusal("too many empty lines before a request") }
                return false
            }
            requestLine = try parseRequestLine(UnsafeRawBufferPointer(rebasing: input[line]), targetBytesMax: limits.targetBytesMax)
            fields.startOver()
            return false
        }
        if line.isEmpty {
            if next - headStart > limits.headBytesMax { throw RequestRefusal(status: 431, "request head is too large") }
            return true
        }
        guard fields.lines.count < limits.fieldsMax else { throw RequestRefusal(status: 431, "too many field lines") }
        switch parseFieldLine(input, line, base: headStart) {
        case .line(let field): fields.add(field)
        case .malformed(let reason): throw RequestRefusal(reason)
        }
        return false
    }

    private func checkBounds(_ input: UnsafeRawBufferPointer, lineEnd: Int) throws(RequestRefusal) {
        let length = lineEnd - lineStart
        if requestLine != nil {
            if length > limits.fieldBytesMax { throw RequestRefusal(status: 431, "field line is too long") }
            // While nothing of a line is here but its beginning, its first byte may tell more than the length: a folded line.
            if length > 0, lineEnd - headStart > limits.headBytesMax { throw RequestRefusal(status: 431, "request head is too large") }
        } else if length > Self.methodBytesMax {
            let methodEnd = input[lineStart..<lineEnd].prefix(Self.methodBytesMax + 1).firstIndex(of: 0x20)
            guard let methodEnd else { throw RequestRefusal(status: 501, "method is too long") }
            if length > limits.headBytesMax || lineEnd - methodEnd > limits.targetBytesMax + Self.requestLineOverhead {
                throw RequestRefusal(status: 414, "request target is too long")
            }
        }
    }
}

/// Splits `method SP request-target SP HTTP-version` (RFC 9112 §3): single spaces, nothing around them.
private func parseRequestLine(_ line: UnsafeRawBufferPointer, targetBytesMax: Int) throws(RequestRefusal) -> RequestLine {
    var methodEnd = 0
    while methodEnd < line.count, isTokenByte(line[methodEnd]) { methodEnd += 1 }
    if methodEnd > RequestParser.methodBytesMax { throw RequestRefusal(status: 501, "method is too long") }
    guard methodEnd > 0, methodEnd < line.count, line[methodEnd] == 0x20 else { throw RequestRefusal("method is not a token") }
    let targetStart = methodEnd + 1
    var targetEnd = targetStart
    while targetEnd < line.count, line[targetEnd] != 0x20 {
        let byte = line[targetEnd]
        if byte &- 0x21 >= 0x5E { throw RequestRefusal("request target has a character outside visible ascii") }
        if byte == 0x23 { throw RequestRefusal("request target has a fragment") }
        targetEnd += 1
    }
    if targetEnd - targetStart > targetBytesMax { throw RequestRefusal(status: 414, "request target is too long") }
    guard targetEnd > targetStart else { throw RequestRefusal("request target is empty") }
    guard targetEnd < line.count else { throw RequestRefusal("request line without a version") }
    let minor = try parseVersion(UnsafeRawBufferPointer(rebasing: line[(targetEnd + 1)...]))
    return RequestLine(method: 0..<methodEnd, target: targetStart..<targetEnd, minorVersion: minor)
}

/// `HTTP/` DIGIT `.` DIGIT, case-sensitive (RFC 9112 §2.3). Well-formed but neither 1.0 nor 1.1: 505.
private func parseVersion(_ bytes: UnsafeRawBufferPointer) throws(RequestRefusal) -> UInt8 {
    guard bytes.count == 8, equals(UnsafeRawBufferPointer(rebasing: bytes[..<5]), "HTTP/"), bytes[5] &- 0x30 < 10, bytes[6] == 0x2E,
        bytes[7] &- 0x30 < 10
    else { throw RequestRefusal("malformed http version") }
    guard bytes[5] == 0x31, bytes[7] == 0x30 || bytes[7] == 0x31 else { throw RequestRefusal(status: 505, "http version not supported") }
    return bytes[7] &- 0x30
}
