// The text of a failure, the most specific that anybody gave: the business code's, the upstream's own, the policy's for a status or a
// reason, the table's. And what else a business code decides.
// Domain: worker

import CryoHTTP
import CryoJSON

extension Exchange {
    var clientLanguage: MessageLanguage {
        head?.fields.withValue(of: "accept-language") { MessageLanguage.preferred($0) } ?? MessageLanguage.preferred(nil)
    }

    /// nil: the text the failure already has.
    func message(of failure: Failure, _ language: MessageLanguage) -> [UInt8]? {
        guard let policy = route?.policy else { return nil }
        let byReason = policy.settings.reasonMessages[failure.reason]?.bytes(in: language)
        switch failure.reason {
        case .businessRejected:
            if let text = codeRule?.message?.bytes(in: language) ?? business?.message { return text }
        case .upstreamStatus:
            guard let status = failure.upstreamStatus else { break }
            if let text = upstreamMessage(policy) ?? policy.settings.statusMessages[status]?.bytes(in: language) { return text }
            if 400..<500 ~= status, let text = policy.settings.errorMessageFallback { return Array(text.utf8) }
        case .responseNotJSON where held.bytes.isEmpty:
            // Ledger RO4.
            return byReason ?? LocalizedText(chinese: "响应数据为空", english: "The upstream's answer has no body.").bytes(in: language)
        default: break
        }
        return byReason
    }

    /// What the upstream itself says about its error, where the policy looks for it.
    private func upstreamMessage(_ policy: PolicyPlan) -> [UInt8]? {
        guard let paths = policy.errorPaths else { return nil }
        var body = readableBody()
        return body.isTruncated ? nil : EnvelopeJudge(scanner: environment.scanner).errorMessage(padding: &body.bytes, paths: paths)
    }

    var codeRule: CodeRule? {
        guard let business, let policy = route?.policy else { return nil }
        return policy.codes.rule(for: business.codeText)
    }

    func apply(_ business: BusinessFailure, to failure: inout Failure) {
        let route = route
        failure.upstreamStatus = response?.status
        failure.businessCode = business.rawCode
        failure.domain = "BusinessError"
        failure.code = business.integerCode ?? Int(response?.status ?? 0)
        if let message = business.message { failure.message = message }
        guard let policy = route?.policy else { return }
        let rule = codeRule
        let refusesToken = business.codeText.map { route?.refreshBusinessCodes.contains($0) ?? false } ?? false
        let endsSession = policy.endsSession(rule, business.codeText)
        if refusesToken { failure.kind = .authenticationExpired }
        failure.status = policy.status(of: rule, refusesToken: refusesToken, endsSession: endsSession)
        failure.isRetryable = rule?.isRetryable ?? failure.isRetryable
        failure.codeName = rule?.name
        if endsSession, failure.reason == .businessRejected { endSession(as: policy) }
    }

    /// Only what is final ends the session: a code that asked for a refresh which may still succeed later does not. Compare-and-set: of
    /// many failures of one login only one ends it, and none ends a newer one, or outlives a newer token (ledger AS2, AS6).
    private func endSession(as policy: PolicyPlan) {
        guard let store = route?.credentials, store.canRefresh, let revision,
            store.logOut(expected: revision, tokenVersion: credential?.version)
        else { return }
        plan.hooks?.sessionExpired(policy: policy.settings.name, token: store.settings.name, revision: revision)
    }
}
