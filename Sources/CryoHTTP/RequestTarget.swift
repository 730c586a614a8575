// The four forms of a request target, and authorities (RFC 9112 §3.2; RFC 3986 §3.2).
// Domain: pure

/// A request target by form. Ranges are positions in the bytes that were parsed.
@usableFromInline
package enum TargetForm: Sendable, Equatable {
    /// `path` begins with a slash; `query` is without its question mark.
    case origin(path: Range<Int>, query: Range<Int>?)
    /// An empty `path` means `/`, or `*` for OPTIONS without a query (RFC 9112 §3.2.4).
    case absolute(scheme: Range<Int>, authority: Range<Int>, path: Range<Int>, query: Range<Int>?)
    /// CONNECT only: the whole target is `host:port`.
    case authority
    /// OPTIONS only.
    case asterisk
}

/// Parses a target whose characters the request parser has checked; nil when the form is invalid or does not fit the method.
/// Only `http` and `https` are accepted as schemes; userinfo and an empty host are refused (RFC 9110 §4.2.1, §4.2.4).
package func parseTarget(_ target: UnsafeRawBufferPointer, method: UnsafeRawBufferPointer) -> TargetForm? {
    if equals(method, "CONNECT") {
        guard let authority = parseAuthority(target), authority.port != nil else { return nil }
        return .authority
    }
    guard let first = target.first else { return nil }
    if first == 0x2F {
        let (path, query) = splitQuery(target, from: 0)
        return .origin(path: path, query: query)
    }
    if first == 0x2A, target.count == 1 { return equals(method, "OPTIONS") ? .asterisk : nil }
    return parseAbsolute(target)
}

private func parseAbsolute(_ target: UnsafeRawBufferPointer) -> TargetForm? {
    let http: StaticString = "http"
    let https: StaticString = "https"
    guard let colon = target.prefix(6).firstIndex(of: 0x3A) else { return nil }
    let scheme = UnsafeRawBufferPointer(rebasing: target[..<colon])
    guard equalsIgnoringCase(scheme, lowercased: http.rawBytes) || equalsIgnoringCase(scheme, lowercased: https.rawBytes) else {
        return nil
    }
    let authorityStart = colon + 3
    guard authorityStart < target.count, target[colon + 1] == 0x2F, target[colon + 2] == 0x2F else { return nil }
    var authorityEnd = authorityStart
    while authorityEnd < target.count, target[authorityEnd] != 0x2F, target[authorityEnd] != 0x3F { authorityEnd += 1 }
    guard parseAuthority(UnsafeRawBufferPointer(rebasing: target[authorityStart..<authorityEnd])) != nil else { return nil }
    let (path, query) = splitQuery(target, from: authorityEnd)
    return .absolute(scheme: 0..<colon, authority: authorityStart..<authorityEnd, path: path, query: query)
}

private func splitQuery(_ target: UnsafeRawBufferPointer, from start: Int) -> (path: Range<Int>, query: Range<Int>?) {
    var end = start
    while end < target.count, target[end] != 0x3F { end += 1 }
    return (start..<end, end < target.count ? end + 1..<target.count : nil)
}

/// Splits `host[:port]`; nil when invalid. An IPv6 host keeps its brackets in the range. An empty port counts as none (RFC 3986 §3.2.3).
///
/// Stricter than RFC 3986 on purpose: no userinfo, no percent-encoding, no sub-delims, no IPvFuture, no zone: none of them can be a name
/// that this gateway answers to, and each has been read differently by two servers.
package func parseAuthority(_ bytes: UnsafeRawBufferPointer) -> (host: Range<Int>, port: UInt16?)? {
    var end = 0
    if bytes.first == 0x5B {
        end = 1
        while end < bytes.count, bytes[end] != 0x5D { end += 1 }
        guard end < bytes.count, isAddress6(UnsafeRawBufferPointer(rebasing: bytes[1..<end])) else { return nil }
        end += 1
    } else {
        while end < bytes.count, isHostByte(bytes[end]) { end += 1 }
        guard 1...253 ~= end else { return nil }
    }
    if end == bytes.count { return (0..<end, nil) }
    guard bytes[end] == 0x3A else { return nil }
    let digits = UnsafeRawBufferPointer(rebasing: bytes[(end + 1)...])
    if digits.isEmpty { return (0..<end, nil) }
    guard digits.count <= 5, let port = parseDecimal(digits), 1...65535 ~= port else { return nil }
    return (0..<end, UInt16(port))
}

