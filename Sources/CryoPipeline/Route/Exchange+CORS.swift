// Step route: what a browser is told about a cross-site request that a route admits (Fetch §3.2).
// Domain: worker

import CryoHTTP

extension Exchange {
    /// Answers a preflight in the upstream's place: it carries neither token nor client key, and asks about the gateway.
    func answerPreflight() {
        var outcomes = StepOutcomes()
        outcomes.read = .parsed
        outcomes.route = .matched
        outcomes.reply = .sent
        earlyOutcomes = outcomes
        var fields = FieldSection()
        if let head, let cors = route?.cors {
            fields.append("Access-Control-Allow-Methods", cors.methods)
            let names = cors.headers.map { plan.clientKey == nil ? $0 : $0 + Array(", X-CryoNet-Key".utf8) } ?? requestedHeaders(head)
            if !names.isEmpty { fields.append("Access-Control-Allow-Headers", names) }
            fields.append("Access-Control-Max-Age", cors.maxAge)
            // A page of the public web asks this before it reaches a local address.
            if head.fields.listContains("access-control-request-private-network", token: "true") {
                fields.append("Access-Control-Allow-Private-Network", "true")
            }
            fields.append("Vary", "Origin, Access-Control-Request-Method, Access-Control-Request-Headers")
        }
        fields.append("X-Request-Id", requestID)
        sendHead(204, &fields, .none)
        finishReply()
    }

    /// The names a preflight asks for; what is no field name is left out.
    private func requestedHeaders(_ head: RequestHead) -> [UInt8] {
        var names: [UInt8] = []
        for index in head.fields.indices(of: "access-control-request-headers") {
            head.fields.withValue(at: index) { value in
                forEachListElement(value) { name in
                    guard isToken(name) else { return }
                    if !names.isEmpty { names.append(contentsOf: [0x2C, 0x20]) }
                    names.append(contentsOf: name)
                }
            }
        }
        return names
    }

    /// Lets the admitted page read the reply, whatever the upstream says about it: the route's list decides. Replies of a route with
    /// `cors` differ by Origin, so caches are told, also when this request carried none.
    func shareWithOrigin(_ fields: inout FieldSection) {
        guard let cors = sharingRoute?.cors ?? route?.cors else { return }
        if sharingRoute != nil, let head, let index = head.fields.firstIndex(of: "origin") {
            let own: [StaticString] = [
                "access-control-allow-origin", "access-control-allow-credentials", "access-control-expose-headers",
            ]
            for name in own { fields.remove(name) }
            // As the browser wrote it: it compares byte for byte.
            head.fields.withValue(at: index) { origin in
                let name: StaticString = "Access-Control-Allow-Origin"
                fields.append(name: name.rawBytes, value: origin)
            }
            if cors.allowsCredentials { fields.append("Access-Control-Allow-Credentials", "true") }
            fields.append("Access-Control-Expose-Headers", cors.exposedHeaders)
        }
        if !fields.listContains("vary", token: "origin"), !fields.listContains("vary", token: "*") { fields.append("Vary", "Origin") }
    }
}
