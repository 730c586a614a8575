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
        #expect((100...599 as ClosedRange<UInt16>).filter { rule.allows($0) } == [408, 500, 502, 503, 504])
        #expect(rule.isOn && !RetryRule(RetrySettings()).isOn)
    }

    @Test("only errors that may pass are tried again by default, and wrong certificates never")
    func transient() {
        let lasting = ForwardError.allCases.filter { !rule().reasons.contains(FailureReason($0)) }
        #expect(lasting == [.tlsCertificate, .pinMismatch, .malformedResponse, .requestBodyFailed])
        for reason in [FailureReason.tlsCertificateInvalid, .pinMismatch, .clientGone, .businessRejected] {
            #expect(RetryCondition(reason.rawValue) == nil)
        }
    }

    @Test(
        "conditions have one vocabulary, and are written as they are read",
        arguments: [
            "connect_refused", "response_malformed", "upstream_timed_out", "429", "503", "5xx", "4xx", "business:50013", "business:5*",
        ])
    func vocabulary(text: String) {
        #expect(RetryCondition(text)?.text == text)
    }

    @Test(
        "what is no condition is refused",
        arguments: ["", "200", "600", "3xx", "55x", "business:", "business:5*1", "connect", "business_rejected", "0503", "-1", "6xx"])
    func noCondition(text: String) {
        #expect(RetryCondition(text) == nil)
    }

    @Test("a listed class, status, reason or code counts, others do not")
    func conditions() {
        let rule = rule { $0.conditions = ["4xx", "503", "reset", "business:50013", "business:7*"].compactMap { RetryCondition($0) } }
        #expect((100...599 as ClosedRange<UInt16>).filter { rule.allows($0) } == Array(400...499) + [503])
        #expect(rule.reasons == [.reset])
        func allows(_ code: String) -> Bool { rule.allows(businessCode: Array(code.utf8)) }
        #expect(allows("50013") && allows("7") && allows("71") && !allows("50014") && !allows("17") && !allows(""))
    }

    @Test(
        "the time a limit is reset counts where there is no Retry-After, as seconds or as a time",
        arguments: [
            ("X-RateLimit-Reset", "30", 30), ("RateLimit-Reset", "0", 0), ("X-RateLimit-Reset", "1700000010", 10),
            ("X-RateLimit-Reset", "1700000010000", 10), ("X-RateLimit-Reset", "1699999999", 0), ("X-RateLimit-Reset", "soon", nil),
        ] as [(String, String, Int64?)])
    func limitReset(_ name: String, _ value: String, _ seconds: Int64?) {
        let fields = section([(name, value)])
        #expect(RetryRule.retryAfterSeconds(fields, nowUnixSeconds: 1_700_000_000) == seconds)
        let both = section([(name, value), ("Retry-After", "5")])
        #expect(RetryRule.retryAfterSeconds(both, nowUnixSeconds: 1_700_000_000) == 5)
    }

    @Test("a client may ask for fewer retries, never for more")
    func clientLimit() {
        #expect(rule().limit(asked: nil) == 2 && rule().limit(asked: 0) == 0 && rule().limit(asked: 1) == 1)
        #expect(rule().limit(asked: 9) == 2 && rule().limit(asked: .max) == 2)
    }

    @Test("the budget lets the least retry always, and a share of the traffic beyond it")
    func budget() {
        let budget = RetryBudget()
        for _ in 0..<20 { budget.begin() }
        // 20 % of 20 is 4; the least is 3.
        #expect((0..<6).map { _ in budget.take(percent: 20, leastMax: 3) } == [true, true, true, true, false, false])
        #expect(budget.counts == (20, 4))
        for _ in 0..<16 { budget.end(isRetrying: false) }
        #expect(!budget.take(percent: 20, leastMax: 3))
        budget.end(isRetrying: true)
        budget.end(isRetrying: true)
        #expect(budget.take(percent: 20, leastMax: 3) && !budget.take(percent: 20, leastMax: 3))
        budget.end(isRetrying: true)
        budget.end(isRetrying: true)
        #expect(budget.counts == (0, 1) && !budget.take(percent: 0, leastMax: 1) && budget.take(percent: 0, leastMax: 2))
    }
}
