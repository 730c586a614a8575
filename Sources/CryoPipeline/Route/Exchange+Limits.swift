// Step route: holds a route to its limits, and tells who is too many when to come again.
// Domain: worker

import CryoHTTP

extension Exchange {
    /// False: the request is refused, and answered.
    func enterRoute(_ route: RoutePlan) -> Bool {
        guard let load = route.load else { return true }
        switch load.enter(route.settings.limits, at: now) {
        case nil:
            occupiedLoad = load
            return true
        case .concurrency:
            ownRetryAfterSeconds = 1
            refuse(.concurrencyLimited, status: 503, detail: "routes[].limits.concurrent")
            return false
        case .rate(let nanoseconds):
            ownRetryAfterSeconds = (nanoseconds + 999_999_999) / 1_000_000_000
            refuse(.rateLimited, status: 429, detail: "routes[].limits.requests_per_second")
            return false
        }
    }

    func leaveRoute() {
        occupiedLoad?.leave()
        occupiedLoad = nil
    }

    /// draft-ietf-httpapi-ratelimit-headers-10: the policy by the route's name, its quota and window, and what is left of it. Only beside
    /// our own 429: on other answers the fields are the upstream's.
    func appendRateLimit(to fields: inout FieldSection) {
        guard let route else { return }
        let name = "\"\(route.settings.name)\""
        let limits = route.settings.limits
        fields.append("RateLimit-Policy", Array("\(name);q=\(limits.capacity);w=\(limits.refillSeconds)".utf8))
        fields.append("RateLimit", Array("\(name);r=0;t=\(ownRetryAfterSeconds ?? 1)".utf8))
    }
}
