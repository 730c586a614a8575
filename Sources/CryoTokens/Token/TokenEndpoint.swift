// One HTTP call of a token source, and the reading of what comes back. The only place that knows the HTTP client.
// Domain: cold

import CryoIO
import CryoJSON
import CryoPipeline
import CryoUpstream

/// Ready to be sent. Holds secrets: never printed.
struct EndpointRequest: Sendable {
    var method: String
    var url: String
    var headers: [(name: String, value: String)]
    var body: [UInt8]
    /// Monotonic time in nanoseconds until which an answer is waited for.
    var deadline: UInt64
}

struct EndpointAnswer: Sendable {
    var status: Int
    var body: [UInt8]
    /// The endpoint's clock.
    var date: Int64?
}

/// Performs a call and waits for its end: within the request's time, without following redirects.
typealias EndpointCall = @Sendable (EndpointRequest) -> Result<EndpointAnswer, SourceTrouble>

enum TokenEndpoint {
    /// A longer answer is no token.
    static let answerBytesMax = 262_144

    static func call(caFile: String?) -> EndpointCall {
        { request in
            let now = Clock.monotonicNanoseconds()
            guard now < request.deadline else { return .failure(SourceTrouble(.timedOut, "no time was left for the call")) }
            // At least a millisecond: none would be no bound.
            let timeout = UInt32(clamping: (request.deadline - now) / 1_000_000 + 1)
            return BlockingHTTPClient.perform(
                method: request.method, url: request.url, headers: request.headers, body: request.body,
                timeoutMilliseconds: timeout, caFile: caFile
            )
            .map { EndpointAnswer(status: Int($0.status), body: $0.body, date: $0.date) }
            .mapError { SourceTrouble(outcome(of: $0.kind), "the token endpoint did not answer: \($0)") }
        }
    }

    private static func outcome(of kind: CallFailure.Kind) -> SourceOutcome {
        switch kind {
        case .timeout: .timedOut
        case .connect: .connectFailed
        case .tls: .tlsFailed
        case .tooLarge: .answerTooLarge
        case .invalid, .broken: .callFailed
        }
    }

    /// Why the body can't be read; nil when it may be JSON.
    static func oddity(of body: [UInt8]) -> SourceTrouble? {
        if body.isEmpty { return SourceTrouble(.answerEmpty, "an empty body") }
        if body.count > answerBytesMax { return SourceTrouble(.answerTooLarge, "more than \(answerBytesMax) bytes") }
        return nil
    }
}