/// Letters, digits, `-`, `.`, `_`, `~` (RFC 3986 unreserved), by two constant bitmaps.
@inline(__always)
private func isHostByte(_ byte: UInt8) -> Bool {
    if byte < 64 { return (0x03FF_6000_0000_0000 as UInt64 >> UInt64(byte)) & 1 == 1 }
    return byte < 128 && (0x47FF_FFFE_87FF_FFFE as UInt64 >> UInt64(byte &- 64)) & 1 == 1
}

/// An IPv6 address (RFC 4291 §2.2): groups of one to four digits, at most one `::`, an IPv4 tail instead of the last two groups.
private func isAddress6(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var groups = 0
    var isCompressed = false
    var index = 0
    while index < bytes.count {
        if bytes[index] == 0x3A {
            guard index + 1 < bytes.count, bytes[index + 1] == 0x3A, !isCompressed else { return false }
            isCompressed = true
            index += 2
            continue
        }
        let start = index
        while index < bytes.count, hexadecimalValue(bytes[index]) != nil { index += 1 }
        if index < bytes.count, bytes[index] == 0x2E {
            guard isAddress4(UnsafeRawBufferPointer(rebasing: bytes[start...])) else { return false }
            groups += 2
            index = bytes.count
            break
        }
        guard 1...4 ~= index - start else { return false }
        groups += 1
        guard index < bytes.count else { break }
        // A single colon must be followed by a group; a double one is taken above.
        guard bytes[index] == 0x3A, index + 1 < bytes.count else { return false }
        if bytes[index + 1] != 0x3A { index += 1 }
    }
    return isCompressed ? groups <= 7 : groups == 8
}

/// Four decimal numbers up to 255 without leading zeros.
private func isAddress4(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var parts = 0
    var start = 0
    while start <= bytes.count {
        var end = start
        while end < bytes.count, bytes[end] != 0x2E { end += 1 }
        let part = UnsafeRawBufferPointer(rebasing: bytes[start..<end])
        guard part.count <= 3, let number = parseDecimal(part), number <= 255, part.count == 1 || part[0] != 0x30 else { return false }
        parts += 1
        start = end + 1
    }
    return parts == 4
}

/// True when both are valid and name the same host (without case) and the same port as written.
package func areSameAuthority(_ one: UnsafeRawBufferPointer, _ other: UnsafeRawBufferPointer) -> Bool {
    guard let first = parseAuthority(one), let second = parseAuthority(other), first.port == second.port else { return false }
    return areEqualIgnoringCase(UnsafeRawBufferPointer(rebasing: one[first.host]), UnsafeRawBufferPointer(rebasing: other[second.host]))
}

/// Compares ASCII without case when neither side is known to be lower case.
package func areEqualIgnoringCase(_ one: UnsafeRawBufferPointer, _ other: UnsafeRawBufferPointer) -> Bool {
    guard one.count == other.count else { return false }
    var index = 0
    while index < one.count {
        let difference = one[index] ^ other[index]
        if difference != 0, difference != 0x20 || (one[index] | 0x20) &- 0x61 >= 26 { return false }
        index += 1
    }
    return true
}

extension TargetForm {
    /// The same form with its ranges in bytes that begin that much earlier.
    func moved(by offset: Int) -> TargetForm {
        func moved(_ range: Range<Int>) -> Range<Int> { range.lowerBound + offset..<range.upperBound + offset }
        switch self {
        case .origin(let path, let query): return .origin(path: moved(path), query: query.map(moved))
        case .absolute(let scheme, let authority, let path, let query):
            return .absolute(scheme: moved(scheme), authority: moved(authority), path: moved(path), query: query.map(moved))
        case .authority, .asterisk: return self
        }
    }
}
