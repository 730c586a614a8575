// A set of failure reasons as bits: looked into for each failed attempt, copied with the rules of each exchange.
// Domain: pure

package struct FailureReasonSet: Sendable, Equatable, ExpressibleByArrayLiteral {
    private var bits: UInt64 = 0

    package init() {}

    package init(arrayLiteral reasons: FailureReason...) { for reason in reasons { insert(reason) } }

    package mutating func insert(_ reason: FailureReason) { bits |= Self.bit(reason) }

    package func contains(_ reason: FailureReason) -> Bool { bits & Self.bit(reason) != 0 }

    private static func bit(_ reason: FailureReason) -> UInt64 { 1 << UInt64(reason.position) }
}

/// The place of a case among all of its enumeration: cases without values are one byte, numbered as they are written. Cases that stand for
/// texts are compared and hashed as texts, which costs more.
@inline(__always)
func casePlace<Case: CaseIterable>(_ value: Case) -> Int { withUnsafeBytes(of: value) { Int($0.first ?? 0) } }
