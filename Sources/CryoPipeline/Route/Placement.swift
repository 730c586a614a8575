// Step route: everything that a request's head alone decides about where it goes, found before the exchange begins.
// Domain: worker

import CryoHTTP

/// Where a request goes. Made once; the references in it never change while the exchange lives.
struct Placement {
    enum Decision {
        /// There is no head.
        case none
        case ping
        case refused(FailureReason, status: UInt16, detail: StaticString)
        case preflight
        case tunnel
        case matched
    }

    let decision: Decision
    let match: RouteMatch?
    /// The route that admits the request's page of another site: it may read the reply, failures included.
    let sharingRoute: RoutePlan?
    /// The client asks for a tunnel to this upstream; there is no route then.
    let tunnel: UpstreamPlan?

    init(_ decision: Decision, match: RouteMatch? = nil, sharingRoute: RoutePlan? = nil, tunnel: UpstreamPlan? = nil) {
        self.decision = decision
        self.match = match
        self.sharingRoute = sharingRoute
        self.tunnel = tunnel
    }
}

extension Exchange {
    /// How often one request may come by. Twice is no mistake: an upstream may call another API through the same gateway.
    package static let passesMax = 2

    var sharingRoute: RoutePlan? { placement.sharingRoute }
    var connectUpstream: UpstreamPlan? { placement.tunnel }

    static func place(_ head: RequestHead, by plan: PipelinePlan, _ context: ConnectionContext, pseudonym: [UInt8]) -> Placement {
        let isHostAdmitted = context.admittedHost.isHost(of: head, for: plan)
        switch RouteRule(plan: plan, localPort: context.localPort).decide(head, isHostAdmitted: isHostAdmitted) {
        case .ping: return Placement(.ping)
        case .refused(let reason, let status, let detail): return Placement(.refused(reason, status: status, detail: detail))
        case .keyless(let match):
            return Placement(
                .refused(.clientKeyMissing, status: 407, detail: "client key is missing or wrong"),
                sharingRoute: match?.admitsOrigin == true ? match?.route : nil)
        case .preflight(let match): return Placement(.preflight, match: match, sharingRoute: match.route)
        case .tunnel(let upstream): return Placement(.tunnel, tunnel: upstream)
        case .matched(let match):
            if !isHostAdmitted { context.admittedHost.note(head, for: plan) }
            return follow(match, head, by: plan, pseudonym: pseudonym)
        }
    }

    private static func follow(_ match: RouteMatch, _ head: RequestHead, by plan: PipelinePlan, pseudonym: [UInt8]) -> Placement {
        let sharingRoute = match.admitsOrigin ? match.route : nil
        if countVia(head.fields, pseudonym: pseudonym) >= passesMax {
            return Placement(
                .refused(.loopDetected, status: 508, detail: "the request has passed this gateway before"), match: match,
                sharingRoute: sharingRoute)
        }
        guard match.route.allowsOverride else { return Placement(.matched, match: match, sharingRoute: sharingRoute) }
        switch OverrideRule(plan: plan).choose(head.fields, on: match.route) {
        case .asConfigured: return Placement(.matched, match: match, sharingRoute: sharingRoute)
        case .other(let route): return Placement(.matched, match: match.taking(route), sharingRoute: sharingRoute)
        case .unknown(let detail):
            return Placement(.refused(.overrideUnknown, status: 400, detail: detail), match: match, sharingRoute: sharingRoute)
        }
    }
}
