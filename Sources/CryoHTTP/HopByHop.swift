// Removes what is meant for one connection only, in both directions (RFC 9110 §7.6.1).
// Domain: pure

/// Removes Connection, the fields it names, and the fields that are always for one hop.
///
/// Names in Connection that are end-to-end by definition are ignored: a client must not be able to strip Host, a credential, our forwarding
/// fields or the framing. At most `connectionOptionsMax` options are honoured (a request with more is refused by the parser).
/// Run it before own fields are added. Cost: one pass, plus one per named option; no allocation.
package func removeHopByHop(_ fields: inout FieldSection) {
    guard fields.marks & hopByHopMarks != 0 else { return }
    var options = 0
    var index = 0
    while fields.mayContain("connection"), index < fields.lines.count {
        if fields.has("connection", at: index) { removeNamed(inConnection: index, &fields, &options) }
        index += 1
    }
    index = 0
    while index < fields.lines.count {
        if !fields.lines[index].isRemoved, fields.withName(at: index, isHopByHop) { fields.remove(at: index) }
        index += 1
    }
}

private func removeNamed(inConnection line: Int, _ fields: inout FieldSection, _ options: inout Int) {
    var start = Int(fields.lines[line].valueStart)
    let end = start + Int(fields.lines[line].valueCount)
    while start < end, options < connectionOptionsMax {
        var comma = start
        while comma < end, fields.bytes[comma] != 0x2C { comma += 1 }
        let option = fields.bytes.withUnsafeBytes { trimmed($0, start..<comma) }
        start = comma + 1
        if option.isEmpty { continue }
        options += 1
        let isKept = fields.bytes.withUnsafeBytes { isEndToEnd(UnsafeRawBufferPointer(rebasing: $0[option])) }
        if isKept { continue }
        // The Connection line itself stays until the second pass: it is being read.
        for index in fields.lines.indices where index != line && Int(fields.lines[index].nameCount) == option.count {
            let isNamed = fields.bytes.withUnsafeBytes {
                areEqualIgnoringCase(
                    UnsafeRawBufferPointer(rebasing: $0[fields.lines[index].name]), UnsafeRawBufferPointer(rebasing: $0[option]))
            }
            if isNamed, !fields.has("connection", at: index) { fields.remove(at: index) }
        }
    }
}

private let hopByHopNames: [StaticString] = [
    "te", "trailer", "upgrade", "connection", "keep-alive", "http2-settings", "proxy-connection", "transfer-encoding",
    "proxy-authenticate", "proxy-authorization", "proxy-authentication-info",
]
private let hopByHopMarks = hopByHopNames.reduce(0) { $0 | nameMark($1.rawBytes) }

/// The fields that never pass, named by Connection or not.
package func isHopByHop(_ name: UnsafeRawBufferPointer) -> Bool {
    func named(_ text: StaticString) -> Bool { equalsIgnoringCase(name, lowercased: text.rawBytes) }
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
