// Fuzz entry: response heads, line by line as the upstream library delivers them, and as a connection does (RFC 9112 §4 to §6).
// Domain: pure

import CryoHTTP

func fuzzResponseHead(_ bytes: UnsafeRawBufferPointer) throws(Broken) {
    for limits in [HeadLimits(), HeadLimits(targetBytesMax: 32, fieldBytesMax: 48, headBytesMax: 160, fieldsMax: 4)] {
        try checkResponse(bytes, limits)
        try checkReader(bytes, limits)
    }
}

// MARK: Off a connection

private enum Reading: Equatable {
    case more, malformed
    case head(UInt16, [[UInt8]], minorVersion: UInt8?, used: Int)
}

/// What is read does not depend on how it arrives, and is what the lines say one after the other.
private func checkReader(_ bytes: UnsafeRawBufferPointer, _ limits: HeadLimits) throws(Broken) {
    let expected = readLines(bytes, limits)
    for size in [max(bytes.count, 1), 1, 7] {
        let got = read(bytes, limits, inPiecesOf: size)
        try claim(got == expected, "in pieces of \(size): \(short(got)), line by line: \(short(expected))")
    }
}

private func read(_ bytes: UnsafeRawBufferPointer, _ limits: HeadLimits, inPiecesOf size: Int) -> Reading {
    var reader = ResponseHeadReader(limits: limits)
    var start = 0
    while start < bytes.count {
        let end = min(bytes.count, start + size)
        var used = 0
        switch reader.read(UnsafeRawBufferPointer(rebasing: bytes[start..<end]), used: &used) {
        case .more: start = end
        case .malformed: return .malformed
        case .head(let head, let minorVersion, let framing):
            // Known without another look at the fields, it is what they say.
            guard framing == responseFraming(status: head.status, requestIsHead: false, fields: head.fields) else { return .malformed }
            return .head(head.status, texts(head.fields), minorVersion: minorVersion, used: start + used)
        }
    }
    return .more
}

private func readLines(_ bytes: UnsafeRawBufferPointer, _ limits: HeadLimits) -> Reading {
    var assembler = ResponseAssembler(limits: limits)
    var start = 0
    while let lineFeed = bytes[start...].firstIndex(of: 0x0A) {
        let line = UnsafeRawBufferPointer(rebasing: bytes[start...lineFeed])
        start = lineFeed + 1
        switch assembler.append(line) {
        case .more, .informational, .trailer: break
        case .malformed: return .malformed
        case .head:
            let head = assembler.takeHead()
            return .head(head.status, texts(head.fields), minorVersion: assembler.minorVersion, used: start)
        }
    }
    // A line that is too long need not end to be refused.
    return bytes.count - start > limits.fieldBytesMax + 2 ? .malformed : .more
}

private func short(_ reading: Reading) -> String {
    switch reading {
    case .more: "more"
    case .malformed: "malformed"
    case .head(let status, let lines, _, let used): "head \(status) of \(used) bytes, \(lines.count / 2) fields"
    }
}

// MARK: Line by line

private func checkResponse(_ bytes: UnsafeRawBufferPointer, _ limits: HeadLimits) throws(Broken) {
    var assembler = ResponseAssembler(limits: limits)
    var heads = 0
    var start = 0
    var hasFailed = false
    while start < bytes.count {
        var end = start
        while end < bytes.count, bytes[end] != 0x0A { end += 1 }
        end = min(end + 1, bytes.count)
        let result = assembler.append(UnsafeRawBufferPointer(rebasing: bytes[start..<end]))
        start = end
        switch result {
        case .more: try claim(!hasFailed, "a malformed response stays malformed")
        case .informational(let status): try claim(100...199 ~= status && status != 101, "only interim heads are dropped")
        case .trailer: try claim(heads == 1, "trailers follow the head")
        case .malformed: hasFailed = true
        case .head:
            heads += 1
            try claim(heads == 1 && !hasFailed, "there is one final head")
            try checkHead(assembler.takeHead(), assembler.minorVersion)
        }
    }
}

private func checkHead(_ head: ResponseHead, _ minorVersion: UInt8?) throws(Broken) {
    try claim(head.status == 101 || 200...599 ~= head.status, "a final status is final")
    try checkFields(head.fields)
    let lengths = head.fields.count(of: "content-length")
    let codings = head.fields.count(of: "transfer-encoding")
    try claim(lengths <= 1 && (lengths == 0 || codings == 0), "a message is delimited in one way only")
    for isHead in [false, true] {
        guard let framing = responseFraming(status: head.status, requestIsHead: isHead, fields: head.fields) else {
            throw Broken(property: "a head that passes can be delimited")
        }
        if framing == .chunked { try claim(minorVersion == 1, "chunked is of HTTP/1.1 only") }
    }

    // The client's reader may be another one: what we write must read back to the same lines.
    var fields = head.fields
    removeHopByHop(&fields)
    let status = head.status
    var written: [UInt8] = []
    written.appendHead(bytesMax: fields.wireBytesMax + HeadWriter.ownBytes) { head in
        head.appendStatusLine(status)
        head.appendFields(fields)
        head.appendLineEnd()
    }
    var second = ResponseAssembler(limits: HeadLimits())
    var back: ResponseHead?
    for line in written.split(separator: 0x0A, omittingEmptySubsequences: false).dropLast() {
        let bytes = Array(line) + [0x0A]
        if case .head = bytes.withUnsafeBytes({ second.append($0) }) { back = second.takeHead() }
    }
    guard let back else { throw Broken(property: "a head written again parses") }
    try claim(back.status == head.status && texts(back.fields) == texts(fields), "a head written again parses to the same")
}

private func texts(_ fields: FieldSection) -> [[UInt8]] {
    fields.lines.filter { !$0.isRemoved }.flatMap { [Array(fields.bytes[$0.name]), Array(fields.bytes[$0.value])] }
}
