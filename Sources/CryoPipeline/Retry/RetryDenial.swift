// Why a retry that the rules allow is not made.
// Domain: pure

package enum RetryDenial: Sendable {
    /// Too many exchanges of the upstream are retrying already.
    case budgetSpent
    /// The total time would be over before.
    case noTimeLeft
    /// The upstream's breaker is open for longer than the wait.
    case breakerOpen

    var outcome: RetryOutcome {
        switch self {
        case .budgetSpent: .budgetSpent
        case .noTimeLeft: .noTimeLeft
        case .breakerOpen: .breakerOpen
        }
    }
}
