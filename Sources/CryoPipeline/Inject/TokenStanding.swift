// What is known of an exchange's token before its first attempt.
// Domain: pure

package enum TokenStanding: Sendable, Equatable {
    case notApplicable, keptClientValue, ready
    /// None, or expired, but the source can make one.
    case unusable
    case missing
    /// The client sent a value of its own where the token goes, and the token's settings forbid it.
    case clientValueRejected
}
