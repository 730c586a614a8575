// Step inject: which token a request gets, and the fields the upstream receives.
// Domain: worker

import CryoHTTP

extension Exchange {
    func tokenStanding(on route: RoutePlan, _ head: RequestHead) -> TokenStanding {
        guard let store = route.credentials else { return .notApplicable }
        if store.settings.inject.onClientValue == .keep, indexOfTokenHeader(in: head.fields, on: route) != nil {
            return .keptClientValue
        }
        credential = store.snapshot()
        revision = credential?.revision
        guard let credential else { return store.canRefresh ? .unusable : .missing }
        guard let expiresAt = credential.expiresAt else { return .ready }
        let unixSeconds = context.scheduler.unixMicroseconds / 1_000_000
        if unixSeconds >= expiresAt { return store.canRefresh ? .unusable : .missing }
        if let refreshAt = credential.refreshAt, unixSeconds >= refreshAt { store.refreshInBackground() }
        return .ready
    }

    private func indexOfTokenHeader(in fields: FieldSection, on route: RoutePlan) -> Int? {
        route.tokenHeaderLowercased.withUnsafeBytes { wanted in
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
        if route.credentials != nil, machine.rules.injectsToken {
            while let index = indexOfTokenHeader(in: fields, on: route) { fields.remove(at: index) }
        }
        withClientAddress {
            setForwardingFields(
                &fields, ForwardingFacts(clientAddress: $0, isSecure: context.isTLS, isTrusted: isTrustedProxy($0)))
        }
        setHost(route.upstream.authority, in: &fields)
        appendVia(&fields, minorVersion: head.minorVersion, pseudonym: environment.pseudonym)
        fields.append("x-request-id", requestID)
        for header in route.upstream.headers where !contains(header.lowercased, in: fields) {
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

    private func contains(_ lowercased: [UInt8], in fields: FieldSection) -> Bool {
        lowercased.withUnsafeBytes { wanted in
            fields.lines.indices.contains { index in
                !fields.lines[index].isRemoved && fields.withName(at: index) { equalsIgnoringCase($0, lowercased: wanted) }
            }
        }
    }

    /// Adds the present token, after taking out the one of an earlier attempt.
    func injectToken(on route: RoutePlan) {
        baseFields.bytes.removeLast(baseFields.bytes.count - baseFieldsCount.bytes)
        baseFields.lines.removeLast(baseFields.lines.count - baseFieldsCount.lines)
        guard machine.rules.injectsToken, let credential else { return }
        credential.noteUse()
        baseFields.append(name: route.tokenHeader, value: credential.headerValue)
    }
}
