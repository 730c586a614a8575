// Step inject: which token a request gets, and the fields the upstream receives.
// Domain: worker

import CryoHTTP

extension Exchange {
    func tokenStanding(on route: RoutePlan, _ head: RequestHead) -> TokenStanding {
        // Asked through the route each time: a store is counted by the workers all at once, which makes a reference of our own dear.
        guard let onClientValue = route.credentials?.settings.inject.onClientValue else {
            return route.requiresToken ? .missing : .notApplicable
        }
        switch onClientValue {
        case .replace: break
        case .keep: if hasClientValue(head, on: route) { return .keptClientValue }
        case .reject: if hasClientValue(head, on: route) { return .clientValueRejected }
        }
        credential = route.credentials?.snapshot()
        revision = credential?.revision
        guard credential != nil else { return route.rules.canRefresh ? .unusable : .missing }
        guard let expiresAt = credential?.expiresAt else { return .ready }
        let unixSeconds = scheduler.unixMicroseconds / 1_000_000
        if unixSeconds >= expiresAt { return route.rules.canRefresh ? .unusable : .missing }
        if let refreshAt = credential?.refreshAt, unixSeconds >= refreshAt {
            route.credentials?.refreshInBackground(.early(version: credential?.version ?? 0))
        }
        return .ready
    }

    private func hasClientValue(_ head: RequestHead, on route: RoutePlan) -> Bool {
        guard let injection = route.injection else { return false }
        return switch injection.place {
        case .header: contains(injection.lowercasedName, in: head.fields)
        case .query: placement.query.map { QueryPairs.contains(injection.name, in: ArraySlice(head.fields.bytes[$0])) } ?? false
        case .cookie:
            head.fields.lines.indices.contains { index in
                head.fields.has("cookie", at: index)
                    && CookiePairs.contains(injection.name, in: head.fields.withValue(at: index) { Array($0) })
            }
        }
    }

    private func indexOf(_ lowercased: [UInt8], in fields: FieldSection) -> Int? {
        lowercased.withUnsafeBytes { wanted in
            guard fields.marks.contains(NameMark(wanted)) else { return nil }
            return fields.lines.indices.first { index in
                !fields.lines[index].isRemoved && fields.withName(at: index) { equalsIgnoringCase($0, lowercased: wanted) }
            }
        }
    }

    /// The fields of one attempt: the client's, less what is hop-by-hop or ours to say (RFC 9110 §7.6.1), plus what the gateway tells,
    /// and the token.
    func writeFields(_ fields: inout FieldSection, _ head: RequestHead, on route: RoutePlan) {
        fields.take(head.fields, reservingBytes: Self.addedBytes, lines: Self.addedLines)
        removeHopByHop(&fields)
        fields.remove("content-length")
        fields.remove("expect")
        fields.remove("x-request-id")
        // Meant for this gateway only, as Proxy-Authorization is; also when it asks for none.
        fields.remove("x-cryonet-key")
        fields.remove("cryonet-retry")
        fields.remove("cryonet-token")
        fields.remove("cryonet-policy")
        removeClientSignature(&fields)
        let injection = machine.rules.injectsToken ? route.injection : nil
        var cookies = injection.flatMap { removeClientValue($0, from: &fields) }
        context.withClientAddress { address in
            setForwardingFields(
                &fields, ForwardingFacts(clientAddress: address, isSecure: context.isTLS, isTrusted: isTrustedProxy(address)))
        }
        setHost(of: route.upstream, in: &fields)
        environment.appendVia(&fields, minorVersion: head.minorVersion)
        appendRequestID("x-request-id", to: &fields)
        setTrace(&fields)
        if !route.upstream.headers.isEmpty { appendDefaults(of: route.upstream, injection, &cookies, to: &fields) }
        if let injection { inject(injection, cookies, into: &fields) }
        appendLastEventID(to: &fields)
    }

    /// What the gateway usually adds: forwarding fields, Host, Via, the request's id, some defaults and the token.
    private static let addedBytes = 512
    private static let addedLines = 12

    @inline(__always)
    func appendRequestID(_ name: StaticString, to fields: inout FieldSection) {
        if clientRequestID.isEmpty {
            exchangeID.withBytes { fields.appendInPlace(name, $0) }
        } else {
            fields.append(name, clientRequestID)
        }
    }

    /// `upstreams[].headers`, where the client does not send the field and the token does not take its place.
    private func appendDefaults(
        of upstream: UpstreamPlan, _ injection: Injection?, _ cookies: inout [[UInt8]]?, to fields: inout FieldSection
    ) {
        for header in upstream.headers where !contains(header.lowercased, in: fields) {
            if let injection, injection.place == .header, header.lowercased == injection.lowercasedName { continue }
            if let present = cookies, header.lowercased == Array("cookie".utf8) {
                if present.isEmpty { cookies = [header.value] }
                continue
            }
            fields.append(name: header.name, value: header.value)
        }
    }

