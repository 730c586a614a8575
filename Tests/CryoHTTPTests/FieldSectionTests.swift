// Field sections: marks never hide a name, comparison without case is exact, and runs are what goes on the wire.
// Domain: cold

import Testing

@testable import CryoHTTP

@Suite("A field section")
struct FieldSectionTests {
    private func wire(_ fields: FieldSection) -> String {
        var bytes: [UInt8] = []
        bytes.appendHead(bytesMax: fields.wireBytesMax) { $0.appendFields(fields) }
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
        "a name is known in any case, and by no byte that is not its own: every token one byte away from it",
        arguments: [
            "te", "via", "age", "host", "vary", "date", "expect", "cookie", "trailer", "upgrade", "location", "forwarded", "x-real-ip",
            "connection", "keep-alive", "set-cookie", "traceparent", "content-type", "content-length", "content_length", "cache-control",
            "x-request-id", "authorization", "http2-settings", "x-forwarded-for", "proxy-connection", "content-encoding",
            "x-forwarded-host", "x-forwarded-proto", "transfer-encoding", "transfer_encoding", "proxy-authenticate",
            "proxy-authorization", "proxy-authentication-info",
        ])
    func names(_ wanted: String) {
        let wanted = Array(wanted.utf8)
        func isKnown(_ name: [UInt8]) -> Bool {
            name.withUnsafeBytes { name in wanted.withUnsafeBytes { isNamed(name, lowercased: $0) } }
        }
        func lowered(_ name: [UInt8]) -> [UInt8] { name.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 } }
        let upper = wanted.map { (0x61...0x7A).contains($0) ? $0 & 0xDF : $0 }
        #expect(isKnown(wanted) && isKnown(upper))
        #expect(!isKnown(wanted + [0x61]) && !isKnown(Array(wanted.dropLast())) && !isKnown(Array(wanted.dropFirst())) && !isKnown([]))
        for original in [wanted, upper] {
            for place in original.indices {
                for byte in UInt8.min...UInt8.max where isTokenByte(byte) {
                    var name = original
                    name[place] = byte
                    if isKnown(name) != (lowered(name) == wanted) { Issue.record("\(name)") }
                }
            }
        }
    }

    @Test("bytes are equal when each one is, whatever their number")
    func equality() {
        for count in 0...40 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37) }
            func isEqual(_ other: [UInt8]) -> Bool { bytes.withUnsafeBytes { equals($0, other) } }
            #expect(isEqual(bytes) && !isEqual(bytes + [0]))
            for place in 0..<count {
                for bit in 0..<8 {
                    var other = bytes
                    other[place] ^= 1 << UInt8(bit)
                    if isEqual(other) { Issue.record("\(other)") }
                }
            }
        }
    }

    @Test("a line that is laid down in place is the same line, with its value in one part or in two")
    func inPlace() {
        for value in ["", "v", "1.1 cryonet", "a value that is longer than any word"] {
            let bytes = Array(value.utf8)
            for cut in 0...bytes.count {
                var called = FieldSection()
                var placed = FieldSection()
                for _ in 0..<40 {
                    called.append("X-Request-Id", bytes)
                    if cut == 0 {
                        bytes.withUnsafeBytes { placed.appendInPlace("X-Request-Id", $0) }
                    } else {
                        bytes.withUnsafeBytes {
                            placed.appendInPlace(
                                "X-Request-Id", UnsafeRawBufferPointer(rebasing: $0[..<cut]), UnsafeRawBufferPointer(rebasing: $0[cut...]))
                        }
                    }
                }
                #expect(wire(placed) == wire(called) && placed.marks == called.marks)
                #expect(placed.value(of: "x-request-id") == bytes && placed.lines.elementsEqual(called.lines))
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
        var copy = FieldSection()
        copy.take(fields, reservingBytes: 10, lines: 1)
        #expect(copy.contains("host"))
        fields.remove("host")
        #expect(!fields.contains("host") && fields.contains("x-request-id"))
        fields.removeAll()
        #expect(fields.marks == NameMarks())
    }

    @Test("names of the same mark are told apart")
    func sameMark() {
        var fields = FieldSection()
        // First and last letter and length agree.
        fields.append("x-abc-y", "1")
        #expect(NameMark("x-abc-y") == NameMark("x-xyz-y"))
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

    @Test("a section is a value: whatever is done to a copy, the other one stays as it was")
    func copies() {
        let original = section([("Host", "a"), ("Connection", "x"), ("X", "1")])
        let before = wire(original)
        let changes: [(inout FieldSection) -> Void] = [
            { $0.append("Y", "2") }, { $0.remove("x") }, { $0.remove(at: 0) }, { $0.setValue(at: 0, Array("other".utf8)) },
            { $0.truncate(bytes: 5, lines: 1) }, { $0.removeAll() }, { $0.startOver() }, { removeHopByHop(&$0) },
            { $0.appendCopy("z", ofLine: 0) }, { $0.take(section([("Z", "9")]), reservingBytes: 0, lines: 0) },
        ]
        for change in changes {
            var copy = original
            change(&copy)
            #expect(wire(original) == before && wire(copy) != before)
        }
    }

    @Test("a section takes another one's lines, with room or without, and keeps its memory only while it is its own")
    func taking() {
        var fields = section([("A", repeated("a", 700)), ("B", "2")])
        let small = section([("Host", "h"), ("X", "1")])
        fields.take(small, reservingBytes: 20, lines: 1)
        #expect(wire(fields) == wire(small) && fields.contains("host") && !fields.contains("b"))
        fields.append("More", repeated("m", 3000).utf8.map { $0 })
        fields.take(FieldSection(), reservingBytes: 0, lines: 0)
        #expect(wire(fields).isEmpty && fields.lines.isEmpty && fields.bytes.isEmpty)
        let held = fields
        fields.startOver()
        fields.append("A", "1")
        #expect(wire(held).isEmpty && wire(fields) == "A: 1\r\n")
    }

    @Test("removed lines leave their mark with the others, and a section grows as far as it must")
    func growing() {
        var fields = FieldSection()
        for number in 0..<300 { fields.append(name: Array("X-\(number)".utf8), value: Array("value \(number)".utf8)) }
        #expect(fields.lines.count == 300 && fields.value(of: "x-299") == Array("value 299".utf8) && fields.value(of: "x-0") != nil)
        fields.append("Host", "a")
        fields.remove("host")
        #expect(!fields.contains("host"))
        for number in 0..<300 { fields.remove(at: number) }
        #expect(wire(fields).isEmpty)
    }
}
