// Step normalize: which answers the policy looks at, and what it makes of them.
// Domain: worker

import CryoHTTP
import CryoJSON

extension Exchange {
    /// HTTP status first; then, for 2xx, whether there is a body to judge (ledger §I).
    func disposition(of response: ResponseHead) -> HeadDisposition {
        guard let policy = route?.policy, policy.settings.view != .raw else { return .passThrough }
        switch response.status {
        // A part of a body (206) can't be judged: it is what the client asked for.
        case 204, 205, 206, 304, 300..<400, 100..<200: return .passThrough
        case 200..<300: break
        default: return policy.settings.failureMode == .annotate ? .annotate : .fail
        }
        // A 2xx to HEAD has nothing to judge.
        if isHead { return .passThrough }
        if responseFraming == .length(0) || responseFraming == .none {
            return policy.settings.empty == .pass ? .passThrough : .judge
        }
        switch mediaType {
        case .eventStream, .ndjson: return streamDisposition(mediaType, response, policy)
        // Where its first text ends is known only when the second begins.
        case .jsonSequence: return .passThrough
        case _ where asksNotToBeHeld(response): return .passThrough
        case .json, .text, .none: return .judge
        // A picture is no JSON whatever it holds; judging would only find that out late.
        case .other: return policy.settings.nonJSON == .pass ? .passThrough : .judge
        }
    }

    /// `X-Accel-Buffering: no`, nginx's word for an answer that is wanted as it is made. One of announced length is made already: many
    /// frameworks say it of every answer, which must not take them all from the policy. The field passes, for those in front of us.
    private func asksNotToBeHeld(_ response: ResponseHead) -> Bool {
        if case .length = responseFraming { return false }
        let no: StaticString = "no"
        return response.fields.withValue(of: "x-accel-buffering") { equalsIgnoringCase($0, lowercased: no.rawBytes) } ?? false
    }

    func judge() {
        guard let policy = route?.policy else { return }
        let result = verdictOnHeldBody(policy)
        settleJudged(result)
        perform(machine.handle(.judged(result, isReplayable: isReplayable)))
    }

    private func verdictOnHeldBody(_ policy: PolicyPlan) -> JudgeResult {
        if held.bytes.isEmpty {
            guard policy.settings.empty == .pass else { return notJSON("the body is empty") }
            verdict = .accepted(.whole)
            return .accepted
        }
        switch decodeHeldBody(bytesMax: policy.settings.bodyBytesMax) {
        case .decoded(let bytes): decoded = bytes
        case .tooLarge: return .tooLarge
        case .broken: return notJSON("the content coding or the charset is unknown, or the body is not what it says")
        case nil: break
        }
        let judge = EnvelopeJudge(scanner: environment.scanner)
        let verdict = decoded == nil ? judge.judge(padding: &held.bytes, by: policy) : judgeDecoded(judge, policy)
        self.verdict = verdict
        switch verdict {
        case .accepted(.whole): return .accepted
        case .accepted: return .unwrapped
        case .rejected(let failure): return rejection(failure)
        case .notJSON(let detail): return notJSON(detail)
        }
    }

    func rejection(_ failure: BusinessFailure) -> JudgeResult {
        business = failure
        let refusesToken = failure.codeText.map { route?.refreshBusinessCodes.contains($0) ?? false } ?? false
        let isRetryCode = failure.codeText.map { route?.retry.allows(businessCode: $0) ?? false } ?? false
        return .rejected(refusesToken: refusesToken, isRetryCode: isRetryCode)
    }

    private func notJSON(_ detail: StaticString) -> JudgeResult {
        underlyingDetail = detail
        return .notJSON
    }

    private func judgeDecoded(_ judge: EnvelopeJudge, _ policy: PolicyPlan) -> EnvelopeVerdict {
        var bytes = decoded ?? []
        decoded = nil
        let verdict = judge.judge(padding: &bytes, by: policy)
        decoded = bytes
        return verdict
    }

    /// The held body as UTF-8 without a content coding; nil: it is that already.
    func decodeHeldBody(bytesMax: Int) -> DecodedContent? {
        guard let fields = response?.fields else { return nil }
        let content = removeContentCoding(fields, bytesMax: bytesMax)
        switch content {
        case .decoded(let bytes): return transcoded(bytes, fields) ?? content
        case nil: return transcoded(held.bytes, fields)
        case .tooLarge, .broken: return content
        }
    }

    private func removeContentCoding(_ fields: FieldSection, bytesMax: Int) -> DecodedContent? {
        guard let index = fields.firstIndex(of: "content-encoding") else { return nil }
        let identity: StaticString = "identity"
        return fields.withValue(at: index) { coding in
            if equalsIgnoringCase(coding, lowercased: identity.rawBytes) || coding.isEmpty { return nil }
            if fields.count(of: "content-encoding") > 1 { return .broken }
            return held.bytes.withUnsafeBytes { environment.decode($0, coding, bytesMax) }
        }
    }

    /// nil: the bytes are UTF-8, or claim to be.
    private func transcoded(_ bytes: [UInt8], _ fields: FieldSection) -> DecodedContent? {
        bytes.withUnsafeBytes { body in
            let charset = Charset.of(body, fields)
            if charset == .utf8 { return nil }
            return charset.decoded(body).map { .decoded($0) } ?? .broken
        }
    }

    /// What is said of a whole answer is not true of its payload: not its coding, nor its tags and digests (RFC 9110 §8, RFC 9530).
    func describePart(_ fields: inout FieldSection) {
        let describing: [StaticString] = [
            "content-encoding", "etag", "content-md5", "digest", "content-digest", "repr-digest", "accept-ranges",
        ]
        for name in describing { fields.remove(name) }
    }

    /// Whether this 2xx to HEAD stands for an answer whose payload alone would be sent.
    var describesPart: Bool {
        guard isHead, let policy = route?.policy, let response, 200..<300 ~= response.status else { return false }
        return policy.settings.view == .data
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