    /// What a listed proxy claims about its client is kept; nobody else is believed.
    private func isTrustedProxy(_ address: UnsafeRawBufferPointer) -> Bool {
        !plan.trustedProxies.isEmpty && plan.trustedProxies.contains { $0.contains(address) }
    }

    /// Host keeps its place at the top (RFC 9110 §7.2).
    private func setHost(of upstream: UpstreamPlan, in fields: inout FieldSection) {
        guard let index = fields.firstIndex(of: "host") else { return fields.append("Host", upstream.authority) }
        upstream.authority.withUnsafeBytes { fields.setValue(at: index, $0) }
    }

    private func contains(_ lowercased: [UInt8], in fields: FieldSection) -> Bool { indexOf(lowercased, in: fields) != nil }

    /// What the client put where the token goes. A query's is left out when the target is built. Returns the client's other cookies where
    /// one carries the token.
    private func removeClientValue(_ injection: Injection, from fields: inout FieldSection) -> [[UInt8]]? {
        switch injection.place {
        case .header:
            while let index = indexOf(injection.lowercasedName, in: fields) { fields.remove(at: index) }
            return nil
        case .query: return nil
        case .cookie:
            var cookies: [[UInt8]] = []
            for index in fields.indices(of: "cookie") {
                cookies += CookiePairs.removing(injection.name, from: fields.withValue(at: index) { Array($0) })
            }
            fields.remove("cookie")
            return cookies
        }
    }

    /// Adds the present token. `cookies`: the others, where it is one.
    private func inject(_ injection: Injection, _ cookies: [[UInt8]]?, into fields: inout FieldSection) {
        let credential = machine.carriesToken ? credential : nil
        credential?.noteUse()
        switch injection.place {
        case .header: if let credential { fields.append(name: injection.name, value: credential.injectedValue) }
        case .cookie:
            // One line for all (RFC 6265 §5.4).
            let all = (cookies ?? []) + (credential.map { [$0.injectedValue] } ?? [])
            if !all.isEmpty { fields.append("Cookie", Array(all.joined(separator: [0x3B, 0x20]))) }
        case .query: break
        }
    }

    /// The origin-form target: base path, the client's path less the stripped prefix, the query untouched but for a token that goes there.
    func writeTarget(_ target: inout [UInt8], _ head: RequestHead, on route: RoutePlan) {
        target.removeAll(keepingCapacity: true)
        let injectsQuery = machine.rules.injectsToken && route.injection?.place == .query
        head.fields.bytes.withUnsafeBytes { bytes in
            let path = UnsafeRawBufferPointer(rebasing: bytes[placement.path])
            if placement.isAbsolute {
                target.append(contentsOf: path)
            } else {
                if !route.upstream.basePath.isEmpty { target.append(contentsOf: route.upstream.basePath) }
                if route.stripPrefix.isEmpty {
                    target.append(bytes: path)
                } else {
                    appendPath(path, without: route.stripPrefix, to: &target)
                }
            }
            guard !injectsQuery, let query = placement.query else { return }
            target.append(0x3F)
            target.append(contentsOf: UnsafeRawBufferPointer(rebasing: bytes[query]))
        }
        if injectsQuery { appendQuery(placement.query.map { ArraySlice(head.fields.bytes[$0]) }, on: route, to: &target) }
    }

    private func appendPath(_ path: UnsafeRawBufferPointer, without prefix: [UInt8], to target: inout [UInt8]) {
        guard path.starts(with: prefix) else { return target.append(contentsOf: path) }
        let rest = UnsafeRawBufferPointer(rebasing: path[prefix.count...])
        guard prefix.last == 0x2F || rest.isEmpty || rest.first == 0x2F else { return target.append(contentsOf: path) }
        if rest.first != 0x2F { target.append(0x2F) }
        target.append(contentsOf: rest)
    }

    /// Adds the query where the token goes there: the client's without its own value, and the token.
    private func appendQuery(_ query: ArraySlice<UInt8>?, on route: RoutePlan, to target: inout [UInt8]) {
        guard let injection = route.injection else { return }
        let kept = query.map { QueryPairs.removing(injection.name, from: $0) } ?? []
        let injected = machine.carriesToken ? credential?.injectedValue : nil
        let parts = [kept.isEmpty ? nil : kept, injected].compactMap(\.self)
        guard !parts.isEmpty else { return }
        target.append(0x3F)
        target.append(contentsOf: parts.joined(separator: [0x26]))
    }
}
