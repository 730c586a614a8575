// Owns the cases of reading raw slices.
// Domain: cold

import Testing

@testable import CryoJSON

@Suite struct JSONValueReaderTests {
    @Test(
        "Strings are unescaped",
        arguments: [
            (#""""#, ""), (#""plain""#, "plain"), (#""a\"\\\/\b\f\n\r\t""#, "a\"\\/\u{8}\u{C}\n\r\t"), (#""\u4f60\u00e9""#, "你é"),
            (#""\ud83d\ude00!""#, "😀!"), (#""\uD83D""#, "\u{FFFD}"), (#""\ude00x""#, "\u{FFFD}x"), (#""\ud83d\u0041""#, "\u{FFFD}A"),
            (#""\ud83d\ud83d\ude00""#, "\u{FFFD}😀"), (#""\u0000""#, "\0"), (#""你好""#, "你好"), ("1", ""), (#"["a"]"#, ""),
        ])
    func strings(text: String, expected: String) {
        #expect(JSONFixture(text).read { $0.stringBytes($1) } == Array(expected.utf8))
    }

    @Test(
        "A failure reason is a non-empty string",
        arguments: [
            (#""a""#, true), (#""""#, false), ("1", false), (#"{"x":1}"#, false), ("null", false), (#"" ""#, true),
        ])
    func reasons(text: String, expected: Bool) {
        #expect(JSONFixture(text).read { $0.isNonEmptyString($1) } == expected)
    }

    @Test(
        "Business codes are numbers and bools",
        arguments: [
            ("10001", 10001), ("-7", -7), ("3.99", 3), ("1.5e1", 15), ("true", 1), ("false", 0), (#""10001""#, nil), ("null", nil),
            ("[]", nil), ("9223372036854775807", .max), ("-9223372036854775808", .min), ("9223372036854775808", nil),
            ("-9223372036854775809", nil), ("1e999999999999999999999", nil), ("0e999999999", 0), ("1e-400", 0), ("0.001e3", 1),
        ] as [(String, Int64?)])
    func integers(text: String, expected: Int64?) {
        #expect(JSONFixture(text).read { $0.integer($1) } == .some(expected))
    }

    @Test(
        "Accepted code strings must be whole integers",
        arguments: [
            (#""10001""#, 10001), (#""-1""#, -1), (#""1.0""#, 1), (#""1.5""#, nil), (#""1x""#, nil), (#""""#, nil), (#""\u0031""#, 1),
        ] as [(String, Int64?)])
    func codeStrings(text: String, expected: Int64?) {
        #expect(JSONFixture(text).read { $0.integer($1, acceptStrings: true) } == .some(expected))
    }

    @Test(
        "The seeds' integer value follows SwiftyJSON",
        arguments: [
            ("0", 0), ("10001", 10001), ("1.9", 1), ("-1.9", -1), ("0.5", 0), ("true", 1), ("false", 0), ("null", 0), ("[]", 0),
            (#"{"a":1}"#, 0), (#""10001""#, 10001), (#""abc""#, 0), (#""""#, 0), (#"" 42""#, 42), (#""12abc""#, 12), (#""2.9""#, 2),
            (#""-3""#, -3), (#"".5""#, 0), (#""1e2""#, 100), (#""\u0037""#, 7), ("99999999999999999999", nil), ("2e2", 200),
        ] as [(String, Int64?)])
    func seedValues(text: String, expected: Int64?) {
        #expect(JSONFixture(text).read { $0.seedIntValue($1) } == .some(expected))
        #expect(JSONFixture("0").read { reader, _ in reader.seedIntValue(.missing) } == .some(0))
    }

    @Test(
        "Truth is JavaScript's",
        arguments: [
            ("true", true), ("false", false), ("null", false), ("0", false), ("-0.0e5", false), ("0.1", true), (#""""#, false),
            (#""0""#, true), ("[]", true), ("{}", true),
        ])
    func truth(text: String, expected: Bool) {
        #expect(JSONFixture(text).read { $0.isTruthy($1) } == expected)
        #expect(JSONFixture("1").read { reader, _ in reader.isTruthy(.missing) } == false)
    }

    @Test(
        "Values compare with scalars, coerced unless strict",
        arguments: [
            ("0", .number("0"), true, true), ("0.0", .number("0"), true, true), ("-0", .number("0"), true, true),
            ("100", .number("1e2"), true, true), ("0.015", .number("15e-3"), true, true), ("1", .number("10"), false, false),
            ("1.50", .number("1.5"), true, true), ("10", .number("1.0e1"), true, true), ("0.1", .number("1"), false, false),
            ("9007199254740993", .number("9007199254740992"), false, false), ("-1", .number("1"), false, false),
            ("123456789012345678901234567890", .number("123456789012345678901234567890"), true, true),
            ("123456789012345678901234567890", .number("123456789012345678901234567891"), false, false),
            (#""0""#, .number("0"), true, false), (#""00""#, .number("0"), false, false), (#"" 0""#, .number("0"), false, false),
            ("0", .string(Array("00".utf8)), false, false), (#""0x""#, .number("0"), false, false),
            (#""""#, .number("0"), false, false), ("0", .string(Array("0".utf8)), true, false),
            (#""ok""#, .string(Array("ok".utf8)), true, true),
            (#""\u006fk""#, .string(Array("ok".utf8)), true, true), (#""OK""#, .string(Array("ok".utf8)), false, false),
            ("true", .bool(true), true, true), ("false", .bool(true), false, false), ("1", .bool(true), false, false),
            ("2", .bool(true), false, false), ("1.5", .bool(true), false, false), ("true", .number("1"), false, false),
            ("true", .number("1.5"), false, false), (#""true""#, .bool(true), true, false),
            ("true", .string(Array("true".utf8)), true, false),
            ("null", .null, true, true), ("0", .null, false, false), ("null", .number("0"), false, false),
            ("[]", .number("0"), false, false),
        ] as [(String, JSONScalar, Bool, Bool)])
    func comparisons(text: String, scalar: JSONScalar, coerced: Bool, strict: Bool) {
        #expect(JSONFixture(text).read { $0.equals($1, scalar) } == coerced)
        #expect(JSONFixture(text).read { $0.equals($1, scalar, strict: true) } == strict)
        #expect(JSONFixture(text).read { reader, _ in reader.equals(.missing, scalar) } == false)
    }

    @Test("A number keeps its text")
    func numberText() {
        let text = "123456789012345678901234567890.10e+5"
        #expect(JSONFixture(text).read { reader, slice in reader.numberText(slice).map(Array.init) } == Array(text.utf8))
        #expect(JSONFixture(#""1""#).read { reader, slice in reader.numberText(slice) == nil } == true)
    }
}
