// How an upstream's own address in its answers becomes the gateway's, for browsers that talk to localhost.
// Domain: pure

import CryoHTTP

/// `routes[].rewrite`. Off by default: an answer passes as it came.
package struct RewriteSettings: Sendable, Equatable {
    package var location = false
    package var cookies = false

    package init() {}
}

struct RewriteRule {
    let upstream: UpstreamPlan
    /// What the route takes off the front of a path, without a final slash.
    let prefix: [UInt8]

    init(upstream: UpstreamPlan, stripPrefix: [UInt8]) {
        self.upstream = upstream
        prefix = stripPrefix.last == 0x2F ? stripPrefix.dropLast() : stripPrefix
    }

    /// The Location a client of this gateway can follow; nil where the value means another server, is relative to the request's
    /// path, or leaves what the route can reach. `ownOrigin` is empty when the client named no host.
    func location(_ value: [UInt8], ownOrigin: [UInt8]) -> [UInt8]? {
        guard let first = value.first else { return nil }
        let isAuthorityNext = value.starts(with: "//".utf8)
        if first == 0x2F, !isAuthorityNext { return mapped(value[...]) }
        let rest: ArraySlice<UInt8>
        if isAuthorityNext {
            rest = value.dropFirst(2)
        } else {
            let scheme: StaticString = upstream.settings.url.isTLS ? "https://" : "http://"
            let isOurs = value.withUnsafeBytes { bytes in
                bytes.count > scheme.utf8CodeUnitCount
                    && equalsIgnoringCase(
                        UnsafeRawBufferPointer(rebasing: bytes[..<scheme.utf8CodeUnitCount]), lowercased: scheme.rawBytes)
            }
            guard isOurs else { return nil }
            rest = value.dropFirst(scheme.utf8CodeUnitCount)
        }
        let end = rest.firstIndex { $0 == 0x2F || $0 == 0x3F || $0 == 0x23 } ?? rest.endIndex
        guard isUpstream(rest[..<end]), let path = mapped(rest[end...]) else { return nil }
        return ownOrigin + path
    }

    private func isUpstream(_ authority: ArraySlice<UInt8>) -> Bool {
        authority.withUnsafeBytes { bytes in
            guard let parts = parseAuthority(bytes) else { return false }
            let host = UnsafeRawBufferPointer(rebasing: bytes[parts.host])
            let url = upstream.settings.url
            guard (parts.port ?? (url.isTLS ? 443 : 80)) == url.port else { return false }
            return upstream.host.withUnsafeBytes { equalsIgnoringCase(host, lowercased: $0) }
        }
    }

    /// The client's path for an upstream's (query and fragment included); nil when it is not below the upstream's base path.
    private func mapped(_ path: ArraySlice<UInt8>) -> [UInt8]? {
        let base = upstream.basePath
        guard path.starts(with: base) else { return nil }
        let rest = path.dropFirst(base.count)
        guard let next = rest.first else { return prefix + [0x2F] }
        if next == 0x2F { return prefix + rest }
        return next == 0x3F || next == 0x23 ? prefix + [0x2F] + rest : nil
    }

    /// One Set-Cookie value for this gateway: without Domain, with its Path in the client's terms, and without Secure on a plain
    /// connection. Names that promise Secure (RFC 6265bis §4.1.3) keep it: without it no browser would take them.
    func cookie(_ value: [UInt8], isSecure: Bool) -> [UInt8] {
        let parts = value.split(separator: 0x3B, omittingEmptySubsequences: false).map(trimmed)
        guard let pair = parts.first, !begins(pair, "__host-") else { return value }
        let dropsSecure = !isSecure && !begins(pair, "__secure-")
        var result = Array(pair)
        for part in parts.dropFirst() {
            let equals = part.firstIndex(of: 0x3D) ?? part.endIndex
            let name = trimmed(part[..<equals])
            let argument = trimmed(part[equals...].dropFirst())
            if isNamed(name, "domain") { continue }
            if dropsSecure {
                if isNamed(name, "secure") || isNamed(name, "partitioned") { continue }
                // Browsers refuse SameSite=None without Secure; their default is taken instead.
                if isNamed(name, "samesite"), isNamed(argument, "none") { continue }
            }
            result.append(contentsOf: [0x3B, 0x20])
            if isNamed(name, "path"), let path = cookiePath(argument) {
                result.append(contentsOf: "Path=".utf8)
                result.append(contentsOf: path)
            } else {
                result.append(contentsOf: part)
            }
        }
        return result
    }

