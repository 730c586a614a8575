// What stands before upstreams and routes: breakers, signers, limits. What a reload does not change goes on as it was.
// Domain: cold (the log is written to from workers, once for each change)

import CryoConfig
import CryoPipeline

struct KeptBreaker: Sendable {
    let breaker: Breaker
    let origin: String
}

/// By the names of upstreams and routes.
struct Guards: Sendable {
    var breakers: [String: KeptBreaker]
    var loads: [String: RouteLoad]
    var signers: [String: RequestSigner]
    /// Never to be told.
    var signingKeys: [Secret]
}

extension Composition {
    static func guards(_ configuration: GatewayConfiguration, replacing old: Guards?, log: Log) throws(GatewayError) -> Guards {
        let (signers, keys) = try signers(configuration.upstreams, log)
        return Guards(
            breakers: breakers(configuration.upstreams, replacing: old?.breakers ?? [:], log: log),
            loads: loads(configuration.routes, replacing: old?.loads ?? [:]), signers: signers, signingKeys: keys)
    }

    private static func breakers(_ upstreams: [UpstreamSettings], replacing old: [String: KeptBreaker], log: Log) -> [String: KeptBreaker] {
        var breakers: [String: KeptBreaker] = [:]
        for upstream in upstreams {
            guard let settings = upstream.breaker else { continue }
            let origin = upstream.url.origin
            if let kept = old[upstream.name], kept.breaker.settings == settings, kept.origin == origin {
                breakers[upstream.name] = kept
                continue
            }
            let name = upstream.name
            breakers[name] = KeptBreaker(breaker: Breaker(settings) { tell(of: $0, at: name, log) }, origin: origin)
        }
        return breakers
    }

    private static func loads(_ routes: [RouteSettings], replacing old: [String: RouteLoad]) -> [String: RouteLoad] {
        Dictionary(
            routes.filter(\.limits.isOn).map { ($0.name, old[$0.name] ?? RouteLoad()) }, uniquingKeysWith: { first, _ in first })
    }

    private static func tell(of change: Breaker.Change, at upstream: String, _ log: Log) {
        switch change.state {
        case .open:
            log.warning(
                "breaker of upstream \(upstream): open for \(change.openMilliseconds) ms, "
                    + "\(change.failures) of \(change.attempts) attempts failed")
        case .halfOpen: log.info("breaker of upstream \(upstream): half open, trying it out")
        case .closed: log.info("breaker of upstream \(upstream): closed")
        }
    }
}
