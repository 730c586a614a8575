// Decides what a whole request head means: framing, Host, persistence, expectation (RFC 9112 §3.2, §6, §9.3; RFC 9110 §10.1.1).
// Domain: pure

/// The fields that decide about a message, found in one pass over its lines.
private struct DecidingFields {
    var host: FieldLine?
    var contentLength: FieldLine?
    var transferEncodings = TransferCodings()
    var hasTransferEncoding = false
    var connectionCloses = false
    var connectionKeepsAlive = false
    var connectionOptions = 0
    var expectsContinue = false
    var expectsOther = false
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

/// Judges a head that is syntactically whole. `bytes` is the head from its first byte to the final empty line.
func judgeRequest(
    _ bytes: UnsafeRawBufferPointer, requestLine: RequestLine, lines: [FieldLine]
) throws(RequestRefusal) -> RequestHead {
    let isVersion11 = requestLine.minorVersion == 1
    let found = try decidingFields(bytes, lines)
    let framing = try requestFraming(bytes, found, isVersion11: isVersion11)
    if isVersion11, found.expectsOther { throw RequestRefusal(status: 417, "unknown expectation") }
    if found.connectionOptions > connectionOptionsMax { throw RequestRefusal("too many connection options") }
    try checkHostAndTarget(bytes, requestLine, host: found.host)

    let fields = FieldSection(over: Array(bytes), lines: lines)
    let hasBody = framing != .none && framing != .length(0)
    return RequestHead(
        fields: fields, method: requestLine.method, target: requestLine.target, minorVersion: requestLine.minorVersion, framing: framing,
        keepsAlive: !found.connectionCloses && (isVersion11 || found.connectionKeepsAlive),
        expectsContinue: isVersion11 && found.expectsContinue && hasBody)
}

private func decidingFields(_ bytes: UnsafeRawBufferPointer, _ lines: [FieldLine]) throws(RequestRefusal) -> DecidingFields {
    var found = DecidingFields()
    for line in lines {
        let name = UnsafeRawBufferPointer(rebasing: bytes[line.name])
        let value = UnsafeRawBufferPointer(rebasing: bytes[line.value])
        switch name.count {
        case 4 where isNamed(name, "host"):
            if found.host != nil { throw RequestRefusal("more than one host field") }
            found.host = line
        case 6 where isNamed(name, "expect"):
            readExpectation(value, &found)
        case 10 where isNamed(name, "connection"):
            readConnection(value, &found)
        case 14:
            if isNamed(name, "content-length") {
                if found.contentLength != nil { throw RequestRefusal("more than one content-length") }
                found.contentLength = line
            } else if isNamed(name, "content_length") {
                throw RequestRefusal("look-alike of a framing field")
            }
        case 17:
            if isNamed(name, "transfer-encoding") {
                found.hasTransferEncoding = true
                found.transferEncodings.add(value)
            } else if isNamed(name, "transfer_encoding") {
                throw RequestRefusal("look-alike of a framing field")
            }
        default: break
        }
    }
    return found
}

@inline(__always)
private func isNamed(_ name: UnsafeRawBufferPointer, _ lowercased: StaticString) -> Bool {
    equalsIgnoringCase(name, lowercased: lowercased.rawBytes)
}

private func readExpectation(_ value: UnsafeRawBufferPointer, _ found: inout DecidingFields) {
    if isNamed(value, "100-continue") { found.expectsContinue = true } else { found.expectsOther = true }
}

/// Any `close` wins over any `keep-alive` (RFC 9112 §9.3).
private func readConnection(_ value: UnsafeRawBufferPointer, _ found: inout DecidingFields) {
    var options = ListCursor(value)
    while let option = options.next() {
        found.connectionOptions += 1
        if isNamed(option, "close") { found.connectionCloses = true }
        if isNamed(option, "keep-alive") { found.connectionKeepsAlive = true }
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

/// Host: exactly one in 1.1 (RFC 9112 §3.2), a valid authority, and in absolute-form the same one as the target's: of two different
/// names one would be checked and the other used.
private func checkHostAndTarget(
    _ bytes: UnsafeRawBufferPointer, _ requestLine: RequestLine, host: FieldLine?
) throws(RequestRefusal) {
    let target = UnsafeRawBufferPointer(rebasing: bytes[requestLine.target])
    let method = UnsafeRawBufferPointer(rebasing: bytes[requestLine.method])
    guard let form = parseTarget(target, method: method) else { throw RequestRefusal("malformed request target") }
    guard let host else {
        if requestLine.minorVersion == 1 { throw RequestRefusal("no host field") }
        return
    }
    let hostValue = UnsafeRawBufferPointer(rebasing: bytes[host.value])
    guard parseAuthority(hostValue) != nil else { throw RequestRefusal("invalid host field") }
    let named: UnsafeRawBufferPointer
    switch form {
    case .absolute(_, let authority, _, _): named = UnsafeRawBufferPointer(rebasing: target[authority])
    case .authority: named = target
    case .origin, .asterisk: return
    }
    guard areSameAuthority(named, hostValue) else { throw RequestRefusal("host field and request target differ") }
}
