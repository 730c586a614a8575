// Step normalize: which answers the policy looks at, and what it makes of them.
// Domain: worker

import CryoHTTP
import CryoJSON

extension Exchange {
    /// HTTP status first; then, for 2xx, whether there is a body to judge (ledger §I).
    func disposition(of response: ResponseHead) -> HeadDisposition {
        guard let policy = match?.route.policy, policy.settings.view != .raw else { return .passThrough }
        switch response.status {
        case 204, 205, 304, 300..<400, 100..<200: return .passThrough
        case 200..<300: break
        default: return .fail
        }
        // A 2xx to HEAD has nothing to judge.
        if isHead { return .passThrough }
        if responseFraming == .length(0) || responseFraming == .none {
            return policy.settings.empty == .pass ? .passThrough : .judge
        }
        switch MediaType.of(response.fields) {
        case .eventStream, .ndjson: return .passThrough
        case .json, .text, .none: return .judge
        // A picture is no JSON whatever it holds; judging would only find that out late.
        case .other: return policy.settings.nonJSON == .pass ? .passThrough : .judge
        }
    }

    func judge() {
        guard let policy = match?.route.policy else { return }
        perform(machine.handle(.judged(verdictOnHeldBody(policy), isReplayable: isReplayable)))
    }

    private func verdictOnHeldBody(_ policy: PolicyPlan) -> JudgeResult {
        if held.bytes.isEmpty {
            guard policy.settings.empty == .pass else { return .notJSON }
            verdict = .accepted(.whole)
            return .accepted
        }
        switch decodeHeldBody(bytesMax: policy.settings.bodyBytesMax) {
        case .decoded(let bytes): decoded = bytes
        case .tooLarge: return .tooLarge
        case .broken: return .notJSON
        case nil: break
        }
        var judge = EnvelopeJudge(scanner: environment.scanner)
        verdict = decoded == nil ? judge.judge(padding: &held.bytes, by: policy) : decoded.map { _ in judgeDecoded(&judge, policy) }
        switch verdict {
        case .accepted(.whole): return .accepted
        case .accepted: return .unwrapped
        case .rejected(let failure):
            business = failure
            let refusesToken = failure.codeText.map { match?.route.refreshBusinessCodes.contains($0) ?? false } ?? false
            let isRetryCode = failure.codeText.map { match?.route.retry.allows(businessCode: $0) ?? false } ?? false
            return .rejected(refusesToken: refusesToken, isRetryCode: isRetryCode)
        case .notJSON, nil: return .notJSON
        }
    }

    private func judgeDecoded(_ judge: inout EnvelopeJudge, _ policy: PolicyPlan) -> EnvelopeVerdict {
        var bytes = decoded ?? []
        decoded = nil
        let verdict = judge.judge(padding: &bytes, by: policy)
        decoded = bytes
        return verdict
    }

    /// nil: there is no coding to remove.
    func decodeHeldBody(bytesMax: Int) -> DecodedContent? {
        guard let response, let index = response.fields.firstIndex(of: "content-encoding") else { return nil }
        let identity: StaticString = "identity"
        return response.fields.withValue(at: index) { coding in
            if equalsIgnoringCase(coding, lowercased: identity.rawBytes) || coding.isEmpty { return nil }
            if response.fields.count(of: "content-encoding") > 1 { return .broken }
            return held.bytes.withUnsafeBytes { environment.decode($0, coding, bytesMax) }
        }
    }

    /// The held body as people and JSON can read it: decoded where that is possible.
    func readableBody() -> HeldBody {
        if decoded == nil, !held.isTruncated, !held.bytes.isEmpty,
            case .decoded(let bytes) = decodeHeldBody(bytesMax: FailureBody.responseDataBytesMax)
        {
            decoded = bytes
        }
        guard let decoded else { return held }
        var body = HeldBody()
        body.bytes = decoded
        return body
    }
}
