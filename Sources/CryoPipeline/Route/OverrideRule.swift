// The token and the policy a request chooses for itself, where its route allows that.
// Domain: pure

import CryoHTTP

enum OverrideChoice {
    case asConfigured
    case other(RoutePlan)
    case unknown(StaticString)
}

/// `CryoNet-Token: NAME` and `CryoNet-Policy: NAME`; `none` chooses none. On a route that does not allow them they mean nothing, and
/// they never go to the upstream.
struct OverrideRule {
    let plan: PipelinePlan

    func choose(_ fields: FieldSection, on route: RoutePlan) -> OverrideChoice {
        guard route.allowsTokenOverride || route.allowsPolicyOverride else { return .asConfigured }
        var credentials = route.credentials
        var policy = route.policy
        if route.allowsTokenOverride {
            switch wish("cryonet-token", in: fields) {
            case .absent: break
            case .nothing: credentials = nil
            case .name(let name):
                guard let index = plan.credentials.firstIndex(where: { $0.settings.name.utf8.elementsEqual(name) }) else {
                    return .unknown("CryoNet-Token names no token")
                }
                guard plan.mayTake(index, to: route.upstream) else { return .unknown("CryoNet-Token names a token of another upstream") }
                credentials = plan.credentials[index]
            case .several: return .unknown("CryoNet-Token is there more than once")
            }
        }
        if route.allowsPolicyOverride {
            switch wish("cryonet-policy", in: fields) {
            case .absent: break
            case .nothing: policy = nil
            case .name(let name):
                guard let chosen = plan.policies.first(where: { $0.settings.name.utf8.elementsEqual(name) }) else {
                    return .unknown("CryoNet-Policy names no policy")
                }
                policy = chosen
            case .several: return .unknown("CryoNet-Policy is there more than once")
            }
        }
        if credentials === route.credentials, policy === route.policy { return .asConfigured }
        return .other(RoutePlan(route, credentials: credentials, policy: policy))
    }

    private enum Wish { case absent, nothing, name([UInt8]), several }

    private func wish(_ name: StaticString, in fields: FieldSection) -> Wish {
        guard let index = fields.firstIndex(of: name) else { return .absent }
        if fields.firstIndex(of: name, from: index + 1) != nil { return .several }
        let value = fields.withValue(at: index) { Array($0) }
        return value.elementsEqual("none".utf8) ? .nothing : .name(value)
    }
}
