// Owns the cases of scanning: what is JSON, what is found where.
// Domain: cold

import Testing

@testable import CryoJSON

@Suite struct JSONScannerTests {
    private static let envelope =
        #"{"code":0,"msg":"ok","data":{"items":[{"id":1,"n":[]},{"id":-2.5e3,"s":"a\"]}\\"}],"n":null,"t":true},"f":false}"#

    @Test(
        "Members are found by path, byte for byte",
        arguments: [
            ("code", "0"), ("msg", #""ok""#), ("data.items.0.id", "1"), ("data.items.1.id", "-2.5e3"),
            ("data.items.1.s", #""a\"]}\\""#), ("data.items.0", #"{"id":1,"n":[]}"#), ("data.items.0.n", "[]"), ("data.n", "null"),
            ("data.t", "true"), ("f", "false"), ("data.items.2", nil), ("data.items.id", nil), ("code.x", nil), ("nope", nil),
            ("msg.0", nil), ("data.items.0.n.0", nil),
        ] as [(String, String?)])
    func finds(path: String, expected: String?) {
        #expect(JSONFixture(Self.envelope).find(path) == expected)
    }

    @Test("Digits and escapes are judged alike wherever they stand, in the padding never")
    func blocks() {
        for count in 1...70 {
            let digits = String(repeating: "7", count: count)
            for number in ["0.\(digits)", "-\(digits)", "1.\(digits)e-\(digits)"] {
                for padding in Array("0\\u\" ".utf8) {
                    #expect(JSONFixture(number, padding: padding).outcome() == .scanned, "\(number)")
                    #expect(JSONFixture("{\"a\":\(number)}", padding: padding).find("a") == number)
                }
                for wrong in ["x", ":", "/", ".", "\u{B7}", "\"a\""] {
                    #expect(JSONFixture(number + wrong).outcome() == .notJSON, "\(number)\(wrong)")
                }
            }
            let filling = String(repeating: "x", count: count)
            for escape in [#"\\"#, #"\n"#, #"\""#, #"\u00e9"#, #"\\\\"#, #"\\\""#] {
                for tail in ["", "y", filling] {
                    #expect(JSONFixture("\"\(filling)\(escape)\(tail)\"").outcome() == .scanned, "\(count)\(escape)")
                }
            }
            for escape in [#"\x"#, #"\u00g9"#, #"\u00"#, #"\\\z"#, #"\ "#] {
                #expect(JSONFixture("\"\(filling)\(escape)\"", padding: UInt8(ascii: "0")).outcome() == .notJSON, "\(count)\(escape)")
            }
        }
    }

    @Test("One scan serves paths that share prefixes, and the whole document")
    func sharedPrefixes() {
        let text = #" { "a" : { "b" : [ 1 , { "c" : "x" } ] , "d" : 2 } , "e" : [ ] } "#
        let paths = ["a", "a.b", "a.b.1.c", "a.d", "e", "a.b.0"].compactMap { JSONPath($0) } + [JSONPath.root]
        let expected: [String?] = [
            #"{ "b" : [ 1 , { "c" : "x" } ] , "d" : 2 }"#, #"[ 1 , { "c" : "x" } ]"#, #""x""#, "2", "[ ]", "1",
            String(text.dropFirst().dropLast()),
        ]
        #expect(JSONFixture(text).find(paths) == expected)
    }

    @Test(
        "The last of equal keys wins with everything below it",
        arguments: [
            (#"{"a":1,"a":2}"#, "a", "2"), (#"{"a":{"b":1},"a":2}"#, "a.b", nil), (#"{"a":2,"a":{"b":1}}"#, "a.b", "1"),
            (#"{"a":{"b":1},"a":{"c":1}}"#, "a.b", nil), (#"{"a":{"b":1,"b":3},"x":0}"#, "a.b", "3"), (#"{"a":1,"\u0061":2}"#, "a", "2"),
        ] as [(String, String, String?)])
    func duplicates(text: String, path: String, expected: String?) {
        #expect(JSONFixture(text).find(path) == expected)
    }

    @Test(
        "Keys compare unescaped",
        arguments: [
            (#"{"\u0063ode":1}"#, "/code"), (#"{"a\/b":1}"#, "/a~1b"), (#"{"\ud83d\ude00":1}"#, "/😀"), (#"{"\u4f60":1}"#, "/你"),
            (#"{"a\"b":1}"#, "/a\"b"), (#"{"\n":1}"#, "/\n"), (#"{"":1}"#, "/"), (#"{"\ud800":1}"#, "/\u{FFFD}"), (#"{"0":1}"#, "/0"),
            (#"{"k" :1}"#, "/k"), ("{\"k\"\n\t: 1}", "/k"), (#"{"你":1}"#, "/你"),
        ])
    func escapedKeys(text: String, path: String) {
        #expect(JSONFixture(text).find(path) == "1")
        #expect(JSONFixture(text).find(path + "x") == nil)
    }

    @Test(
        "Whole documents of every kind are JSON",
        arguments: [
            "{}", "[]", "0", "-0", "1.5E+3", "true", "false", "null", #""""#, #""x""#, " 1 ", "\n[]\t", "[1e999]", #"["\ud800"]"#,
            "123456789012345678901234567890", #"{"a":[[[{}]]]}"#, "[\"\u{7F}\"]", #"["\u00e9\b\f\n\r\t\/\\\""]"#,
        ])
    func accepts(text: String) {
        #expect(JSONFixture(text).outcome() == .scanned)
        #expect(JSONFixture(text, padding: UInt8(ascii: "1")).find([.root]).count == 1)
        let isValid = JSONFixture(text).withBytes { JSONScanner().validate($0) }
        #expect(isValid == .scanned)
    }

    @Test(
        "What is not JSON is refused, also in members nobody asked for",
        arguments: [
            "", " ", "{", "[", "}", "]", "{]", "[}", #"{"a":1]"#, "[1}", "[1,]", "[,1]", "[1 2]", "{,}", #"{"a"}"#, #"{"a":}"#,
            #"{"a":1,}"#, #"{"a" 1}"#, "{a:1}", "{'a':1}", "{1:1}", "[] []", "{}x", "{},", "1 2", "1,", "NaN", "[NaN]", "Infinity",
            "[-Infinity]", "[-]", "[+1]", "[01]", "[-01]", "[.5]", "[5.]", "[1e]", "[1e+]", "[0x1]", "[1a]", "[tru]", "[truex]",
            "[True]", "[nul]", "[fals]", #"["a"b]"#, #"[1"a"]"#, #"[true"a"]"#, #"["a""b"]"#, #"["a":1]"#, "[:]", #"{"a":1:2}"#,
            #"["a]"#, #"["\x"]"#, #"["\u12g4"]"#, #"["\u12"]"#, #"["a\"]"#, "[\"\u{1}\"]", "[\"\n\"]", #"[\]"#, #"[1\"]"#, #"\"a""#,
            "[1,2", "[[1,2]", #"{"a":[1,{"b":2]}"#, "/* */[]", "[1//\n]", "[1\u{C}]", "[\u{1A}]", "tru", "-", "\"", "[\u{A0}1]",
            "\u{FEFF}", "[\u{FEFF}]", "[]\u{FEFF}", "[1]\0", "\0", "[\"a\"\u{C}]", "{\"a\"\u{1A}1}", "[1\u{1A}]", "[nullnull]",
        ])
    func refuses(text: String) {
        for padding in [UInt8(ascii: "}"), UInt8(ascii: "]"), UInt8(ascii: "1"), UInt8(ascii: "\""), UInt8(ascii: "e")] {
            #expect(JSONFixture(text, padding: padding).outcome() == .notJSON)
            let embedded = JSONFixture(#"{"code":0,"other":"# + text + "}", padding: padding).find("code")
            if text != "{},", text != "1,", !text.hasSuffix("\u{FEFF}") || text.count > 1 { #expect(embedded == nil) }
        }
    }

    @Test(
        "Invalid UTF-8 is not JSON",
        arguments: [[0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xE4, 0xBD], [0x80], [0xF5, 0x80, 0x80, 0x80]])
    func invalidUTF8(bytes: [UInt8]) {
        #expect(JSONFixture([0x5B, 0x22] + bytes + [0x22, 0x5D]).outcome() == .notJSON)
        #expect(JSONFixture(bytes).outcome() == .notJSON)
    }

    @Test("A document cut anywhere is not JSON, whatever the padding holds")
    func truncation() {
        let bytes = Array(Self.envelope.utf8)
        let scanner = JSONScanner()
        for count in 0..<bytes.count {
            for padding in [UInt8(ascii: "}"), UInt8(ascii: "\""), UInt8(ascii: "0")] {
                #expect(JSONFixture(Array(bytes[..<count]), padding: padding).outcome(scanner) == .notJSON, "cut at \(count)")
            }
        }
        #expect(JSONFixture(bytes).outcome(scanner) == .scanned)
    }

    @Test("Padding is never read as data", arguments: [("1", "2"), ("-1.5", "e"), ("12", "."), ("[]", "]")])
    func padding(text: String, padding: String) {
        let byte = padding.utf8.first ?? 0
        #expect(JSONFixture(text, padding: byte).find([.root]) == [text])
    }

    @Test("A byte order mark is skipped in a document and refused in an embedded value")
    func byteOrderMark() {
        let fixture = JSONFixture("\u{FEFF}{\"code\":7}")
        #expect(fixture.find("code") == "7")
        #expect(fixture.find([.root]) == [#"{"code":7}"#])
        #expect(fixture.withBytes { JSONScanner().validate($0) } == .notJSON)
    }

    @Test("Nesting is accepted at the bound and refused one deeper, on every way down")
    func depth() {
        let limit = JSONScanner.depthMax
        for (open, close) in [("[", "]"), (#"{"a":"#, "}")] {
            let fits = String(repeating: open, count: limit) + "1" + String(repeating: close, count: limit)
            let deep = String(repeating: open, count: limit + 1) + "1" + String(repeating: close, count: limit + 1)
            #expect(JSONFixture(fits).outcome() == .scanned)
            #expect(JSONFixture(deep).outcome() == .tooDeep)
            #expect(JSONFixture(deep).find("a.a.0.0") == nil)
        }
        let open = String(repeating: "[", count: 100_000)
        #expect(JSONFixture(open).outcome() == .notJSON)
        #expect(JSONFixture(open + String(repeating: "]", count: 100_000)).outcome() == .tooDeep)
        let zigzag = String(repeating: #"[{"a":"#, count: limit / 2) + "1" + String(repeating: "}]", count: limit / 2)
        #expect(JSONFixture(zigzag).outcome() == .scanned)
    }

    @Test("Documents are accepted at the size bound and refused one byte above it")
    func size() {
        let scanner = JSONScanner(bytesMax: 10)
        #expect(JSONFixture("[12345678]").outcome(scanner) == .scanned)
        #expect(JSONFixture("[123456789]").outcome(scanner) == .tooLarge)
        #expect(JSONFixture("[]").outcome(scanner) == .scanned)
    }

    @Test("One scanner serves documents of any order of sizes")
    func reuse() {
        let scanner = JSONScanner()
        for count in [1, 5000, 3, 3_000_000, 2, 70_000] {
            let text = #"{"a":""# + String(repeating: "x", count: count) + #"","b":1}"#
            #expect(JSONFixture(text).outcome(scanner) == .scanned)
        }
    }

    @Test("Slices of a refused document are missing, even after a good prefix")
    func noPartialSlices() throws {
        let path = try #require(JSONPath("a"))
        let set = try #require(JSONPathSet([path]))
        var slices: [JSONSlice] = []
        let outcome = JSONFixture(#"{"a":1,"b":tru}"#).withBytes { JSONScanner().scan($0, paths: set, into: &slices) }
        #expect(outcome == .notJSON)
        #expect(slices == [.missing])
    }
}
