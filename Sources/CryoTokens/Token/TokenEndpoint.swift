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
}

struct EndpointAnswer: Sendable {
    var status: Int
    var body: [UInt8]
}

/// Why there is no answer, in words that hold no secret.
struct EndpointFailure: Error, Sendable {
    var detail: String
}

/// Performs a call and waits for its end: within the timeout, without following redirects.
typealias EndpointCall = @Sendable (EndpointRequest) -> Result<EndpointAnswer, EndpointFailure>

enum TokenEndpoint {
    /// A longer answer is no token.
    static let answerBytesMax = 262_144
    /// Ten years: a longer life is a mistake of the endpoint, and no reason to believe a token for ever.
    static let lifetimeSecondsMax: Int64 = 315_360_000

    static func call(timeoutMilliseconds: UInt32, caFile: String?) -> EndpointCall {
        { request in
            BlockingHTTPClient.perform(
                method: request.method, url: request.url, headers: request.headers, body: request.body,
                timeoutMilliseconds: timeoutMilliseconds, caFile: caFile
            )
            .map { EndpointAnswer(status: Int($0.status), body: $0.body) }
            .mapError { EndpointFailure(detail: "the token endpoint did not answer: \($0)") }
        }
    }

    /// The moment a token stops working; nil when the lifetime is missing or no sensible number.
    /// `now` is the time before the call, so that the estimate is never late.
    static func expiry(lifetime: Int64?, now: Int64) -> Int64? {
        guard let lifetime, lifetime > 0, lifetime <= lifetimeSecondsMax else { return nil }
        return now + lifetime
    }

    static func unixSeconds() -> Int64 { Clock.unixMicroseconds() / 1_000_000 }

    /// Why the body can't be read; nil when it may be JSON.
    static func oddity(of body: [UInt8]) -> String? {
        if body.isEmpty { return "an empty body" }
        if body.count > answerBytesMax { return "more than \(answerBytesMax) bytes" }
        return nil
    }
}
