// What a failure tells its client about sending the request again.
// Domain: worker

import CryoHTTP

extension Exchange {
    /// False where the upstream may have acted on the request and doing it twice is not the same as doing it once (RFC 9110 §9.2.2). An
    /// Idempotency-Key makes it the same.
    func isSafeToRepeat(after reason: FailureReason) -> Bool {
        switch reason {
        case .reset, .emptyResponse, .upstreamTimedOut, .responseTruncated:
            guard let head else { return true }
            return isIdempotent(head) || head.fields.contains("idempotency-key")
        default: return true
        }
    }
}
