// The entries of HTTP archives as records.
// Domain: pure

import Testing

@testable import CryoRecord

@Suite("Entries of archives")
struct HARReadingTests {
    @Test("what a record tells survives its export")
    func roundTrip() throws {
        let line = #"""
            {"v":1,"time":"2026-11-30T10:00:00.000000Z","id":"01JDX0000000000000000000A1","route":"api","method":"GET","target":"/x?a=1",\#
            "steps":{"normalize":"business_rejected","audit":"written"},"attempts":[{"number":1,"status":200}],"status":401,\#
            "failure":{"reason":"business_rejected","kind":"business","step":"normalize"},"business_code":"10001",\#
            "response_headers":[["Content-Type","application/json"]],"response_body":"{\"code\":10001}"}
            """#
        let record = try #require(RecordView(Array(line.utf8)))
        let export = HARExport(base: "http://127.0.0.1:8080")
        let archive = export.begin(version: "1") + export.entry(record) + export.end()
        let lines = try #require(HARReading.lines(archive))
        let read = try #require(lines.first.flatMap { RecordView($0) })
        #expect(lines.count == 1 && read.id == record.id && read.route == "api" && read.status == 401 && read.businessCode == "10001")
        #expect(read.responseBody == record.responseBody && read.responseField("content-type") == "application/json")
        #expect(read.steps.map(\.outcome) == record.steps.map(\.outcome) && read.attempts.first?.status == 200)
        #expect(read.failure == record.failure && read.target == "http://127.0.0.1:8080/x?a=1" && !read.isResponseBodyCut)
    }

    private static let oddities: [(String, Int?)] = [
        ("", nil), ("[]", nil), (#"{"log":{}}"#, nil), (#"{"log":{"entries":[]}}"#, 0), (#"{"log":{"entries":[1,{},[null]]}}"#, 3),
    ]

    @Test("what is no archive has no entries, and odd entries are read as far as they go", arguments: oddities)
    func odd(text: String, count: Int?) {
        #expect(HARReading.lines(Array(text.utf8))?.count == count)
        for (number, line) in (HARReading.lines(Array(text.utf8)) ?? []).enumerated() {
            #expect(RecordView(line)?.id == "entry-\(number + 1)")
        }
    }

    @Test("a body in base64 is none, and one that was cut says so")
    func bodies() {
        func read(_ content: String) -> RecordView? {
            let archive = #"{"log":{"entries":[{"response":{"status":200,"content":\#(content)}}]}}"#
            return HARReading.lines(Array(archive.utf8))?.first.flatMap { RecordView($0) }
        }
        #expect(read(#"{"text":"e30=","encoding":"base64"}"#)?.responseBody == nil)
        #expect(read(#"{"text":"{}","comment":"cut: 9 bytes came"}"#)?.isResponseBodyCut == true)
        #expect(read(#"{"text":"{}","comment":1}"#)?.responseBody == Array("{}".utf8))
    }
}
