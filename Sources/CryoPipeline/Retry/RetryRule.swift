// Decides whether a failed attempt is tried again and after what delay (ledger §H). The auth retry is not its business.
// Domain: pure

package import CryoHTTP

package struct RetryRule: Sendable {
    package let settings: RetrySettings
    let methods: [[UInt8]]

    package init(_ settings: RetrySettings) {
        self.settings = settings
        methods = settings.methods.map { Array($0.utf8) }
    }

    package var isOn: Bool { settings.limit > 0 }

    func allowsMethod(_ method: UnsafeRawBufferPointer) -> Bool { methods.contains { method.elementsEqual($0) } }

    func allowsStatus(_ status: UInt16) -> Bool { settings.statuses.contains(status) }

    /// Errors after which the upstream has surely not answered (ledger RP4); certificates and pins are not cured by trying again.
    static func isTransient(_ error: ForwardError) -> Bool {
        switch error {
        case .dnsFailed, .connectRefused, .connectTimedOut, .reset, .emptyResponse, .tlsFailed, .truncated: true
        case .tlsCertificate, .pinMismatch, .malformedResponse, .requestBodyFailed: false
        }
    }

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

    /// Retry-After in seconds from now: delay-seconds or an HTTP-date (RFC 9110 §10.2.3); nil when absent or invalid.
    package static func retryAfterSeconds(_ fields: FieldSection, nowUnixSeconds: Int64) -> Int64? {
        guard let index = fields.firstIndex(of: "retry-after") else { return nil }
        return fields.withValue(at: index) { value in
            if let seconds = parseDecimal(value) { return Int64(clamping: seconds) }
            guard let date = HTTPDate.parse(value) else { return nil }
            return max(0, date - nowUnixSeconds)
        }
    }
}
