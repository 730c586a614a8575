// What the configuration says about an upstream's circuit breaker.
// Domain: pure

package struct BreakerSettings: Sendable, Equatable {
    /// Opens when at least this share of the attempts within the window has failed.
    package var failurePercent: UInt32
    /// Fewer attempts within the window tell nothing.
    package var requestsMin: UInt32 = 20
    package var windowMilliseconds: UInt32 = 30_000
    /// How long it stays open; doubled each time a probe fails.
    package var openMilliseconds: UInt32 = 5_000
    package var openMillisecondsMax: UInt32 = 60_000
    /// So many attempts are let through afterwards; when all have succeeded it closes.
    package var probes: UInt32 = 3
    package var conditions: [RetryCondition] = Self.standard

    /// What says that the upstream is unwell. 4xx are the client's doing, 501 and 505 are answers, not ailments.
    package static let standard: [RetryCondition] =
        RetryCondition.reasons.map { .reason($0) } + [500, 502, 503, 504].map { .status($0) }

    package init(failurePercent: UInt32) { self.failurePercent = failurePercent }
}
