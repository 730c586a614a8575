// Removes what is meant for one connection only, in both directions (RFC 9110 §7.6.1).
// Domain: pure

/// Removes Connection, the fields it names, and the fields that are always for one hop.
///
/// Names in Connection that are end-to-end by definition are ignored: a client must not be able to strip Host, a credential, our forwarding
/// fields or the framing. At most `connectionOptionsMax` options are honoured (a request with more is refused by the parser).
/// Run it before own fields are added. Cost: one pass, plus one per option that names a field; no allocation. `dropsLength`: Content-Length
/// goes in the same pass.
package func removeHopByHop(_ fields: inout FieldSection, dropsLength: Bool = false) {
    guard fields.marks.intersects(hopByHopMarks) || (dropsLength && fields.mayContain("content-length")) else { return }
    var options = 0
    var next = fields.firstIndex(of: "connection")
    while let index = next {
        // The line itself stays until the second pass: it is being read.
        removeNamed(inConnection: index, &fields, &options)
        next = index + 1 < fields.lines.count ? fields.firstIndex(of: "connection", from: index + 1) : nil
    }
    let length: StaticString = "content-length"
    fields.remove { memory, index in
        let mark = memory.lines[index].mark
        if dropsLength, mark == NameMark(length), memory.hasName(length.rawBytes, at: index) { return true }
        return hopByHopMarks.contains(mark) && isHopByHop(memory.slice(memory.lines[index].name))
    }
}

private func removeNamed(inConnection index: Int, _ fields: inout FieldSection, _ options: inout Int) {
    // The usual case. Keep-Alive goes in the second pass, named or not.
    let keepAlive: StaticString = "keep-alive"
    if fields.withValue(at: index, { equalsIgnoringCase($0, lowercased: keepAlive.rawBytes) }) {
        options += 1
        return
    }
    var start = Int(fields.lines[index].valueStart)
    let end = fields.lines[index].value.upperBound
    while start < end, options < connectionOptionsMax {
        let (option, isNamed) = fields.bytes.withUnsafeBytes { bytes in
            var comma = start
            while comma < end, bytes[comma] != 0x2C { comma += 1 }
            let option = trimmed(bytes, start..<comma)
            start = comma + 1
            let name = UnsafeRawBufferPointer(rebasing: bytes[option])
            // Mostly `close` or `keep-alive`, which name no field that is here.
            return (option, fields.marks.contains(NameMark(name)) && !isEndToEnd(name))
        }
        if option.isEmpty { continue }
        options += 1
        guard isNamed else { continue }
        let connection: StaticString = "connection"
        fields.remove { memory, index in
            areEqualIgnoringCase(memory.slice(memory.lines[index].name), memory.slice(option))
                && !memory.hasName(connection.rawBytes, at: index)
        }
    }
}

/// What the Connection lines of a message say about the connection itself (RFC 9112 §9.3).
package struct ConnectionOptions {
    package private(set) var closes = false
    package private(set) var keepsAlive = false
    private(set) var count = 0

    init() {}

    package init(of fields: FieldSection) {
        let name: StaticString = "connection"
        fields.forEachLine(marked: NameMarks(name)) { line, bytes in
            guard isNamed(UnsafeRawBufferPointer(rebasing: bytes[line.name]), lowercased: name.rawBytes) else { return }
            read(UnsafeRawBufferPointer(rebasing: bytes[line.value]))
        }
    }

    /// The value of one line.
    mutating func read(_ value: UnsafeRawBufferPointer) {
        func isWord(_ option: UnsafeRawBufferPointer, _ word: StaticString) -> Bool {
            equalsIgnoringCase(option, lowercased: word.rawBytes)
        }
        // The usual case: that one alone.
        if isWord(value, "keep-alive") {
            count += 1
            keepsAlive = true
            return
        }
        var options = ListCursor(value)
        while let option = options.next() {
            count += 1
            if isWord(option, "close") { closes = true }
            if isWord(option, "keep-alive") { keepsAlive = true }
        }
    }
}

@inline(__always)
private var hopByHopMarks: NameMarks {
    NameMarks("te") | "trailer" | "upgrade" | "connection" | "keep-alive" | "http2-settings" | "proxy-connection" | "transfer-encoding"
        | "proxy-authenticate" | "proxy-authorization" | "proxy-authentication-info"
}

/// The fields that never pass, named by Connection or not.
package func isHopByHop(_ name: UnsafeRawBufferPointer) -> Bool {
    func named(_ text: StaticString) -> Bool { isNamed(name, lowercased: text.rawBytes) }
    switch name.count {
    case 2: return named("te")
    case 7: return named("trailer") || named("upgrade")
    case 10: return named("connection") || named("keep-alive")
    case 14: return named("http2-settings")
    case 16: return named("proxy-connection")
    case 17: return named("transfer-encoding")
    case 18: return named("proxy-authenticate")
    case 19: return named("proxy-authorization")
    case 25: return named("proxy-authentication-info")
    default: return false
    }
}

/// Fields that Connection cannot turn into hop-by-hop ones: framing, identity, security and caching depend on them.
package func isEndToEnd(_ name: UnsafeRawBufferPointer) -> Bool {
    func named(_ text: StaticString) -> Bool { equalsIgnoringCase(name, lowercased: text.rawBytes) }
    func begins(_ text: StaticString) -> Bool {
        name.count > text.utf8CodeUnitCount
            && equalsIgnoringCase(UnsafeRawBufferPointer(rebasing: name[..<text.utf8CodeUnitCount]), lowercased: text.rawBytes)
    }
    switch name.count {
    case 3: return named("via") || named("age")
    case 4: return named("host") || named("date") || named("etag") || named("vary") || named("from")
    case 5: return named("range")
    case 6: return named("cookie") || named("origin") || named("accept") || named("expect")
    case 7: return named("referer") || named("expires")
    case 8: return named("location") || named("if-match") || named("if-range")
    case 9: return named("forwarded") || named("x-real-ip")
    case 10: return named("set-cookie") || named("user-agent")
    case 13 where named("authorization") || named("cache-control") || named("last-modified") || named("if-none-match"): return true
    case 15 where named("idempotency-key"): return true
    case 16 where named("www-authenticate"): return true
    case 17 where named("if-modified-since"): return true
    case 19 where named("if-unmodified-since"): return true
    case 25 where named("strict-transport-security"): return true
    default:
        return begins("content-") || begins("x-forwarded-") || begins("sec-") || begins("access-control-") || begins("accept-")
            || begins("x-content-type-") || begins("x-frame-")
    }
}
