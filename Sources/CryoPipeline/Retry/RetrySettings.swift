// What the configuration says about transient retry (ledger §H).
// Domain: pure

package struct RetrySettings: Sendable, Equatable {
    package enum Jitter: String, Sendable, CaseIterable { case full, none }
    /// Retries after the first attempt; 0 is off.
    package var limit: UInt32 = 0
    package var base: Double = 2
    /// The delay before retry k = 0, 1, … is `base^k × scale`.
    package var scaleMilliseconds: UInt32 = 500
    package var delayMillisecondsMax: UInt32 = 10_000
    package var jitter: Jitter = .full
    /// A request with an `Idempotency-Key` may be repeated whatever its method.
    package var methods: [String] = ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"]
    package var conditions: [RetryCondition] = RetryCondition.standard
    /// How much of an upstream's open exchanges may be retrying, in percent; 100 is no bound.
    package var budgetPercent: UInt32 = 20
    /// So many may be retrying at once whatever the percentage says.
    package var budgetMin: UInt32 = 3

    package init() {}
}