    private func cookiePath(_ path: ArraySlice<UInt8>) -> [UInt8]? {
        guard path.first == 0x2F else { return nil }
        let root = prefix.isEmpty ? [0x2F] : prefix
        if let inside = mapped(path) { return inside.count == prefix.count + 1 ? root : inside }
        // A path above the base path covers everything the route can reach.
        let above = path.last == 0x2F ? path.dropLast() : path
        let base = upstream.basePath
        return base.starts(with: above) && (base.count == above.count || base[above.count] == 0x2F) ? root : nil
    }

    private func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var bytes = bytes
        while bytes.first == 0x20 || bytes.first == 0x09 { bytes.removeFirst() }
        while bytes.last == 0x20 || bytes.last == 0x09 { bytes.removeLast() }
        return bytes
    }

    private func isNamed(_ bytes: ArraySlice<UInt8>, _ lowercased: StaticString) -> Bool {
        bytes.withUnsafeBytes { equalsIgnoringCase($0, lowercased: lowercased.rawBytes) }
    }

    private func begins(_ bytes: ArraySlice<UInt8>, _ lowercased: StaticString) -> Bool {
        isNamed(bytes.prefix(lowercased.utf8CodeUnitCount), lowercased)
    }
}

extension Exchange {
    /// Puts the gateway's address in the place of the upstream's, line by line. A client that named the upstream itself keeps it.
    func rewriteAddresses(_ fields: inout FieldSection) {
        guard fields.mayContain("location") || fields.mayContain("set-cookie") || fields.mayContain("content-location") else { return }
        removeOwnToken(&fields)
        guard !placement.isAbsolute, let settings = route?.settings.rewrite, settings.location || settings.cookies, let route else {
            return
        }
        let rule = RewriteRule(upstream: route.upstream, stripPrefix: route.stripPrefix)
        for index in fields.lines.indices {
            if settings.location, fields.has("location", at: index) {
                let value = fields.withValue(at: index) { Array($0) }
                if let new = rule.location(value, ownOrigin: ownOrigin) { fields.setValue(at: index, new) }
            } else if settings.cookies, fields.has("set-cookie", at: index) {
                let value = fields.withValue(at: index) { Array($0) }
                fields.setValue(at: index, rule.cookie(value, isSecure: context.isTLS))
            }
        }
    }

    /// An upstream that redirects with the query it got would tell the client the token in it; the next request gets it anew.
    private func removeOwnToken(_ fields: inout FieldSection) {
        guard machine.carriesToken, let credential, route?.injection?.place == .query else { return }
        for index in fields.lines.indices where fields.has("location", at: index) || fields.has("content-location", at: index) {
            let value = fields.withValue(at: index) { Array($0) }
            guard let mark = value.firstIndex(of: 0x3F) else { continue }
            let end = value[mark...].firstIndex(of: 0x23) ?? value.endIndex
            guard let query = QueryPairs.removing(pair: credential.injectedValue, from: value[(mark + 1)..<end]) else { continue }
            fields.setValue(at: index, Array(value[..<mark]) + (query.isEmpty ? [] : [0x3F] + query) + value[end...])
        }
    }

    /// As the client calls the gateway; the allow-list has judged the name.
    private var ownOrigin: [UInt8] {
        guard let host = head?.fields.value(of: "host"), !host.isEmpty else { return [] }
        return Array((context.isTLS ? "https://" : "http://").utf8) + host
    }
}
