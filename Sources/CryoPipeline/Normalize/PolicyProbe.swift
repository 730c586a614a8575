// What a policy makes of a whole answer, for commands: the rules of the normalize step without an exchange.
// Domain: pure

import CryoHTTP
package import CryoJSON

package enum PolicyProbe {
    package struct Judgement: Sendable, Equatable {
        package var outcome: NormalizeOutcome
        /// nil: the answer goes to the client.
        package var reason: FailureReason?
        /// What the client gets.
        package var status: UInt16
        package var code: String?
        package var codeName: String?
        package var message: String?

        init(_ outcome: NormalizeOutcome, status: UInt16) {
            self.outcome = outcome
            self.status = status
        }
    }

    /// `body` without its content coding. `refreshCodes`: those that refuse the token of the route.
    package static func judge(
        _ body: [UInt8], status: UInt16, contentType: String?, by policy: PolicyPlan, refreshCodes: [String], scanner: JSONScanner
    ) -> Judgement {
        let settings = policy.settings
        var fields = FieldSection()
        if let contentType { fields.append("Content-Type", Array(contentType.utf8)) }
        let type = MediaType.of(fields)
        let isJudged = settings.view != .raw && 200..<300 ~= status && ![204, 205, 206].contains(status)
        if !isJudged || type.isStream || (type == .other && settings.nonJSON == .pass) || (body.isEmpty && settings.empty == .pass) {
            return Judgement(.passedThrough, status: status)
        }
        guard !body.isEmpty else { return refused(.notJSON, .responseNotJSON, passes: false, status, policy) }
        guard body.count <= settings.bodyBytesMax else {
            return refused(.tooLarge, .responseTooLarge, passes: settings.oversize != .fail, status, policy)
        }
        var body = body
        switch EnvelopeJudge(scanner: scanner).judge(padding: &body, by: policy) {
        case .accepted(.whole): return Judgement(.accepted, status: status)
        case .accepted: return Judgement(.unwrapped, status: status)
        case .notJSON: return refused(.notJSON, .responseNotJSON, passes: settings.nonJSON == .pass, status, policy)
        case .rejected(let failure): return rejected(failure, status, policy, refreshCodes)
        }
    }

    private static func refused(
        _ outcome: NormalizeOutcome, _ reason: FailureReason, passes: Bool, _ status: UInt16, _ policy: PolicyPlan
    ) -> Judgement {
        var judgement = Judgement(outcome, status: status)
        if passes { return judgement }
        judgement.reason = reason
        if policy.settings.failureMode == .replace { judgement.status = FailureTable.row(reason).status }
        judgement.message = text(policy.settings.reasonMessages[reason]?.bytes(in: .english)) ?? "\(FailureTable.row(reason).english)"
        return judgement
    }

    private static func rejected(
        _ failure: BusinessFailure, _ status: UInt16, _ policy: PolicyPlan, _ refreshCodes: [String]
    ) -> Judgement {
        let code = text(failure.codeText)
        let rule = policy.codes.rule(for: failure.codeText)
        var judgement = refused(.businessRejected, .businessRejected, passes: false, status, policy)
        judgement.code = code
        judgement.codeName = rule?.name
        if policy.settings.failureMode == .replace {
            judgement.status = policy.status(
                of: rule, refusesToken: code.map { refreshCodes.contains($0) } ?? false,
                endsSession: policy.endsSession(rule, failure.codeText))
        }
        if let message = text(rule?.message?.bytes(in: .english) ?? failure.message) { judgement.message = message }
        return judgement
    }

    private static func text(_ bytes: [UInt8]?) -> String? { bytes.map { String(decoding: $0, as: UTF8.self) } }
}

extension PolicyPlan {
    /// Whether a business code says that the login is over.
    func endsSession(_ rule: CodeRule?, _ code: [UInt8]?) -> Bool {
        (rule?.endsSession ?? false) || (code.map { sessionExpired.contains($0) } ?? false)
    }

    /// The status of a business failure.
    func status(of rule: CodeRule?, refusesToken: Bool, endsSession: Bool) -> UInt16 {
        rule?.status ?? (refusesToken || endsSession ? 401 : settings.failureStatus)
    }
}
