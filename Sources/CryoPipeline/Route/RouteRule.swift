// Decides which route an exchange takes, and whether its Host and Origin may take it (design §10).
// Domain: pure

import CryoHTTP

/// Where a request goes, as ranges in the head's bytes.
struct RouteMatch {
    let route: RoutePlan
    /// The path as the client sent it.
    let path: Range<Int>
    let query: Range<Int>?
    /// The request named the upstream itself (`curl -x`): the path is the upstream's own, so neither prefix is changed.
    let isAbsolute: Bool
    /// The request comes from a page of another site, whose origin the route lists.
    let admitsOrigin: Bool

    /// The same way, with what the request chose for itself.
    func taking(_ route: RoutePlan) -> RouteMatch {
        RouteMatch(route: route, path: path, query: query, isAbsolute: isAbsolute, admitsOrigin: admitsOrigin)
    }
}

enum RouteDecision {
    case matched(RouteMatch)
    /// CONNECT to a configured upstream: bytes both ways, and no step in between looks at them.
    case tunnel(UpstreamPlan)
    /// A browser asks whether a page of a listed origin may send a request (Fetch §3.2.2): the gateway's own answer.
    case preflight(RouteMatch)
    /// The client key is missing or wrong. The route it would have taken, if any.
    case keyless(RouteMatch?)
    case refused(FailureReason, status: UInt16, detail: StaticString)
    /// `OPTIONS *`: a question to the gateway itself (RFC 9110 §9.3.7).
    case ping
}

struct RouteRule {
    let plan: PipelinePlan
    /// The port the client connected to; 0 where there is none.
    let localPort: UInt16

    /// `isHostAdmitted`: the Host of the head is known to be our own.
    func decide(_ head: RequestHead, isHostAdmitted: Bool = false) -> RouteDecision {
        let decision = place(head, isHostAdmitted)
        guard let key = plan.clientKey else { return decision }
        switch decision {
        case .tunnel: return ClientKeyRule.carries(head.fields, key) ? decision : .keyless(nil)
        case .matched(let match): return ClientKeyRule.carries(head.fields, key) ? decision : .keyless(match)
        // Without the key nobody learns which routes there are.
        case .refused(.routeNotFound, _, _): return ClientKeyRule.carries(head.fields, key) ? decision : .keyless(nil)
        // Nor which upstreams, by asking for tunnels.
        case .refused(.hostDenied, _, _) where head.targetForm == .authority:
            return ClientKeyRule.carries(head.fields, key) ? decision : .keyless(nil)
        // A preflight carries no key by nature, and `OPTIONS *` tells nothing but that the gateway lives.
        case .preflight, .ping, .refused, .keyless: return decision
        }
    }

    private func place(_ head: RequestHead, _ isHostAdmitted: Bool) -> RouteDecision {
        // TRACE would send the injected token back to the client (RFC 9110 §9.3.8).
        if head.isMethod("TRACE") { return .refused(.requestMalformed, status: 501, detail: "TRACE is not supported") }
        switch head.targetForm {
        case .origin(let path, let query):
            guard isHostAdmitted || isOwnHost(hostField(head)) else { return hostDenied }
            return match(head, path: path, query: query, upstream: nil)
        case .absolute(_, let authority, let path, let query):
            return head.fields.bytes.withUnsafeBytes { bytes in
                let authority = UnsafeRawBufferPointer(rebasing: bytes[authority])
                if let upstream = upstream(for: authority) { return match(head, path: path, query: query, upstream: upstream) }
                guard isOwnHost(authority), isOwnPort(authority) else { return hostDenied }
                return match(head, path: path, query: query, upstream: nil)
            }
        case .asterisk:
            return isOwnHost(hostField(head)) ? .ping : hostDenied
        case .authority:
            return tunnel(head)
        case nil:
            return .refused(.requestMalformed, status: 400, detail: "invalid request target")
        }
    }

    /// CONNECT (RFC 9110 §9.3.6): to exactly the host and port of a configured upstream.
    private func tunnel(_ head: RequestHead) -> RouteDecision {
        guard plan.connect == .upstreams else { return .refused(.requestMalformed, status: 501, detail: "CONNECT is not enabled") }
        // What would be a body to one reader is the beginning of the tunnel to another.
        guard head.framing == .none else { return .refused(.requestMalformed, status: 400, detail: "CONNECT with a body") }
        let upstream = head.fields.bytes.withUnsafeBytes { bytes -> UpstreamPlan? in
            let authority = UnsafeRawBufferPointer(rebasing: bytes[head.target])
            guard let parts = parseAuthority(authority) else { return nil }
            let host = UnsafeRawBufferPointer(rebasing: authority[parts.host])
            return plan.upstreams.first { upstream in
                parts.port == upstream.settings.url.port
                    && upstream.host.withUnsafeBytes { equalsIgnoringCase(host, lowercased: $0) }
            }
        }
        guard let upstream else { return hostDenied }
        return originStanding(head, on: nil) == .own ? .tunnel(upstream) : originDenied
    }

    private var hostDenied: RouteDecision { .refused(.hostDenied, status: 421, detail: "host is not in the allow-list") }

