// The breakers of upstreams and the loads of routes: what a reload does not change goes on as it was.
// Domain: cold (the log is written to from workers, once for each change)

import CryoPipeline

struct KeptBreaker: Sendable {
    let breaker: Breaker
    let origin: String
}

extension Composition {
    static func breakers(_ upstreams: [UpstreamSettings], replacing old: [String: KeptBreaker], log: Log) -> [String: KeptBreaker] {
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

    static func loads(_ routes: [RouteSettings], replacing old: [String: RouteLoad]) -> [String: RouteLoad] {
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
