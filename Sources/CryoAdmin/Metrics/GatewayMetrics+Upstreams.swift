// The metrics of breakers, by upstream.
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
}
