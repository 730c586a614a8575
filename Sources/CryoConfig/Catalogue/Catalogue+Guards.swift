// Owns the catalogue's keys of an upstream's circuit breaker and a route's limits.
// Domain: pure

import CryoPipeline

extension Catalogue {
    private static let breakerStandards = BreakerSettings(failurePercent: 50)

    static let breaker = Section([
        CatalogueKey(
            "failure_percent", .integer(1...100), required: true, example: "50",
            "opens when this share of the attempts within window_ms has failed"),
        CatalogueKey(
            "min_requests", .integer(1...1_000_000), standard: "\(breakerStandards.requestsMin)",
            "fewer attempts within window_ms tell nothing"),
        CatalogueKey(
            "window_ms", .integer(10...3_600_000), standard: "\(breakerStandards.windowMilliseconds)", units: "milliseconds",
            "how far back it looks"),
        CatalogueKey(
            "open_ms", .integer(1...3_600_000), standard: "\(breakerStandards.openMilliseconds)", units: "milliseconds",
            "how long it answers 503 breaker_open itself; doubled each time a probe fails"),
        CatalogueKey(
            "max_open_ms", .integer(1...3_600_000), standard: "\(breakerStandards.openMillisecondsMax)", units: "milliseconds",
            "where the doubling ends"),
        CatalogueKey(
            "probes", .integer(1...1000), standard: "\(breakerStandards.probes)",
            "attempts let through after open_ms; all must succeed to close it"),
        CatalogueKey(
            "on", .list(.text(.retryCondition)), standard: flow(breakerStandards.conditions.map(\.text)),
            "what counts as a failure, as in retry.on: reasons of network failures, statuses (503, 5xx), business:CODE"),
    ])

    private static let limitStandards = RouteLimitSettings()
    static let routeLimits = Section([
        CatalogueKey(
            "concurrent", .integer(0...1_000_000), standard: "\(limitStandards.concurrent)",
            "exchanges at a time; one more gets 503 concurrency_limited; 0: no bound"),
        CatalogueKey(
            "requests_per_second", .decimal(0...1_000_000), standard: "0",
            "exchanges that may begin, 0.5 is one in two seconds; more get 429 rate_limited; 0: no bound"),
        CatalogueKey(
            "burst", .integer(1...1_000_000), example: "20",
            "so many may begin at once after a quiet time; default: requests_per_second, at least 1"),
    ])
}
