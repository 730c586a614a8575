// Field sections: marks never hide a name, comparison without case is exact, and runs are what goes on the wire.
// Domain: cold

import Testing

@testable import CryoHTTP

@Suite("A field section")
struct FieldSectionTests {
    private func wire(_ fields: FieldSection) -> String {
        var bytes: [UInt8] = []
        bytes.appendFields(fields)
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test("upper-case letters and no other byte become lower case, at every place of a word")
    func lowercasing() {
        for place in 0..<8 {
            for byte in UInt8.min...UInt8.max {
                for other in [0x00, 0x40, 0x41, 0x5A, 0x7F, 0x80, 0xC1, 0xFF] as [UInt8] {
                    var bytes = [UInt8](repeating: other, count: 8)
                    bytes[place] = byte
                    let expected = bytes.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
                    let word = bytes.withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) }
                    let lowered = withUnsafeBytes(of: asciiLowercased(word)) { Array($0) }
                    if lowered != expected { Issue.record("\(bytes) became \(lowered)") }
                }
            }
        }
    }

    @Test(
        "names compare without case, also behind the first eight letters, and a byte that differs by the case bit alone is another",
        arguments: [
            ("X-Forwarded-For", "x-forwarded-for", true), ("CONTENT-LENGTH", "content-length", true),
            ("content-lengtH", "content-length", true), ("content\u{0D}length", "content-length", false),
            ("content-lengt(", "content-length", false), ("Content_Length", "content-length", false), ("", "", true), ("a", "", false),
        ])
    func comparing(_ name: String, _ wanted: String, _ isEqual: Bool) {
        let name = Array(name.utf8)
        let wanted = Array(wanted.utf8)
        let result = name.withUnsafeBytes { name in wanted.withUnsafeBytes { equalsIgnoringCase(name, lowercased: $0) } }
        #expect(result == isEqual)
    }

    @Test("a name is found in whatever case it came, before and after others of its mark came and went")
    func marks() {
        var fields = FieldSection()
        #expect(!fields.mayContain("host") && fields.firstIndex(of: "host") == nil)
        fields.append(name: Array("HoSt".utf8), value: Array("a".utf8))
        fields.append("X-Request-Id", "1")
        #expect(fields.firstIndex(of: "host") == 0 && fields.contains("x-request-id") && fields.count(of: "host") == 1)
        let copy = fields.copy(reservingBytes: 10, lines: 1)
        #expect(copy.contains("host"))
        fields.remove("host")
        #expect(!fields.contains("host") && fields.contains("x-request-id"))
        fields.removeAll()
        #expect(fields.marks == 0)
        #expect(FieldSection(over: copy.bytes, lines: copy.lines).contains("host"))
    }

    @Test("names of the same mark are told apart")
    func sameMark() {
        var fields = FieldSection()
        // First and last letter and length agree.
        fields.append("x-abc-y", "1")
        #expect(nameMark(("x-abc-y" as StaticString).rawBytes) == nameMark(("x-xyz-y" as StaticString).rawBytes))
        #expect(fields.mayContain("x-xyz-y") && !fields.contains("x-xyz-y"))
        fields.remove("x-xyz-y")
        #expect(fields.contains("x-abc-y"))
    }

    @Test("lines go on the wire in order, whether their bytes lie there as such or not")
    func runs() throws {
        let parsed = head("GET / HTTP/1.1\r\nHost: a\r\nX-Tab:\tb\r\nX-None:c\r\nX-Empty:\r\nX-Blank: \r\nLast:  d \r\n\r\n")
        let head = try #require(parsed)
        var fields = head.fields
        #expect(wire(fields) == "Host: a\r\nX-Tab: b\r\nX-None: c\r\nX-Empty:\r\nX-Blank:\r\nLast: d\r\n")
        fields.remove("x-none")
        fields.setValue(at: 0, Array("other".utf8))
        fields.append("Added", "1")
        fields.append("Nothing", "")
        fields.append("More", "2")
        #expect(wire(fields) == "Host: other\r\nX-Tab: b\r\nX-Empty:\r\nX-Blank:\r\nLast: d\r\nAdded: 1\r\nNothing:\r\nMore: 2\r\n")
        fields.truncate(bytes: head.fields.bytes.count + 5, lines: head.fields.lines.count)
        #expect(wire(fields) == "Host: other\r\nX-Tab: b\r\nX-Empty:\r\nX-Blank:\r\nLast: d\r\n")
    }
}
