// Owns the cases of writing JSON.
// Domain: cold

import Testing

@testable import CryoJSON

@Suite struct JSONWriterTests {
    private func text(_ writer: borrowing JSONWriter) -> String { String(decoding: writer.bytes, as: UTF8.self) }

    @Test("Commas and nesting come out right")
    func nesting() {
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("a")
        writer.beginArray()
        writer.integer(1)
        writer.integer(Int64.min)
        writer.integer(UInt64.max)
        writer.beginObject()
        writer.endObject()
        writer.beginArray()
        writer.endArray()
        writer.endArray()
        writer.field("b", true)
        writer.field("c", "x")
        writer.nullField("d")
        writer.key("e" as String)
        writer.bool(false)
        Array(#"{"r":1}"#.utf8).withUnsafeBytes { writer.rawField("f", $0) }
        writer.endObject()
        #expect(
            text(writer)
                == #"{"a":[1,-9223372036854775808,18446744073709551615,{},[]],"b":true,"c":"x","d":null,"e":false,"f":{"r":1}}"#)
        #expect(JSONFixture(writer.bytes).outcome() == .scanned)
    }

    @Test(
        "Strings are escaped",
        arguments: [
            ("plain", "plain"), ("", ""), ("\"\\/", #"\"\\/"#), ("\u{8}\u{C}\n\r\t", #"\b\f\n\r\t"#), ("\0\u{1F}", #"\u0000\u001f"#),
            ("\u{7F}", #"\u007f"#), ("你好😀é", "你好😀é"), ("a\u{2028}b\u{2029}", #"a\u2028b\u2029"#), ("\u{2027}\u{202A}", "\u{2027}\u{202A}"),
        ])
    func escapes(content: String, expected: String) {
        var writer = JSONWriter()
        writer.string(content)
        #expect(text(writer) == "\"" + expected + "\"")
        #expect(JSONFixture(writer.bytes).read { $0.stringBytes($1) } == Array(content.utf8))
    }

    @Test("What needs an escape gets it wherever it stands", arguments: ["\"", "\\", "\n", "\u{7F}", "é", "\u{2028}", "!", "]"])
    func escapesAnywhere(special: String) {
        var writer = JSONWriter()
        writer.string(special)
        let escaped = text(writer).dropFirst().dropLast()
        for length in 0..<20 {
            for place in 0...length {
                let before = String(repeating: "a", count: place)
                let after = String(repeating: "#", count: length - place)
                writer.reset()
                writer.string(before + special + after)
                #expect(text(writer) == "\"" + before + escaped + after + "\"")
            }
        }
    }

    @Test(
        "Invalid UTF-8 is replaced as the standard library replaces it",
        arguments: [
            [0xFF], [0x61, 0x80, 0x62], [0xC3], [0xC0, 0x80], [0xE4, 0xBD], [0xE4, 0xBD, 0x41], [0xED, 0xA0, 0x80], [0xE0, 0x80, 0x80],
            [0xF0, 0x9F, 0x98], [0xF0, 0x8F, 0x80, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80], [0xE2, 0x80], [0xE2],
            [0xE2, 0x80, 0xC3, 0xA9],
        ] as [[UInt8]])
    func repairs(content: [UInt8]) {
        var writer = JSONWriter()
        content.withUnsafeBytes { writer.string(bytes: $0) }
        #expect(text(writer) == "\"" + String(decoding: content, as: UTF8.self) + "\"")
        #expect(JSONFixture(writer.bytes).outcome() == .scanned)
    }

    @Test("A reset keeps the memory and the next text starts without a comma")
    func reset() {
        var writer = JSONWriter()
        writer.reserveCapacity(1000)
        writer.integer(1)
        let capacity = writer.capacity
        writer.reset()
        #expect(writer.capacity == capacity)
        writer.beginArray()
        writer.endArray()
        writer.endLine()
        writer.null()
        #expect(text(writer) == "[]\nnull")
    }

    @Test("Numbers of every length are written digit by digit")
    func numbers() {
        var number: UInt64 = 1
        var numbers: [UInt64] = [0, .max, .max - 1, 1 << 63]
        for _ in 0..<20 {
            numbers += [number - 1, number, number &+ 1, number &* 9, number / 7 &* 3]
            number = number &* 10
        }
        for number in numbers + Array(0...10_100) {
            var buffer = TextBuffer()
            buffer.append(decimal: number)
            #expect(String(decoding: buffer.bytes, as: UTF8.self) == String(number))
        }
        var buffer = TextBuffer()
        for number in [0, 7, 123_456] as [UInt64] { buffer.append(digits: number, count: 6) }
        #expect(String(decoding: buffer.bytes, as: UTF8.self) == "000000000007123456")
    }

    @Test("Pieces of the source stand beside keys and values, with one comma between")
    func pieces() {
        var writer = JSONWriter()
        writer.text(#"{"v":1"#)
        writer.field("a", true)
        writer.member(#","n":"#, 12)
        writer.member(#","id":""#, plain: StaticString("x-1").bytes)
        writer.key("list")
        writer.beginArray()
        writer.null()
        writer.endArray()
        writer.member(#","ok":"#, false)
        writer.member(#","s":"#, bytes: StaticString("q\"").bytes)
        writer.text(Array(#","last":null}"#.utf8))
        #expect(text(writer) == #"{"v":1,"a":true,"n":12,"id":"x-1","list":[null],"ok":false,"s":"q\"","last":null}"#)
        #expect(JSONFixture(writer.bytes).outcome() == .scanned)
    }

    @Test("It is known where strings and raw values lie: from the first to the last of them")
    func foreign() {
        func foreign(_ write: (inout JSONWriter) -> Void) -> String {
            var writer = JSONWriter()
            writer.text(#"{"v":1"#)
            write(&writer)
            writer.member(#","n":"#, 5)
            writer.text("}")
            return writer.withForeignBytes { String(decoding: $0, as: UTF8.self) }
        }
        #expect(foreign { $0.member(#","n":"#, 1) } == "")
        #expect(foreign { $0.field("a", "ours" as StaticString) } == "")
        #expect(foreign { $0.plain(Array("ours".utf8)) } == "")
        #expect(foreign { $0.member(#","s":"#, bytes: StaticString("it").bytes) } == #""it""#)
        #expect(foreign { $0.field("s", bytes: StaticString("it").bytes) } == #""it""#)
        #expect(foreign { $0.field("s", String("it")) } == #""it""#)
        #expect(foreign { $0.key(String("it")) } == #""it""#)
        #expect(foreign { $0.rawField("s", StaticString("[1]").bytes) } == "[1]")
        #expect(
            foreign {
                $0.field("s", bytes: StaticString("a\n").bytes)
                $0.member(#","n":"#, 1)
                $0.rawField("r", StaticString("[1]").bytes)
            } == #""a\n","n":1,"r":[1]"#)
        var writer = JSONWriter()
        writer.string("it")
        writer.reset()
        writer.integer(1)
        #expect(writer.withForeignBytes { $0.isEmpty })
    }
}

extension StaticString {
    fileprivate var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: utf8Start, count: utf8CodeUnitCount) }
}
