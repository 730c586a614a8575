// Success predicates: each condition on every kind of value, how they are joined, what a missing member is.
// Domain: cold

import CryoJSON
import Testing

@testable import CryoPipeline

private typealias Condition = SuccessTest.Condition

private func isSuccess(_ body: String, _ predicate: SuccessPredicate?) -> Bool? {
    guard let predicate else { return nil }
    var settings = PolicySettings(name: "p")
    settings.success = predicate
    guard let policy = PolicyPlan(settings) else { return nil }
    var bytes = Array(body.utf8)
    switch EnvelopeJudge(scanner: JSONScanner()).judge(padding: &bytes, by: policy) {
    case .accepted: return true
    case .rejected: return false
    case .notJSON: return nil
    }
}

private func test(
    _ field: String, _ condition: Condition, missing: SuccessTest.Missing = .success, isStrict: Bool = false
) -> SuccessPredicate? {
    JSONPath(field).map { .test(SuccessTest(path: $0, condition: condition, missing: missing, isStrict: isStrict)) }
}

private func string(_ text: String) -> JSONScalar { .string(Array(text.utf8)) }

/// One condition on `v` in turn for each of these bodies.
private let values = [
    "{}", "null", "false", "true", "0", "1", "-0.0", "1e400", #""""#, #""0""#, #""1""#, #""true""#, #"" 1""#, #""OK""#, "[]", "{}",
]

private func verdicts(_ predicate: SuccessPredicate?) -> [Bool?] {
    values.enumerated().map { isSuccess($0 == 0 ? "{}" : "{\"v\":\($1)}", predicate) }
}

private func holding(_ indices: [Int]) -> [Bool?] { values.indices.map { indices.contains($0) } }

