// What a record's view tells, also of records that lack what newer ones have.
// Domain: cold

import CryoRecord
import Testing

@Suite struct RecordViewTests {
    @Test("A whole record is read")
    func whole() throws {
        let record = try #require(RecordFixture.record(RecordFixture.plain))
        #expect(record.id == "01JDX0000000000000000000A1")
        #expect(record.unixMicroseconds == 1_796_022_000_123_456)
        #expect(record.route == "news" && record.upstream == "api" && record.method == "GET")
        #expect(record.status == 422 && record.durationMicroseconds == 3456 && record.responseBytes == 345)
        let steps = "accept read route inject forward refresh retry normalize reply audit"
        #expect(record.steps.map(\.step) == steps.split(separator: " ").map(String.init))
        #expect(record.steps.first { $0.step == "refresh" }?.outcome == "led")
        #expect(record.attempts.map(\.status) == [401, 200])
        #expect(record.attempts[0].tls == 500 && record.attempts[1].isReused && record.attempts[1].tokenVersion == 2)
        let failure = try #require(record.failure)
        #expect([failure.reason, failure.kind, failure.step] == ["business_rejected", "business", "normalize"])
        #expect(failure.detail == "余额 \"不足\"")
        #expect(record.businessCode == "40013")
        #expect(record.requestField("HOST") == "api.local:8080" && record.responseField("content-type") == "application/json")
        #expect(record.responseBody.map { String(decoding: $0, as: UTF8.self) } == #"{"code":40013,"msg":"余额不足"}"#)
        #expect(record.requestBody == nil && !record.isRequestBodyCut)
    }

    @Test("An id is enough, types may be others, and headers an object")
    func lenient() throws {
        let bare = try #require(RecordFixture.record(#"{"id":"x"}"#))
        #expect(bare.time.isEmpty && bare.status == 0 && bare.attempts.isEmpty && bare.steps.isEmpty && bare.failure == nil)
        let members = #""status":"422","attempts":[1,{"status":null},[]],"steps":[],"failure":"f","route":5,"time":7"#
        let odd = try #require(RecordFixture.record(#"{"id":"x",\#(members),"request_headers":{"a":"b"}}"#))
        #expect(odd.status == 0 && odd.attempts.count == 3 && odd.failure == nil && odd.route == "5")
        #expect(odd.requestFields == [RecordedField(name: "a", value: "b")])
        let huge = try #require(RecordFixture.record(#"{"id":"x","status":99999999999999999999,"duration_us":1e400}"#))
        #expect(huge.status == 0 && huge.durationMicroseconds == 0)
    }

    @Test(
        "What is no record is none",
        arguments: ["", "{}", "[]", #"{"id":1}"#, #"{"id":"x""#, #"{"v":1,"chain":"x"}"#, "{\"id\":\"\u{1}\"}"])
    func noRecord(_ line: String) { #expect(RecordFixture.record(line) == nil) }

    @Test("Any cut and any changed byte is a record or none, and all of it can be asked")
    func noise() {
        var random = SystemRandomNumberGenerator()
        let line = Array(RecordFixture.plain.utf8)
        for _ in 0..<1500 {
            var changed = Array(line[..<Int.random(in: 0...line.count, using: &random)])
            if Bool.random(using: &random) { changed = line }
            for _ in 0..<3 where !changed.isEmpty {
                changed[Int.random(in: changed.indices, using: &random)] = "\"\\{}[]:,0a\u{7f}".utf8.randomElement(using: &random) ?? 0
            }
            guard let record = RecordView(changed) else { continue }
            _ = HARExport(base: "http://x").entry(record)
            _ = (record.attempts, record.steps, record.failure, record.unixMicroseconds, record.isRequestBodyCut)
            if let request = RecordedRequest(record) { _ = CurlCommand(request, to: RequestDestination(base: "http://x")) }
        }
    }
}

@Suite struct RecordTimeTests {
    @Test(
        "Times name the period they tell",
        arguments: [
            ("1970-01-01T00:00:00Z", 0, 1_000_000), ("1970-01-01", 0, 86_400_000_000),
            ("2000-02-29T23:59:59.5Z", 951_868_799_500_000, 100_000),
            ("2026-11-30T15:00+08:00", 1_796_022_000_000_000, 60_000_000), ("1969-12-31T23", -3_600_000_000, 3_600_000_000),
            ("2026-11-30T07:00:00.123456789Z", 1_796_022_000_123_456, 1),
        ] as [(String, Int64, Int64)])
    func periods(_ text: String, _ start: Int64, _ length: Int64) throws {
        let period = try #require(RecordTime.period(text.utf8))
        #expect(period.start == start && period.end == start + length)
    }

    @Test(
        "What is no time is none",
        arguments: [
            "", "2026", "2026-1-1", "2026-00-01", "2026-11-31", "2100-02-29", "2026-11-30T24", "2026-11-30T10:60", "2026-11-30T10:00:00.",
            "2026-11-30x", "-1",
        ])
    func noTimes(_ text: String) { #expect(RecordTime.period(text.utf8) == nil) }

    @Test("Spans are sums of their parts")
    func spans() {
        #expect(RecordTime.span("1h30m".utf8, unit: nil) == 5_400_000_000)
        #expect(RecordTime.span("1.5s".utf8, unit: nil) == 1_500_000)
        #expect(RecordTime.span("250".utf8, unit: 1000) == 250_000)
        #expect(RecordTime.span("250".utf8, unit: nil) == nil)
        #expect(RecordTime.span("99999999999999999d".utf8, unit: nil) == nil)
        #expect(RecordTime.span("1y".utf8, unit: nil) == nil)
        #expect(RecordTime.span("".utf8, unit: 1) == nil)
    }
}
