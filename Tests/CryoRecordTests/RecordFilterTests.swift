// What filters mean, and what is said about broken ones.
// Domain: cold

import CryoJSON
import CryoRecord
import Testing

/// 2026-11-30T08:00:00Z
private let now: Int64 = 1_796_025_600_000_000

private func matches(_ filter: String, _ line: String = RecordFixture.plain) throws -> Bool {
    RecordMatcher(try RecordFilter(filter, nowUnixMicroseconds: now)).matches(Array(line.utf8))
}

private func problem(_ filter: String) -> FilterError? {
    do {
        _ = try RecordFilter(filter, nowUnixMicroseconds: now)
        return nil
    } catch { return error }
}

@Suite struct RecordFilterTests {
    @Test(
        "A filter that fits the record matches it",
        arguments: [
            "", "  ", "route=news", "route = news", "ROUTE=news", "route==news", "route=ne*", "route=*ws", "route=n*w*", "route=*",
            "route=a,news,b",
            "route!=old", "route~EW", "route!~old", "status=422", "status>=422", "status>421", "status<=422", "status<423", "status!=200",
            "status=4xx",
            "status=200,422", "status=*", "method=get", "method=GET", "target~list?page", "path=/news/list", "path~/news", "\"path~/news\"",
            "query=page=2&q=a%20b", "query~page", "reason=business_rejected", "kind=business", "step=normalize", "refresh=led",
            "steps.refresh=led",
            "steps.route=matched", "reply=sent", "audit=written", "attempts=2", "attempts>1", "attempts<3", "attempt.status=401",
            "attempt.status=200", "attempt.outcome=responded", "attempt.token_version>1", "duration>3", "duration_ms>3", "duration>3ms",
            "duration>=3456us",
            "duration<1s", "duration_us=3456", "duration<1m30s", "duration>0.003s", "response_bytes>300", "response_bytes<1KiB",
            "response_bytes<1MiB",
            "request_bytes=0", "business_code=40013", "business_code>40000", "business_code~13", "client~127.0.0.1", "host=api.local:8080",
            "host~api",
            "request.accept~json", "request.ACCEPT=application/json", "response.content-type~json", "response.x-none=\"\"", "detail~余额",
            "detail='余额 \"不足\"'", "detail=\"余额 \\\"不足\\\"\"", "余额", "'余额 \"不足\"'", "BUSINESS", "business kind=business",
            "time=2026-11-30", "time>=2026-11-30T07", "time>=2026-11-30T07:00:00.123456Z", "time<2026-11-30T07:00:01",
            "time<=2026-11-30T07:00",
            "time>-1h", "time>-59m60s", "time<-59m", "time=2026-11-30T15:00+08:00", "time<now", "time>2026-11-29", "time!=2026-11-29",
            "not route=old", "!route=old", "-route=old", "! route=old", "not not route=news", "route=old or status=422",
            "route=old || status=422",
            "(route=old or route=news) status=422", "route=news and kind=business", "route=news && kind=business",
            "route=news AND NOT status=200",
            "route=old status=422 or kind=business", "upstream=api session=9b1c", ".failure.kind=business", ".steps.refresh=led",
            ".attempts.0.status=401",
            ".attempts.0.status>400", "id=01JDX0000000000000000000A1", "request_id=req-7", "response_body~\"code\\\":40013\"",
            "(((route=news)))",
            "'status>=422' or route=news", "reason=*", "request_id=*", "request_body=\"\"", "request_body!=*",
        ])
    func fits(_ filter: String) throws { #expect(try matches(filter), "\(filter)") }

    @Test(
        "A filter that does not fit does not match",
        arguments: [
            "route=new", "route=NEWS", "route=news*x", "route=*x", "route=\"ne*\"", "route='a,news'", "route!=news", "route!~ew",
            "status>422",
            "status<422", "status=5xx", "status=200", "method=post", "path=/news", "path~page", "query~/news", "reason=other",
            "refresh=joined",
            "attempts=1", "attempt.status=500", "duration>3.5", "duration>4s", "response_bytes>1KiB", "business_code=4001",
            "business_code<0",
            "host=other", "request.x-none~a", "time<2026-11-30", "time>2026-11-30", "time>2026-11-30T07:00:00.123456", "time>-59m",
            "not route=news",
            "!route=news", "-news", "route=news kind=http", "(route=old or route=older) status=422", "nowhere", "'status>=422'",
            "reason=\"\"",
            ".failure.nothing=x", ".failure.nothing>1", "session!=*", "id=01JDX0000000000000000000A2",
            "route=old or kind=http or status=200",
        ])
    func fitsNot(_ filter: String) throws { #expect(try !matches(filter), "\(filter)") }

    @Test("Fields that a record lacks are empty, and no number")
    func missingFields() throws {
        let bare = RecordFixture.line(#""route":null,"failure":null"#)
        for filter in ["route=\"\"", "reason=\"\"", "route!=news", "not status>0", "host=\"\"", "attempts=0", "query=\"\"", "reason!=*"] {
            #expect(try matches(filter, bare), "\(filter)")
        }
        for filter in ["route=*", "status<500", "status=0", "route~n", "duration>0", "time>2027"] where filter != "time>2027" {
            #expect(try !matches(filter, bare), "\(filter)")
        }
    }

    @Test(
        "What is no record never matches",
        arguments: ["", "x", "{}", #"{"id":5}"#, #"{"chain":"h","v":1}"#, #"{"id":"a"} x"#, #"{"id":"a""#, "[1]"])
    func noRecords(_ line: String) throws {
        for filter in ["", "not a=b or not route=x".replacing("a=b", with: "kind=b"), "!zzz"] {
            #expect(try !matches(filter, line), "\(filter)")
        }
    }

    @Test("Words are found as the record spells them")
    func words() throws {
        let line = RecordFixture.line(#""target":"/a\tb\u001b[31m","route":"x\"y""#)
        #expect(try matches("'x\"y'", line))
        #expect(try matches("target='/a\tb\u{1b}[31m'", line))
        #expect(try matches("'\u{1b}[31M'", line))
        #expect(try matches("route=\"x\\\"y\"", line))
    }

    @Test(
        "A broken filter is refused at its place, with what was meant",
        arguments: [
            ("rout=news", 1, "did you mean route"), ("status=200 rout=a", 12, "did you mean route"), ("余额 kidn=x", 4, "did you mean kind"),
            ("status>=abc", 9, "abc is no number"), ("status~5", 1, "is no text"), ("route>news", 7, "route is text"),
            ("duration>5parsecs", 10, "no duration"),
            ("time>yesterday", 6, "no time"), ("time=2026-13-01", 6, "no time"), ("time=2026-02-29", 6, "no time"),
            ("response_bytes>1XB", 16, "no size"),
            ("(route=a", 1, "never closed"), ("route=a)", 8, "closes nothing"), ("route=\"a", 7, "never closed"),
            ("or route=a", 1, "missing"),
            ("route=a or", 11, "missing here"), ("not", 4, "missing here"), (">=5", 1, "needs a field"), ("route=", 7, "needs a value"),
            ("status> ", 9, "needs a value"),
            ("()", 2, "missing"), ("route=a,,b", 7, "beside a comma"), ("route=\"a\"b", 10, "must follow"), ("request.=x", 1, "no field"),
            ("\"status>=x y\"", 10, "no number"), ("foo=5", 1, "single quotes"),
        ])
    func broken(_ filter: String, _ column: Int, _ part: String) throws {
        let error = try #require(problem(filter), "\(filter)")
        #expect(error.column == column, "\(filter): \(error)")
        #expect(error.message.contains(part), "\(filter): \(error)")
        #expect(error.description.hasPrefix("column \(column): "))
    }

    @Test("A filter has bounds")
    func bounds() {
        #expect(problem(String(repeating: "a", count: RecordFilter.filterBytesMax)) == nil)
        #expect(problem(String(repeating: "a", count: RecordFilter.filterBytesMax + 1)) != nil)
        #expect(problem(Array(repeating: "a", count: RecordFilter.conditionsMax).joined(separator: " ")) == nil)
        #expect(problem(Array(repeating: "a", count: RecordFilter.conditionsMax + 1).joined(separator: " ")) != nil)
        let levels = RecordFilter.nestingMax - 1
        #expect(problem(String(repeating: "(", count: levels) + "a" + String(repeating: ")", count: levels)) == nil)
        #expect(problem(String(repeating: "(", count: levels + 1) + "a" + String(repeating: ")", count: levels + 1)) != nil)
        #expect(problem(String(repeating: "!", count: RecordFilter.nestingMax) + "a") != nil)
        let many = (0..<RecordFilter.conditionsMax).map { ".m\($0)=1" }.joined(separator: " or ")
        #expect((try? matches(many, RecordFixture.line(#""m47":1"#))) == true)
    }

    @Test("A filter that jumps to its text finds what a plain walk finds")
    func required() throws {
        for filter in ["route=news", "news", "route=news or kind=x", "not route=news", "status=422 id=01JDX0000000000000000000A1"] {
            let matcher = RecordMatcher(try RecordFilter(filter, nowUnixMicroseconds: now))
            let line = Array(RecordFixture.plain.utf8)
            if let needle = matcher.required, matcher.matches(line) {
                #expect(line.withUnsafeBytes { needle.first(in: $0) } != nil, "\(filter)")
            }
        }
        #expect(RecordMatcher(try RecordFilter("route=news", nowUnixMicroseconds: 0)).required != nil)
        #expect(RecordMatcher(try RecordFilter("not news", nowUnixMicroseconds: 0)).required == nil)
    }

    @Test("Random text is refused or understood, and logic holds for what is understood")
    func randomFilters() throws {
        var random = SystemRandomNumberGenerator()
        let pieces = [
            "route", "status", "=", "!=", ">", ">=", "~", "!~", "news", "422", " ", " ", "(", ")", "or", "and", "not", "!", "-", "\"", "'",
            "*", ",", "\\", "余",
            "time", "2026-11-30", "5xx", "attempts", ".", "request.", "kind", "1.5s", "\u{0}", "\u{7f}", "9999999999999999999999",
        ]
        let line = Array(RecordFixture.plain.utf8)
        var understood = 0
        for _ in 0..<4000 {
            let text = (0..<Int.random(in: 1...9, using: &random)).map { _ in pieces.randomElement(using: &random) ?? "" }.joined()
            guard let filter = try? RecordFilter(text, nowUnixMicroseconds: now) else {
                if let error = problem(text) { #expect((1...text.unicodeScalars.count + 1).contains(error.column), "\(text): \(error)") }
                continue
            }
            understood += 1
            let isMatch = RecordMatcher(filter).matches(line)
            guard let opposite = try? RecordFilter("not (\(text) )", nowUnixMicroseconds: now) else {
                #expect(filter.isEmpty, "\(text)")
                continue
            }
            #expect(RecordMatcher(opposite).matches(line) != isMatch, "\(text)")
        }
        #expect(understood > 200)
    }
}

@Suite struct ByteNeedleTests {
    @Test("A search finds the first place, as a plain walk does")
    func search() {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<2000 {
            let text = (0..<Int.random(in: 0...90, using: &random)).map { _ in "abAB@`[{".utf8.randomElement(using: &random) ?? 0 }
            let needle = (0..<Int.random(in: 0...4, using: &random)).map { _ in "abAB@`[{".utf8.randomElement(using: &random) ?? 0 }
            func small(_ bytes: some Sequence<UInt8>) -> [UInt8] { bytes.map { $0 &- 0x41 < 26 ? $0 | 0x20 : $0 } }
            for ignoresCase in [false, true] {
                let wanted = (0...max(0, text.count)).first { start in
                    guard start + needle.count <= text.count else { return false }
                    let part = text[start..<start + needle.count]
                    return ignoresCase ? small(part) == small(needle) : Array(part) == needle
                }
                let found = text.withUnsafeBytes { ByteNeedle(needle, ignoresCase: ignoresCase).first(in: $0) }
                #expect(found == wanted, "\(needle) in \(text)")
            }
        }
    }
}
