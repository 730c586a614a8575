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
    package var methods: [String] = ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"]
    package var statuses: [UInt16] = [408, 500, 502, 503, 504]

    package init() {}
}
