// Owns the tests of reading YAML.
// Domain: cold

import CryoConfig
import Testing

@Suite struct YAMLDocumentTests {
    private func problems(_ text: String) -> [String] {
        YAMLDocument(Array(text.utf8)).problems.map { "\($0.mark.line):\($0.mark.column): \($0.message)" }
    }

    @Test("Values carry their place, counted from 1")
    func places() throws {
        let root = try #require(YAMLDocument(Array("a:\n  é: [1, \"2\"]\n".utf8)).root)
        let list = try #require(root["a"]?["é"])
        #expect(list.origin == .file(YAMLMark(line: 2, column: 6)))
        #expect(list.items.map(\.integer) == [1, nil])
        #expect(list.items[1].origin == .file(YAMLMark(line: 2, column: 10)))
    }

    @Test("JSON is read as it is")
    func json() throws {
        let root = try #require(YAMLDocument(Array(#"{"a": {"b": [true, null, "x\u0041", -2]}}"#.utf8)).root)
        let items = try #require(root["a"]?["b"]?.items)
        #expect(items[0].boolean == true)
        #expect(items[1].isNull)
        #expect(items[2].text == "xA")
        #expect(items[3].integer == -2)
    }

    @Test(
        "What is dangerous or unclear in YAML is refused at its place",
        arguments: [
            (
                "a: &x 1\nb: *x\n",
                [
                    "1:4: anchors (&name) are not supported",
                    "2:4: aliases (*name) are not supported: write the value out, or quote it if it is text",
                ]
            ),
            ("a: !!int 1\n", ["1:4: tags (!name) are not supported"]),
            ("a: 1\nb: 2\na: 3\n", ["3:1: duplicate key \"a\", first on line 1"]),
            ("<<: {}\n", ["1:1: merge keys (<<) are not supported: write the keys out"]),
            ("[a]: 1\n", ["1:1: a key must be text"]),
            ("a: 1\n---\nb: 1\n", ["2:1: a configuration is one document"]),
            ("a: {b: 1\nc: 2\n", ["2:2: while parsing a flow mapping: did not find expected ',' or '}'"]),
            ("a: 1\n\tb: 2\n", ["2:1: while scanning a plain scalar: found a tab character that violates indentation"]),
            ("a: \"\u{1}\"\n", ["1:5: control characters are not allowed"]),
        ])
    func refused(text: String, expected: [String]) {
        #expect(problems(text) == expected)
    }

    @Test("Bytes that are no UTF-8 are refused at their place")
    func notUTF8() {
        let document = YAMLDocument(Array("a: 1\nb: x".utf8) + [0xFF, 0x0A])
        #expect(document.root == nil)
        #expect(document.problems.map(\.mark) == [YAMLMark(line: 2, column: 5)])
    }

    @Test("Depth and size are bounded")
    func bounds() {
        func nested(_ depth: Int) -> String { String(repeating: "[", count: depth) + String(repeating: "]", count: depth) }
        #expect(problems(nested(YAMLDocument.depthMax)).isEmpty)
        #expect(problems(nested(YAMLDocument.depthMax + 1)) == ["1:33: nested deeper than 32 levels"])
        let padding = "#" + String(repeating: "x", count: YAMLDocument.bytesMax - 1)
        #expect(problems(padding).isEmpty)
        #expect(problems(padding + "x") == ["1:1: the file is larger than 1048576 bytes"])
    }
}
