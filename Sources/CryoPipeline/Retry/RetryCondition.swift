// One thing that makes a failed attempt worth another: written as a failure's reason, a status or a business code.
// Domain: pure

package enum RetryCondition: Sendable, Hashable {
    /// A network failure by its reason, as `connect_refused`.
    case reason(FailureReason)
    /// `503`
    case status(UInt16)
    /// `5xx`, by its first digit.
    case statusClass(UInt16)
    /// `business:50013`, or a beginning as `business:5*`.
    case businessCode(String)

    /// The reasons that may be listed. A certificate or a pin that was wrong is wrong again, whoever lists it (ledger RP4).
    package static let reasons: [FailureReason] = [
        .upstreamDNSFailed, .connectRefused, .connectTimedOut, .tlsFailed, .reset, .emptyResponse, .responseMalformed, .responseTruncated,
        .upstreamTimedOut,
    ]

    /// What is tried again when nothing is listed: 429 is not, because most APIs count the retry too (ledger RP1).
    package static let standard: [RetryCondition] =
        reasons.filter { $0 != .responseMalformed }.map { .reason($0) } + [408, 500, 502, 503, 504].map { .status($0) }

    /// nil when the text names no condition.
    package init?(_ text: String) {
        if let reason = FailureReason(rawValue: text) {
            guard Self.reasons.contains(reason) else { return nil }
            self = .reason(reason)
        } else if text.hasPrefix("business:") {
            let code = text.dropFirst("business:".utf8.count)
            let isPlain = !code.dropLast().utf8.contains(0x2A)
            guard !code.isEmpty, isPlain else { return nil }
            self = .businessCode(String(code))
        } else if text.utf8.count == 3, text.hasSuffix("xx"), let digit = text.first?.wholeNumberValue, 4...5 ~= digit {
            self = .statusClass(UInt16(digit))
        } else if text.utf8.count == 3, let status = UInt16(text), 400...599 ~= status {
            self = .status(status)
        } else {
            return nil
        }
    }

    package var text: String {
        switch self {
        case .reason(let reason): reason.rawValue
        case .status(let status): "\(status)"
        case .statusClass(let digit): "\(digit)xx"
        case .businessCode(let code): "business:\(code)"
        }
    }
}
