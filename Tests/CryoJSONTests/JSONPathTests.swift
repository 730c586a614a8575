// Owns the cases of path texts.
// Domain: cold

import Testing

@testable import CryoJSON

@Suite struct JSONPathTests {
    private func names(_ path: JSONPath?) -> [String]? {
        path?.segments.map { String(decoding: $0, as: UTF8.self) }
    }

    @Test(
        "Dotted and pointer texts give the same segments",
        arguments: [
            ("code", ["code"]), ("data.items.0.id", ["data", "items", "0", "id"]), (#"a\.b.c"#, ["a.b", "c"]),
            (#"a\\b"#, [#"a\b"#]), ("/data/items/0", ["data", "items", "0"]), ("/a~1b/m~0n", ["a/b", "m~n"]), ("/", [""]),
            ("/a//b", ["a", "", "b"]), ("数据.名", ["数据", "名"]), ("a~b", ["a~b"]),
        ] as [(String, [String])])
    func parses(text: String, expected: [String]) {
        #expect(names(JSONPath(text)) == expected)
    }

    @Test("Broken path texts are refused", arguments: ["", ".", "a.", ".a", "a..b", #"a\"#, #"a\x"#, "/a~", "/a~2"])
    func refuses(text: String) {
        #expect(JSONPath(text) == nil)
    }

    @Test("A pointer is empty or begins with a slash")
    func pointerForm() {
        #expect(JSONPath(pointer: "") == .root)
        #expect(JSONPath(pointer: "a") == nil)
    }

    @Test(
        "A description reads back as the same path",
        arguments: [
            ["a"], ["a.b", "c"], [#"\"#], ["/a"], [""], ["a", ""], ["a", "/b~"], ["0", "1"],
        ])
    func describes(segments: [String]) {
        let path = JSONPath(segments: segments.map { Array($0.utf8) })
        #expect(path.flatMap { JSONPath($0.description) } == path)
        #expect(path.flatMap { JSONPath(pointer: $0.pointer) } == path)
        #expect(JSONPath.root.description.isEmpty)
    }

    @Test("Segments and paths are bounded")
    func bounds() {
        let limit = JSONPath.segmentsMax
        #expect(JSONPath(segments: Array(repeating: [97], count: limit)) != nil)
        #expect(JSONPath(segments: Array(repeating: [97], count: limit + 1)) == nil)
        #expect(JSONPathSet(Array(repeating: .root, count: JSONPathSet.pathsMax)) != nil)
        #expect(JSONPathSet(Array(repeating: .root, count: JSONPathSet.pathsMax + 1)) == nil)
    }

    @Test(
        "Only plain decimals are array indices",
        arguments: [
            ("0", 0), ("10", 10), ("01", -1), ("-1", -1), ("", -1), ("1a", -1), ("9999999999999999999", -1),
        ] as [(String, Int64)])
    func indices(text: String, expected: Int64) {
        #expect(JSONPath.index(of: Array(text.utf8)) == expected)
    }
}
