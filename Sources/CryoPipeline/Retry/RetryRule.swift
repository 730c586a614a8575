// Decides whether a failed attempt is tried again and after what delay (ledger §H). The auth retry is not its business.
// Domain: pure

package import CryoHTTP

package struct RetryRule: Sendable {
    package let settings: RetrySettings
    let methods: [[UInt8]]
    private let conditions: ConditionSet

    package init(_ settings: RetrySettings) {
        self.settings = settings
        methods = settings.methods.map { Array($0.utf8) }
        conditions = ConditionSet(settings.conditions)
    }

    var reasons: FailureReasonSet { conditions.reasons }

    static let standardReasons = ConditionSet(RetryCondition.standard).reasons

    package var isOn: Bool { settings.limit > 0 }

    func allowsMethod(_ method: UnsafeRawBufferPointer) -> Bool { methods.contains { method.elementsEqual($0) } }

    func allows(_ status: UInt16) -> Bool { conditions.contains(status: status) }

    func allows(businessCode: [UInt8]) -> Bool { conditions.contains(businessCode: businessCode) }

    /// The client's own limit (`CryoNet-Retry: n`) where it is lower than the route's (ledger RP7).
    func limit(asked: UInt64?) -> UInt32 { UInt32(min(asked ?? .max, UInt64(settings.limit))) }

    /// The delay before retry `number` (from 0): `base^number × scale`, capped, drawn from 0 to that with full jitter, but never
    /// less than what the upstream asked for by Retry-After (itself capped).
    package func delayMilliseconds(number: UInt32, retryAfterSeconds: Int64?, random: UInt64) -> UInt64 {
        var delay = Double(settings.scaleMilliseconds)
        for _ in 0..<min(number, 64) { delay *= settings.base }
        let cap = Double(settings.delayMillisecondsMax)
        delay = min(max(0, delay), cap)
        if settings.jitter == .full { delay *= Double(random >> 11) / Double(UInt64(1) << 53) }
        guard let retryAfterSeconds, retryAfterSeconds > 0 else { return UInt64(delay) }
        let asked = min(Double(min(retryAfterSeconds, 1_000_000)) * 1000, cap)
        return UInt64(max(delay, asked))
    }

    /// How long the upstream asks to be left alone, in seconds from now: Retry-After as delay-seconds or an HTTP-date
    /// (RFC 9110 §10.2.3), else `X-RateLimit-Reset` or `RateLimit-Reset`; nil when absent or invalid.
    package static func retryAfterSeconds(_ fields: FieldSection, nowUnixSeconds: Int64) -> Int64? {
        if let index = fields.firstIndex(of: "retry-after") {
            return fields.withValue(at: index) { value in
                if let seconds = parseDecimal(value) { return Int64(clamping: seconds) }
                guard let date = HTTPDate.parse(value) else { return nil }
                return max(0, date - nowUnixSeconds)
            }
        }
        guard let index = fields.firstIndex(of: "x-ratelimit-reset") ?? fields.firstIndex(of: "ratelimit-reset") else { return nil }
        return fields.withValue(at: index) { value in
            guard let number = parseDecimal(value).map({ Int64(clamping: $0) }) else { return nil }
            // Some count the seconds from now, some give the time itself, a few of these in milliseconds.
            if number < epochSecondsMin { return number }
            let seconds = number < epochSecondsMin * 1000 ? number : number / 1000
            return max(0, seconds - nowUnixSeconds)
        }
    }

    /// Numbers from here on are points in time (2001-09-09), not lengths.
    private static let epochSecondsMin: Int64 = 1_000_000_000
}
