// What makes an attempt a failed one, looked up: the conditions of retries and of a breaker are one vocabulary.
// Domain: pure

package struct ConditionSet: Sendable {
    let reasons: FailureReasonSet
    private let statuses: Set<UInt16>
    private let businessCodes: Set<[UInt8]>
    private let businessPrefixes: [[UInt8]]

    package init(_ conditions: [RetryCondition]) {
        var reasons = FailureReasonSet()
        var statuses: Set<UInt16> = []
        var codes: Set<[UInt8]> = []
        var prefixes: [[UInt8]] = []
        for condition in conditions {
            switch condition {
            case .reason(let reason): reasons.insert(reason)
            case .status(let status): statuses.insert(status)
            case .statusClass(let digit): statuses.formUnion(digit * 100...digit * 100 + 99)
            case .businessCode(let code):
                if code.hasSuffix("*") { prefixes.append(Array(code.utf8.dropLast())) } else { codes.insert(Array(code.utf8)) }
            }
        }
        self.reasons = reasons
        self.statuses = statuses
        businessCodes = codes
        businessPrefixes = prefixes
    }

    package func contains(_ reason: FailureReason) -> Bool { reasons.contains(reason) }

    /// No condition names a status below 400.
    package func contains(status: UInt16) -> Bool { status >= 400 && statuses.contains(status) }

    package func contains(businessCode: [UInt8]) -> Bool {
        businessCodes.contains(businessCode) || businessPrefixes.contains { businessCode.starts(with: $0) }
    }
}