@Suite("A success predicate")
struct SuccessPredicateTests {
    @Test("equals and in compare by value; a string is the number or bool it spells, unless strict")
    func equalsAndIn() {
        #expect(verdicts(test("v", .equals(.number("1")), missing: .failure)) == holding([5, 10]))
        #expect(verdicts(test("v", .equals(.number("1")), missing: .failure, isStrict: true)) == holding([5]))
        #expect(verdicts(test("v", .equals(.number("0")))) == holding([0, 4, 6, 9]))
        #expect(
            verdicts(test("v", .oneOf([.number("0"), .bool(true), string("OK")]), missing: .failure)) == holding([3, 4, 6, 9, 11, 13]))
        #expect(
            verdicts(test("v", .oneOf([.number("0"), .bool(true), string("OK")]), missing: .failure, isStrict: true))
                == holding([3, 4, 6, 13]))
        #expect(verdicts(test("v", .oneOf([.null]), missing: .failure)) == holding([1]))
    }

    @Test("range has both ends, compares numbers of any size, and takes strings that spell one, unless strict")
    func range() {
        let unit = Condition.range(JSONNumberRange(lowest: "0", highest: "1"))
        #expect(verdicts(test("v", unit, missing: .failure)) == holding([4, 5, 6, 9, 10]))
        #expect(verdicts(test("v", unit, missing: .failure, isStrict: true)) == holding([4, 5, 6]))
        let open = Condition.range(JSONNumberRange(lowest: "2", highest: nil))
        #expect(verdicts(test("v", open)) == holding([0, 7]))
        let cases: [(String?, String?, String, Bool)] = [
            ("200", "299", "200", true), ("200", "299", "299", true), ("200", "299", "299.5", false), ("200", "299", "199.99", false),
            ("-10", "-1", "-5", true), ("-10", "-1", "-11", false), ("-10", "-1", "0", false), (nil, "1e2", "100", true),
            (nil, "1e2", "100.0001", false), ("123456789012345678901", nil, "123456789012345678901", true),
            ("123456789012345678901", nil, "123456789012345678900", false), ("0.05", "0.5", "5e-2", true), ("0.05", "0.5", "0.049", false),
            ("0", "0", "-0", true), ("0", nil, "-1e-400", false),
        ]
        for (lowest, highest, value, expected) in cases {
            let range = Condition.range(JSONNumberRange(lowest: lowest, highest: highest))
            #expect(isSuccess("{\"v\":\(value)}", test("v", range)) == expected, "\(value) in \(lowest ?? "")…\(highest ?? "")")
        }
    }

    @Test("exists takes null for there, truthy does not; neither asks what a missing member is")
    func existsAndTruthy() {
        for missing in SuccessTest.Missing.allCases {
            #expect(verdicts(test("v", .exists(true), missing: missing)) == holding(Array(1..<values.count)))
            #expect(verdicts(test("v", .exists(false), missing: missing)) == holding([0]))
            #expect(verdicts(test("v", .truthy(true), missing: missing)) == holding([3, 5, 7, 9, 10, 11, 12, 13, 14, 15]))
            #expect(verdicts(test("v", .truthy(false), missing: missing)) == holding([0, 1, 2, 4, 6, 8]))
        }
    }

    @Test("matches looks at the whole text, escapes resolved, and at that of numbers and bools, unless strict")
    func matches() throws {
        let one = Condition.matches(try #require(TextPattern("[01]")))
        #expect(verdicts(test("v", one, missing: .failure)) == holding([4, 5, 9, 10]))
        #expect(verdicts(test("v", one, missing: .failure, isStrict: true)) == holding([9, 10]))
        let text = Condition.matches(try #require(TextPattern("余*足")))
        #expect(isSuccess(#"{"v":"\u4f59\u989d不足"}"#, test("v", text)) == true)
        #expect(isSuccess(#"{"v":"余额不足。"}"#, test("v", text)) == false)
        #expect(isSuccess(#"{"v":true}"#, test("v", .matches(try #require(TextPattern("t*"))))) == true)
    }

    @Test("all, any and not join them as in logic")
    func joined() throws {
        let code = try #require(test("code", .equals(.number("0"))))
        let ok = try #require(test("ok", .truthy(true)))
        let error = try #require(test("error", .exists(true)))
        let rule = SuccessPredicate.all([.any([code, ok]), .not(.all([error, .not(ok)]))])
        for (hasCode, isOK, hasError) in (0..<8).map({ ($0 & 1 > 0, $0 & 2 > 0, $0 & 4 > 0) }) {
            let body = "{\"code\":\(hasCode ? 0 : 5),\"ok\":\(isOK)\(hasError ? ",\"error\":null" : "")}"
            #expect(isSuccess(body, rule) == ((hasCode || isOK) && !(hasError && !isOK)), "\(body)")
        }
        #expect(isSuccess("{}", .all([])) == true && isSuccess("{}", .any([])) == false && isSuccess("{}", .not(.not(.all([])))) == true)
    }

    @Test("missing says what the answer is, also inside not")
    func missing() throws {
        for missing in SuccessTest.Missing.allCases {
            let isWanted = missing == .success
            let rule = try #require(test("v", .equals(.number("7")), missing: missing))
            #expect(
                isSuccess("{}", rule) == isWanted && isSuccess("{}", .not(rule)) == isWanted
                    && isSuccess("{}", .not(.not(rule))) == isWanted)
            #expect(isSuccess(#"{"v":7}"#, rule) == true && isSuccess(#"{"v":7}"#, .not(rule)) == false)
            #expect(isSuccess(#"{"v":null}"#, rule) == false, "null is not missing")
        }
    }

    @Test("paths are dotted or pointers, through objects and lists, and the last of equal keys counts")
    func paths() {
        let body = #"{"a":{"b":[{"c":1},{"c":2}],"x.y":3,"":4},"code":1,"code":0}"#
        for (path, value) in [("a.b.1.c", "2"), ("/a/b/0/c", "1"), ("/a/x.y", "3"), (#"a.x\.y"#, "3"), ("/a/", "4"), ("code", "0")] {
            #expect(isSuccess(body, test(path, .equals(.number(value)), missing: .failure)) == true, "\(path)")
        }
        #expect(isSuccess(body, test("a.b.2.c", .exists(false))) == true && isSuccess(body, test("code.x", .exists(false))) == true)
    }

    @Test("a path that several tests, the code and the payload share is looked for once")
    func sharedPaths() throws {
        let path = try #require(JSONPath("code"))
        var settings = PolicySettings(name: "p")
        settings.success = .any((0..<SuccessPredicate.testsMax).map { .equals(path, .number("\($0)")) })
        settings.codePath = path
        settings.messagePaths = [path]
        let policy = try #require(PolicyPlan(settings))
        #expect(policy.paths.paths == [path] && policy.codeIndex == 0 && settings.success?.testCount == SuccessPredicate.testsMax)
        #expect(isSuccess(#"{"code":63}"#, settings.success) == true && isSuccess(#"{"code":64}"#, settings.success) == false)
    }

    @Test("more paths than one scan looks for are no policy")
    func tooManyPaths() {
        var settings = PolicySettings(name: "p")
        settings.messagePaths = (0..<JSONPathSet.pathsMax).compactMap { JSONPath("p\($0)") }
        #expect(PolicyPlan(settings) != nil)
        settings.codePath = JSONPath("code")
        #expect(PolicyPlan(settings) == nil)
    }
}
