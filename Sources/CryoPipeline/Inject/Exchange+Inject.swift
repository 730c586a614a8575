// Step inject: which token a request gets, and the fields the upstream receives.
// Domain: worker

import CryoHTTP

extension Exchange {
    func tokenStanding(on route: RoutePlan, _ head: RequestHead) -> TokenStanding {
        guard let store = route.credentials else { return route.settings.auth == .required ? .missing : .notApplicable }
        if store.settings.inject.onClientValue != .replace, hasClientValue(head, store.injection) {
            return store.settings.inject.onClientValue == .keep ? .keptClientValue : .clientValueRejected
        }
        credential = store.snapshot()
        revision = credential?.revision
        guard let credential else { return store.canRefresh ? .unusable : .missing }
        guard let expiresAt = credential.expiresAt else { return .ready }
        let unixSeconds = context.scheduler.unixMicroseconds / 1_000_000
        if unixSeconds >= expiresAt { return store.canRefresh ? .unusable : .missing }
        if let refreshAt = credential.refreshAt, unixSeconds >= refreshAt {
            store.refreshInBackground(.early(version: credential.version))
        }
        return .ready
    }

    private func hasClientValue(_ head: RequestHead, _ injection: Injection) -> Bool {
        switch injection.place {
        case .header: contains(injection.lowercasedName, in: head.fields)
        case .query: match?.query.map { QueryPairs.contains(injection.name, in: ArraySlice(head.fields.bytes[$0])) } ?? false
        case .cookie:
            head.fields.lines.indices.contains { index in
                head.fields.has("cookie", at: index)
                    && CookiePairs.contains(injection.name, in: head.fields.withValue(at: index) { Array($0) })
            }
        }
    }

    private func indexOf(_ lowercased: [UInt8], in fields: FieldSection) -> Int? {
        lowercased.withUnsafeBytes { wanted in
            fields.lines.indices.first { index in
                !fields.lines[index].isRemoved && fields.withName(at: index) { equalsIgnoringCase($0, lowercased: wanted) }
            }
        }
    }

    /// The fields every attempt begins with: the client's, less what is hop-by-hop or ours to say (RFC 9110 §7.6.1), plus what
    /// the gateway tells. The token is added per attempt.
    func prepareFields(_ head: RequestHead, on route: RoutePlan) {
        var fields = head.fields.copy(reservingBytes: Self.addedBytes, lines: Self.addedLines)
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
        let injection = machine.rules.injectsToken ? route.credentials?.injection : nil
        if let injection { removeClientValue(injection, from: &fields) }
        withClientAddress {
            setForwardingFields(
                &fields, ForwardingFacts(clientAddress: $0, isSecure: context.isTLS, isTrusted: isTrustedProxy($0)))
        }
        setHost(route.upstream.authority, in: &fields)
        appendVia(&fields, minorVersion: head.minorVersion, pseudonym: environment.pseudonym)
        fields.append("x-request-id", requestID)
        adoptTrace(&fields)
        for header in route.upstream.headers where !contains(header.lowercased, in: fields) {
            if let injection, injection.place == .header, header.lowercased == injection.lowercasedName { continue }
            if clientCookies != nil, header.lowercased == Array("cookie".utf8) {
                if clientCookies == [] { clientCookies = [header.value] }
                continue
            }
            fields.append(name: header.name, value: header.value)
        }
        baseFields = fields
        baseFieldsCount = (fields.bytes.count, fields.lines.count)
    }

    /// What the gateway usually adds: forwarding fields, Host, Via, the request's id, some defaults and the token.
    private static let addedBytes = 512
    private static let addedLines = 12

    /// The peer's address without its port and brackets.
    private func withClientAddress(_ body: (UnsafeRawBufferPointer) -> Void) {
        context.client.withUnsafeBytes { client in
            guard let colon = client.lastIndex(of: 0x3A) else { return body(client) }
            let isBracketed = colon > 1 && client[0] == 0x5B && client[colon - 1] == 0x5D
            body(UnsafeRawBufferPointer(rebasing: isBracketed ? client[1..<colon - 1] : client[..<colon]))
        }
    }

    /// What a listed proxy claims about its client is kept; nobody else is believed.
    private func isTrustedProxy(_ address: UnsafeRawBufferPointer) -> Bool {
        plan.trustedProxies.contains { $0.contains(address) }
    }

    /// Host keeps its place at the top (RFC 9110 §7.2).
    private func setHost(_ authority: [UInt8], in fields: inout FieldSection) {
        guard let index = fields.firstIndex(of: "host") else { return fields.append("Host", authority) }
        fields.setValue(at: index, authority)
    }

    private func contains(_ lowercased: [UInt8], in fields: FieldSection) -> Bool { indexOf(lowercased, in: fields) != nil }

    /// What the client put where the token goes. A query's is left out when the target is built.
    private func removeClientValue(_ injection: Injection, from fields: inout FieldSection) {
        switch injection.place {
        case .header: while let index = indexOf(injection.lowercasedName, in: fields) { fields.remove(at: index) }
        case .query: break
        case .cookie:
            var cookies: [[UInt8]] = []
            for index in fields.lines.indices where fields.has("cookie", at: index) {
                cookies += CookiePairs.removing(injection.name, from: fields.withValue(at: index) { Array($0) })
            }
            fields.remove("cookie")
            clientCookies = cookies
        }
    }

    /// Adds the present token to the fields, after taking out the one of an earlier attempt.
    func injectToken(on route: RoutePlan) {
        baseFields.truncate(bytes: baseFieldsCount.bytes, lines: baseFieldsCount.lines)
        if machine.carriesToken { credential?.noteUse() }
        let injected = machine.carriesToken ? credential?.injectedValue : nil
        switch route.credentials?.injection.place {
        case .header: if let injected, let name = route.credentials?.injection.name { baseFields.append(name: name, value: injected) }
        case .cookie:
            // One line for all (RFC 6265 §5.4).
            guard let clientCookies else { return }
            let cookies = clientCookies + (injected.map { [$0] } ?? [])
            if !cookies.isEmpty { baseFields.append("Cookie", Array(cookies.joined(separator: [0x3B, 0x20]))) }
        case .query, nil: break
        }
    }

    /// Adds the query as the upstream gets it: the client's untouched, or without its own value and with the token where that goes there.
    func appendQuery(_ query: ArraySlice<UInt8>?, on route: RoutePlan, to target: inout [UInt8]) {
        guard machine.rules.injectsToken, let injection = route.credentials?.injection, injection.place == .query else {
            guard let query else { return }
            target.append(0x3F)
            target.append(contentsOf: query)
            return
        }
        let kept = query.map { QueryPairs.removing(injection.name, from: $0) } ?? []
        let injected = machine.carriesToken ? credential?.injectedValue : nil
        let parts = [kept.isEmpty ? nil : kept, injected].compactMap(\.self)
        guard !parts.isEmpty else { return }
        target.append(0x3F)
        target.append(contentsOf: parts.joined(separator: [0x26]))
    }
}