    private func match(_ head: RequestHead, path: Range<Int>, query: Range<Int>?, upstream: UpstreamPlan?) -> RouteDecision {
        if path.isEmpty {
            // An absolute target without a path means "/", which no route with a longer prefix can serve.
            return .refused(.requestMalformed, status: 400, detail: "absolute target without a path")
        }
        return head.fields.bytes.withUnsafeBytes { bytes -> RouteDecision in
            let raw = UnsafeRawBufferPointer(rebasing: bytes[path])
            switch routingPath(raw, encodedSlash: .kept) {
            case .refused(let reason):
                return .refused(.requestMalformed, status: 400, detail: reason)
            case .raw:
                return find(head, raw, path: path, query: query, upstream: upstream)
            case .normalized(let copy):
                return copy.withUnsafeBytes { find(head, $0, path: path, query: query, upstream: upstream) }
            }
        }
    }

    private func find(
        _ head: RequestHead, _ matching: UnsafeRawBufferPointer, path: Range<Int>, query: Range<Int>?, upstream: UpstreamPlan?
    ) -> RouteDecision {
        // The route of the request that would follow answers for it.
        if let wanted = preflightMethod(head), let route = route(head, matching, wanted, upstream) {
            switch originStanding(head, on: route) {
            case .own: break
            case .listed:
                return .preflight(RouteMatch(route: route, path: path, query: query, isAbsolute: upstream != nil, admitsOrigin: true))
            case .foreign: return originDenied
            }
        }
        let method = head.fields.bytes.withUnsafeBytes { UnsafeRawBufferPointer(rebasing: $0[head.method]) }
        guard let route = route(head, matching, method, upstream) else {
            return .refused(.routeNotFound, status: 404, detail: "no route matches")
        }
        let standing = originStanding(head, on: route)
        if standing == .foreign { return originDenied }
        return .matched(
            RouteMatch(route: route, path: path, query: query, isAbsolute: upstream != nil, admitsOrigin: standing == .listed))
    }

    /// The first that serves: they are in order.
    private func route(
        _ head: RequestHead, _ path: UnsafeRawBufferPointer, _ method: UnsafeRawBufferPointer, _ upstream: UpstreamPlan?
    ) -> RoutePlan? {
        for route in plan.routes {
            guard route.pattern.matches(path) else { continue }
            if let upstream, route.upstream !== upstream { continue }
            if !route.methods.isEmpty, !route.methods.contains(where: { method.elementsEqual($0) }) { continue }
            if let host = route.host, upstream == nil, !isHost(hostField(head), host) { continue }
            return route
        }
        return nil
    }

    /// The method a preflight asks for; nil when the request is none (Fetch §3.2.2).
    private func preflightMethod(_ head: RequestHead) -> UnsafeRawBufferPointer? {
        guard head.isMethod("OPTIONS"), head.fields.contains("origin"),
            let index = head.fields.firstIndex(of: "access-control-request-method")
        else { return nil }
        // Valid as long as the head: see `hostField`.
        return head.fields.withValue(at: index) { $0 }
    }

    private var originDenied: RouteDecision {
        .refused(.originDenied, status: 403, detail: "cross-site request to a route without cors")
    }

    // MARK: Host

    private func hostField(_ head: RequestHead) -> UnsafeRawBufferPointer {
        // The pointer stays valid: the head's bytes are not changed while a decision is made.
        guard let host = head.host else { return UnsafeRawBufferPointer(start: nil, count: 0) }
        return head.fields.bytes.withUnsafeBytes { UnsafeRawBufferPointer(rebasing: $0[host]) }
    }

    private func isOwnHost(_ authority: UnsafeRawBufferPointer) -> Bool {
        SiteRule.isOwnHost(authority, plan.hosts)
    }

    /// Another port of this machine is another server, which a proxy setting must not reach through us.
    private func isOwnPort(_ authority: UnsafeRawBufferPointer) -> Bool {
        localPort == 0 || parseAuthority(authority)?.port ?? 80 == localPort
    }

    private func isHost(_ authority: UnsafeRawBufferPointer, _ wanted: [UInt8]) -> Bool {
        guard let parts = parseAuthority(authority) else { return false }
        let host = UnsafeRawBufferPointer(rebasing: authority[parts.host])
        return wanted.withUnsafeBytes { equalsIgnoringCase(host, lowercased: $0) }
    }

    /// The configured upstream an absolute target names. Without a port, and on port 80, the scheme's default of the upstream
    /// is meant, so that `http://api.example.com/` through a proxy setting reaches `https://api.example.com`.
    private func upstream(for authority: UnsafeRawBufferPointer) -> UpstreamPlan? {
        guard let parts = parseAuthority(authority) else { return nil }
        let host = UnsafeRawBufferPointer(rebasing: authority[parts.host])
        return plan.upstreams.first { upstream in
            guard upstream.host.withUnsafeBytes({ equalsIgnoringCase(host, lowercased: $0) }) else { return false }
            guard let port = parts.port, port != 80 else { return upstream.settings.url.hasDefaultPort }
            return port == upstream.settings.url.port
        }
    }

    // MARK: Origin

    private enum OriginStanding {
        /// The gateway's own pages, and programs.
        case own
        /// Another site's page, whose origin the route lists.
        case listed
        case foreign
    }

    private func originStanding(_ head: RequestHead, on route: RoutePlan?) -> OriginStanding {
        if let index = head.fields.firstIndex(of: "origin") {
            return head.fields.withValue(at: index) { origin in
                if SiteRule.isSameOrigin(origin, host: hostField(head)) { return .own }
                let isListed = route?.cors?.origins.contains { allowed in
                    allowed.withUnsafeBytes { equalsIgnoringCase(origin, lowercased: $0) }
                }
                return isListed == true ? .listed : .foreign
            }
        }
        // Without Origin no listed site can be told from another; an allowed page's request carries it.
        return SiteRule.isCrossSite(head.fields) ? .foreign : .own
    }
}
