// When a failed attempt is tried again, and after what delay (ledger §H).
// Domain: cold

import CryoHTTP
import Testing

@testable import CryoPipeline

private func rule(_ change: (inout RetrySettings) -> Void = { _ in }) -> RetryRule {
    var settings = RetrySettings()
    settings.limit = 2
    settings.jitter = .none
    change(&settings)
    return RetryRule(settings)
}

private func advice(_ value: String?, now: Int64 = 784_111_777) -> Int64? {
    RetryRule.retryAfterSeconds(section(value.map { [("Retry-After", $0)] } ?? []), nowUnixSeconds: now)
}

@Suite("The retry rule")
struct RetryRuleTests {
    @Test("the delays are half a second, one, two, and never above the cap")
    func delays() {
        let rule = rule()
        let delays = (0..<8 as Range<UInt32>).map { rule.delayMilliseconds(number: $0, retryAfterSeconds: nil, random: 0) }
        #expect(delays == [500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000, 10_000])
        #expect(rule.delayMilliseconds(number: .max, retryAfterSeconds: nil, random: 0) == 10_000)
    }

    @Test("a base of one is a constant delay")
    func constant() {
        let rule = rule {
            $0.base = 1
            $0.scaleMilliseconds = 1_000
        }
        for number in 0..<4 as Range<UInt32> { #expect(rule.delayMilliseconds(number: number, retryAfterSeconds: nil, random: 9) == 1_000) }
    }

    @Test("full jitter draws from nothing to the delay")
    func jitter() {
        let rule = rule { $0.jitter = .full }
        #expect(rule.delayMilliseconds(number: 1, retryAfterSeconds: nil, random: 0) == 0)
        #expect(rule.delayMilliseconds(number: 1, retryAfterSeconds: nil, random: .max) == 999)
        #expect(rule.delayMilliseconds(number: 1, retryAfterSeconds: nil, random: 1 << 63) == 500)
        var random = SeededRandom(seed: 7)
        for _ in 0..<1_000 { #expect(rule.delayMilliseconds(number: 1, retryAfterSeconds: nil, random: random.next()) < 1_000) }
    }

    @Test("what the upstream asks for is the least, up to the cap")
    func retryAfter() {
        let rule = rule { $0.jitter = .full }
        #expect(rule.delayMilliseconds(number: 0, retryAfterSeconds: 3, random: 0) == 3_000)
        #expect(rule.delayMilliseconds(number: 0, retryAfterSeconds: 0, random: .max) == 499)
        #expect(rule.delayMilliseconds(number: 0, retryAfterSeconds: -5, random: .max) == 499)
        #expect(rule.delayMilliseconds(number: 0, retryAfterSeconds: .max, random: 0) == 10_000)
    }

    @Test(
        "Retry-After is seconds or a date; a past date is now, nonsense is nothing",
        arguments: [
            ("120", 120), ("0", 0), ("99999999999999999999", nil), ("18446744073709551615", .max), ("-1", nil), ("1.5", nil), ("soon", nil),
            ("", nil),
            ("Sun, 06 Nov 1994 08:49:47 GMT", 10), ("Sun, 06 Nov 1994 08:49:27 GMT", 0), (nil, nil),
        ] as [(String?, Int64?)])
    func parsing(_ value: String?, _ seconds: Int64?) {
        #expect(advice(value) == seconds)
    }

    @Test("safe and idempotent methods and the five statuses are eligible by default")
    func eligibility() {
        let rule = rule()
        func allows(_ method: String) -> Bool { Array(method.utf8).withUnsafeBytes { rule.allowsMethod($0) } }
        for method in ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"] { #expect(allows(method)) }
        for method in ["POST", "PATCH", "get", "GETX", ""] { #expect(!allows(method)) }
        #expect((100...599 as ClosedRange<UInt16>).filter { rule.allowsStatus($0) } == [408, 500, 502, 503, 504])
        #expect(rule.isOn && !RetryRule(RetrySettings()).isOn)
    }

    @Test("only errors that may pass are transient")
    func transient() {
        let lasting = ForwardError.allCases.filter { !RetryRule.isTransient($0) }
        #expect(lasting == [.tlsCertificate, .pinMismatch, .malformedResponse, .requestBodyFailed])
    }
}
