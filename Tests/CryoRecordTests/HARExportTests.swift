// The archive's members, times and addresses. Its whole form is held against the schema in the integration tests.
// Domain: cold

import CryoRecord
import Foundation
import Testing

private func entry(_ line: String, base: String = "http://127.0.0.1:8080") throws -> [String: Any] {
    let record = try #require(RecordFixture.record(line))
    let object = try JSONSerialization.jsonObject(with: Data(HARExport(base: base).entry(record)))
    return try #require(object as? [String: Any])
}

private func part(_ entry: [String: Any], _ names: String...) -> Any? {
    names.reduce(entry as Any?) { ($0 as? [String: Any])?[$1] }
}

@Suite struct HARExportTests {
    @Test("A record becomes an entry")
    func whole() throws {
        let entry = try entry(RecordFixture.plain)
        #expect(part(entry, "startedDateTime") as? String == "2026-11-30T07:00:00.123456Z")
        #expect(part(entry, "time") as? Double == 3.456)
        #expect(part(entry, "request", "url") as? String == "http://api.local:8080/news/list?page=2&q=a%20b")
        #expect((part(entry, "request", "queryString") as? [[String: String]])?.last == ["name": "q", "value": "a b"])
        #expect(part(entry, "response", "status") as? Int == 422)
        #expect(part(entry, "response", "statusText") as? String == "Unprocessable Content")
        #expect(part(entry, "response", "content", "text") as? String == #"{"code":40013,"msg":"余额不足"}"#)
        let timings = try #require(part(entry, "timings") as? [String: Double])
        #expect(timings == ["blocked": 1.456, "dns": -1, "connect": -1, "ssl": -1, "send": 0, "wait": 1.5, "receive": 0.5])
        #expect(part(entry, "_cryonet", "route") as? String == "news")
        #expect(part(entry, "comment") as? String == "business_rejected: 余额 \"不足\"")
    }

    @Test("The phases of a connection add up to the time")
    func phases() throws {
        let attempt = #"{"duration_us":900,"dns_us":100,"connect_us":200,"tls_us":500,"first_byte_us":800}"#
        let entry = try entry(RecordFixture.line(#""method":"GET","target":"/","duration_us":1000,"attempts":[\#(attempt)]"#))
        let timings = try #require(part(entry, "timings") as? [String: Double])
        #expect(timings == ["blocked": 0.1, "dns": 0.1, "connect": 0.4, "ssl": 0.3, "send": 0, "wait": 0.3, "receive": 0.1])
        #expect(part(entry, "time") as? Double == 1)
    }

    @Test("What a record lacks or says wrongly still gives a valid entry")
    func lenient() throws {
        let attempts = #"[{"duration_us":-5,"first_byte_us":99}]"#
        let entry = try entry(#"{"id":"x","time":"never","attempts":\#(attempts),"target":"*","request_headers":[["Host","a/b"]]}"#)
        #expect(part(entry, "request", "url") as? String == "http://127.0.0.1:8080/*")
        #expect(part(entry, "request", "method") as? String == "UNKNOWN")
        #expect(part(entry, "time") as? Double == 0)
    }

    @Test("An archive of several entries is one JSON text")
    func archive() throws {
        let export = HARExport(base: "http://x")
        let record = try #require(RecordFixture.record(RecordFixture.plain))
        let text = export.begin(version: "1") + export.entry(record) + [0x2C] + export.entry(record) + export.end()
        let object = try JSONSerialization.jsonObject(with: Data(text))
        let archive = try #require(object as? [String: Any])
        #expect((part(archive, "log", "entries") as? [Any])?.count == 2)
        #expect(part(archive, "log", "version") as? String == "1.2")
    }
}
