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
}
