// Fuzz entry: the request head parser (RFC 9112 §2 to §6).
// Domain: pure

import CryoHTTP

func fuzzRequestHead(_ bytes: UnsafeRawBufferPointer) throws(Broken) {
    try checkRequest(bytes, HeadLimits())
    // The bounds are reached by short inputs only when they are small.
    try checkRequest(bytes, HeadLimits(targetBytesMax: 32, fieldBytesMax: 48, headBytesMax: 160, fieldsMax: 4))
}

private enum Verdict: Equatable {
    case needsMore
    case refused(UInt16)
    case head([UInt8], consumed: Int, framing: BodyFraming, keepsAlive: Bool, expectsContinue: Bool)
}

private func verdict(_ result: RequestParseResult) -> Verdict {
    switch result {
    case .needsMore: .needsMore
    case .refused(let refusal): .refused(refusal.status)
    case .head(let head, let consumed):
        .head(
            canonical(head), consumed: consumed, framing: head.framing, keepsAlive: head.keepsAlive, expectsContinue: head.expectsContinue)
    }
}

/// The head written anew from its parts: one space here, one there, nothing around values.
func canonical(_ head: RequestHead) -> [UInt8] {
    var text: [UInt8] = []
    text.append(contentsOf: head.fields.bytes[head.method])
    text.append(0x20)
    text.append(contentsOf: head.fields.bytes[head.target])
    text.append(contentsOf: Array((head.minorVersion == 1 ? " HTTP/1.1" : " HTTP/1.0").utf8))
    text.appendHead(bytesMax: head.fields.wireBytesMax + HeadWriter.ownBytes) { rest in
        rest.appendLineEnd()
        rest.appendFields(head.fields)
        rest.appendLineEnd()
    }
    return text
}

private func checkRequest(_ bytes: UnsafeRawBufferPointer, _ limits: HeadLimits) throws(Broken) {
    var whole = RequestParser(limits: limits)
    let result = whole.parse(bytes)
    let expected = verdict(result)
    try checkSplits(bytes, limits, expected)
    guard case .head(let head, let consumed) = result else { return }

    try claim(consumed <= bytes.count && consumed >= 4, "a head ends within its input")
    try claim(bytes[consumed - 1] == 0x0A && bytes[consumed - 2] == 0x0D, "a head ends with an empty line")
    try claim(whole.isAtStart, "after a head the parser is ready for the next one")
    try claim(head.targetForm != nil, "a parsed head's target has a form")
    try checkFields(head.fields)
    let lengths = head.fields.count(of: "content-length")
    let codings = head.fields.count(of: "transfer-encoding")
    try claim(lengths + min(codings, 1) <= 1, "a message is delimited in one way only")
    switch head.framing {
    case .none: try claim(lengths == 0 && codings == 0, "no body without a framing field")
    case .length: try claim(lengths == 1, "a length comes from content-length")
    case .chunked: try claim(codings > 0 && head.minorVersion == 1, "chunked comes from transfer-encoding in 1.1")
    case .untilClose: throw Broken(property: "a request never ends with the connection")
    }

    let again = canonical(head)
    var second = RequestParser(limits: HeadLimits())
    try claim(
        verdict(again.withUnsafeBytes { second.parse($0) })
            == .head(
                again, consumed: again.count, framing: head.framing, keepsAlive: head.keepsAlive, expectsContinue: head.expectsContinue),
        "a head written again parses to the same")

    var forwarded = head.fields
    removeHopByHop(&forwarded)
    for name in ["connection", "transfer-encoding", "keep-alive", "upgrade", "te", "proxy-authorization"] as [StaticString] {
        try claim(!forwarded.contains(name), "\(name) stays on its hop")
    }
    for name in ["host", "content-length", "authorization", "cookie"] as [StaticString] {
        try claim(forwarded.count(of: name) == head.fields.count(of: name), "\(name) cannot be stripped")
    }
}

/// Byte by byte, as the slowest client would send it.
private func checkSplits(_ bytes: UnsafeRawBufferPointer, _ limits: HeadLimits, _ expected: Verdict) throws(Broken) {
    var parser = RequestParser(limits: limits)
    var got = Verdict.needsMore
    var count = 0
    while got == .needsMore, count < bytes.count {
        count += 1
        got = verdict(parser.parse(UnsafeRawBufferPointer(rebasing: bytes[..<count])))
    }
    try claim(got == expected, "byte by byte: \(short(got)), whole: \(short(expected))")
}

private func short(_ verdict: Verdict) -> String {
    switch verdict {
    case .needsMore: "needs more"
    case .refused(let status): "refused \(status)"
    case .head(_, let consumed, let framing, _, _): "head of \(consumed), \(framing)"
    }
}

/// Names are tokens; values hold nothing that ends a line.
func checkFields(_ fields: FieldSection) throws(Broken) {
    for line in fields.lines where !line.isRemoved {
        try claim(line.name.upperBound <= fields.bytes.count && line.value.upperBound <= fields.bytes.count, "ranges lie within the head")
        for byte in fields.bytes[line.name] { try claim(isTokenByte(byte), "a field name is a token") }
        for byte in fields.bytes[line.value] { try claim(byte >= 0x20 && byte != 0x7F || byte == 0x09, "a field value has no controls") }
        let value = fields.bytes[line.value]
        try claim(value.first != 0x20 && value.first != 0x09 && value.last != 0x20 && value.last != 0x09, "a field value is trimmed")
    }
}
