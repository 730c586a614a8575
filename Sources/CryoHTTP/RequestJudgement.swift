// Decides what a whole request head means: framing, Host, persistence, expectation (RFC 9112 §3.2, §6, §9.3; RFC 9110 §10.1.1).
// Domain: pure

/// The fields that decide about a message, found in one pass over its lines.
private struct DecidingFields {
    var host: FieldLine?
    var contentLength: FieldLine?
    var transferEncodings = TransferCodings()
    var hasTransferEncoding = false
    var connection = ConnectionOptions()
    var expectsContinue = false
    var expectsOther = false
    /// Why the message is refused, whatever its other fields say.
    var flaw: StaticString?
}

/// Most lines decide nothing: their marks tell.
@inline(__always)
private var decidingMarks: NameMarks {
    NameMarks("host") | "expect" | "connection" | "content-length" | "content_length" | "transfer-encoding" | "transfer_encoding"
}

/// What the Transfer-Encoding lines of a message say together (RFC 9112 §6.1). Shared by requests and responses.
struct TransferCodings {
    private(set) var chunkedCount = 0
    private(set) var isMalformed = false
    private(set) var hasUnknown = false
    private(set) var isChunkedLast = false

    /// Exactly one `chunked` and nothing else.
    var isPlainChunked: Bool { chunkedCount == 1 && !hasUnknown && !isMalformed }

    mutating func add(_ value: UnsafeRawBufferPointer) {
        let chunked: StaticString = "chunked"
        var elements = ListCursor(value)
        while let element = elements.next() {
            if equalsIgnoringCase(element, lowercased: chunked.rawBytes) {
                chunkedCount += 1
                isChunkedLast = true
            } else {
                isChunkedLast = false
                hasUnknown = true
                if !isToken(element) { isMalformed = true }
            }
        }
    }
}

/// More Connection options than anyone needs; each one costs a pass over the fields when they are removed.
let connectionOptionsMax = 64

/// Judges a head that is syntactically whole. `bytes` is the head from its first byte to the final empty line, `fields` lies over a copy.
func judgeRequest(
    _ bytes: UnsafeRawBufferPointer, requestLine: RequestLine, fields: FieldSection
) throws(RequestRefusal) -> RequestHead {
    let isVersion11 = requestLine.minorVersion == 1
    let found = try decidingFields(fields)
    let framing = try requestFraming(bytes, found, isVersion11: isVersion11)
    if isVersion11, found.expectsOther { throw RequestRefusal(status: 417, "unknown expectation") }
    if found.connection.count > connectionOptionsMax { throw RequestRefusal("too many connection options") }
    let form = try checkedTarget(bytes, requestLine, host: found.host)

    let hasBody = framing != .none && framing != .length(0)
    return RequestHead(
        fields: fields, method: requestLine.method, target: requestLine.target, targetForm: form, host: found.host?.value,
        minorVersion: requestLine.minorVersion, framing: framing,
        // Any `close` wins over any `keep-alive` (RFC 9112 §9.3).
        keepsAlive: !found.connection.closes && (isVersion11 || found.connection.keepsAlive),
        expectsContinue: isVersion11 && found.expectsContinue && hasBody)
}

private func decidingFields(_ fields: FieldSection) throws(RequestRefusal) -> DecidingFields {
    var found = DecidingFields()
    fields.forEachLine(marked: decidingMarks) { line, bytes in if found.flaw == nil { found.read(line, bytes) } }
    if let flaw = found.flaw { throw RequestRefusal(flaw) }
    return found
}

extension DecidingFields {
    fileprivate mutating func read(_ line: FieldLine, _ bytes: UnsafeRawBufferPointer) {
        let name = UnsafeRawBufferPointer(rebasing: bytes[line.name])
        let value = UnsafeRawBufferPointer(rebasing: bytes[line.value])
        func named(_ text: StaticString) -> Bool { isNamed(name, lowercased: text.rawBytes) }
        switch name.count {
        case 4 where named("host"):
            if host != nil { flaw = "more than one host field" }
            host = line
        case 6 where named("expect"): readExpectation(value)
        case 10 where named("connection"): connection.read(value)
        case 14:
            if named("content-length") {
                if contentLength != nil { flaw = "more than one content-length" }
                contentLength = line
            } else if named("content_length") {
                flaw = "look-alike of a framing field"
            }
        case 17:
            if named("transfer-encoding") {
                hasTransferEncoding = true
                transferEncodings.add(value)
            } else if named("transfer_encoding") {
                flaw = "look-alike of a framing field"
            }
        default: break
        }
    }

    private mutating func readExpectation(_ value: UnsafeRawBufferPointer) {
        let proceed: StaticString = "100-continue"
        if equalsIgnoringCase(value, lowercased: proceed.rawBytes) { expectsContinue = true } else { expectsOther = true }
    }
}

/// RFC 9112 §6.3, with every ambiguity refused instead of resolved: another server may resolve it differently.
private func requestFraming(
    _ bytes: UnsafeRawBufferPointer, _ found: DecidingFields, isVersion11: Bool
) throws(RequestRefusal) -> BodyFraming {
    if found.hasTransferEncoding {
        if found.contentLength != nil { throw RequestRefusal("content-length and transfer-encoding together") }
        if !isVersion11 { throw RequestRefusal("transfer-encoding in http/1.0") }
        let codings = found.transferEncodings
        if codings.isMalformed { throw RequestRefusal("malformed transfer-encoding") }
        if codings.chunkedCount > 1 { throw RequestRefusal("chunked more than once") }
        if !codings.isChunkedLast { throw RequestRefusal("final transfer coding is not chunked") }
        if codings.hasUnknown { throw RequestRefusal(status: 501, "unknown transfer coding") }
        return .chunked
    }
    guard let line = found.contentLength else { return .none }
    // Bounded by Int64, the largest length any consumer of ours can count.
    guard let length = parseDecimal(UnsafeRawBufferPointer(rebasing: bytes[line.value])), length <= UInt64(Int64.max) else {
        throw RequestRefusal("invalid content-length")
    }
    return .length(length)
}

/// The target's form. Host: exactly one in 1.1 (RFC 9112 §3.2), a valid authority, and in absolute-form the same one as the target's: of
/// two different names one would be checked and the other used.
private func checkedTarget(
    _ bytes: UnsafeRawBufferPointer, _ requestLine: RequestLine, host: FieldLine?
) throws(RequestRefusal) -> TargetForm {
    let target = UnsafeRawBufferPointer(rebasing: bytes[requestLine.target])
    let method = UnsafeRawBufferPointer(rebasing: bytes[requestLine.method])
    guard let form = parseTarget(target, method: method) else { throw RequestRefusal("malformed request target") }
    let moved = form.moved(by: requestLine.target.lowerBound)
    guard let host else {
        if requestLine.minorVersion == 1 { throw RequestRefusal("no host field") }
        return moved
    }
    let hostValue = UnsafeRawBufferPointer(rebasing: bytes[host.value])
    guard parseAuthority(hostValue) != nil else { throw RequestRefusal("invalid host field") }
    let named: UnsafeRawBufferPointer
    switch form {
    case .absolute(_, let authority, _, _): named = UnsafeRawBufferPointer(rebasing: target[authority])
    case .authority: named = target
    case .origin, .asterisk: return moved
    }
    guard areSameAuthority(named, hostValue) else { throw RequestRefusal("host field and request target differ") }
    return moved
}
