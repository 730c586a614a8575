// Tells which way a request would go, without an exchange: for tests and for commands that explain a configuration.
// Domain: pure

package import CryoHTTP

package enum RouteProbe {
    package struct Way: Sendable {
        package let name: String
        /// The path as the client sent it, in the head's bytes.
        package let path: Range<Int>
        /// The target named the upstream itself.
        package let isAbsolute: Bool
    }

    /// nil when the request would be refused.
    package static func route(of head: RequestHead, in plan: PipelinePlan, localPort: UInt16) -> Way? {
        guard case .matched(let match) = RouteRule(plan: plan, localPort: localPort).decide(head) else { return nil }
        return Way(name: match.route.settings.name, path: match.path, isAbsolute: match.isAbsolute)
    }

    /// What becomes of a request before it is sent anywhere.
    package enum Verdict: Sendable {
        case matched(Way)
        /// A browser's question, which the gateway answers for that route.
        case preflight(Way)
        case tunnel(upstream: String)
        /// `OPTIONS *`
        case answered
        case refused(FailureReason, status: UInt16, detail: String)
    }

    /// Why a route does not serve a request; nil where it would.
    package enum Mismatch: String, Sendable, Equatable {
        case path, method, host
        /// The target names another upstream.
        case upstream
    }

    package struct Explanation: Sendable {
        package let verdict: Verdict
        /// Every route, in the order in which they are looked at: the first without a mismatch is taken.
        package let routes: [(settings: RouteSettings, mismatch: Mismatch?)]
    }

    package static func explain(_ head: RequestHead, in plan: PipelinePlan, localPort: UInt16) -> Explanation {
        let verdict: Verdict =
            switch RouteRule(plan: plan, localPort: localPort).decide(head) {
            case .matched(let match): .matched(way(match))
            case .preflight(let match): .preflight(way(match))
            case .tunnel(let upstream): .tunnel(upstream: upstream.settings.name)
            case .ping: .answered
            case .keyless: .refused(.clientKeyMissing, status: 407, detail: "the client key is missing or wrong")
            case .refused(let reason, let status, let detail): .refused(reason, status: status, detail: "\(detail)")
            }
        return Explanation(verdict: verdict, routes: plan.routes.map { ($0.settings, mismatch($0, head, isAbsolute(head, plan))) })
    }

    private static func way(_ match: RouteMatch) -> Way {
        Way(name: match.route.settings.name, path: match.path, isAbsolute: match.isAbsolute)
    }

    /// The upstream that an absolute target names; nil for every other target.
    private static func isAbsolute(_ head: RequestHead, _ plan: PipelinePlan) -> UpstreamPlan? {
        guard case .absolute(_, let authority, _, _) = head.targetForm else { return nil }
        return head.fields.bytes.withUnsafeBytes { bytes in
            guard let parts = parseAuthority(UnsafeRawBufferPointer(rebasing: bytes[authority])) else { return nil }
            let host = Array(
                bytes[authority][(authority.lowerBound + parts.host.lowerBound)..<(authority.lowerBound + parts.host.upperBound)])
            return plan.upstreams.first { String(decoding: host, as: UTF8.self).lowercased() == $0.settings.url.host }
        }
    }

    private static func mismatch(_ route: RoutePlan, _ head: RequestHead, _ upstream: UpstreamPlan?) -> Mismatch? {
        let bytes = head.fields.bytes
        let path: Range<Int>
        switch head.targetForm {
        case .origin(let range, _), .absolute(_, _, let range, _): path = range
        case .asterisk, .authority, nil: return .path
        }
        let matches = bytes.withUnsafeBytes { bytes in
            let raw = UnsafeRawBufferPointer(rebasing: bytes[path])
            switch routingPath(raw, encodedSlash: .kept) {
            case .refused: return false
            case .raw: return route.pattern.matches(raw)
            case .normalized(let copy): return copy.withUnsafeBytes { route.pattern.matches($0) }
            }
        }
        if !matches { return .path }
        if let upstream, route.upstream !== upstream { return .upstream }
        if !route.methods.isEmpty, !route.methods.contains(where: { bytes[head.method].elementsEqual($0) }) { return .method }
        guard let wanted = route.host, upstream == nil else { return nil }
        let host = head.fields.value(of: "host") ?? []
        let isWanted = host.withUnsafeBytes { authority in
            guard let parts = parseAuthority(authority) else { return false }
            return wanted.withUnsafeBytes { equalsIgnoringCase(UnsafeRawBufferPointer(rebasing: authority[parts.host]), lowercased: $0) }
        }
        return isWanted ? nil : .host
    }
}
