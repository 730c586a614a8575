// The metrics of breakers by upstream, and of limits by route.
// Domain: cold

import CryoPipeline

extension GatewayMetrics {
    static func appendUpstreams(_ snapshot: GatewaySnapshot, _ text: inout MetricsText) {
        let breakers = snapshot.upstreams.compactMap { plan in
            plan.breaker.map { (name: plan.settings.name, status: $0.status(at: snapshot.nanoseconds)) }
        }
        guard !breakers.isEmpty else { return }
        text.family("cryonet_breaker_state", .gauge, "1 for the state an upstream's breaker is in.")
        for breaker in breakers {
            for state in Breaker.State.allCases {
                let labels = [(name: "upstream", value: breaker.name), (name: "state", value: state.rawValue)]
                text.sample("cryonet_breaker_state", labels, state == breaker.status.state ? 1 : 0)
            }
        }
        text.family("cryonet_breaker_opened_total", .counter, "How often an upstream's breaker opened.")
        for breaker in breakers { text.sample("cryonet_breaker_opened_total", [("upstream", breaker.name)], breaker.status.opened) }
        text.family("cryonet_breaker_refused_total", .counter, "Attempts that an open breaker did not let through.")
        for breaker in breakers { text.sample("cryonet_breaker_refused_total", [("upstream", breaker.name)], breaker.status.refused) }
    }

    /// What was refused is in `cryonet_failures_total`.
    static func appendRoutes(_ snapshot: GatewaySnapshot, _ text: inout MetricsText) {
        let routes = snapshot.routes.compactMap { route in route.load.map { (name: route.settings.name, count: $0.count) } }
        guard !routes.isEmpty else { return }
        text.family("cryonet_route_exchanges_open", .gauge, "Exchanges that count towards a route's limits at the moment.")
        for route in routes.sorted(by: { $0.name < $1.name }) {
            text.sample("cryonet_route_exchanges_open", [("route", route.name)], UInt64(max(0, route.count)))
        }
    }
}
