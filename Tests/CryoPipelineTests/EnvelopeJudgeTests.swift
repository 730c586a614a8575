// The envelope judge: the vectors V1, V5 and V6 of the ledger and their variants.
// Domain: cold

import CryoJSON
import Testing

@testable import CryoPipeline

private enum Judged: Equatable {
    case whole, notJSON
    case part(String)
    case rejected(code: String?, message: String?)
}

private func judged(_ body: String, _ change: (inout PolicySettings) -> Void = { _ in }) -> Judged? {
    guard let policy = envelope(change) else { return nil }
    let bytes = Array(body.utf8)
    let padded = bytes + [UInt8](repeating: 0, count: JSONScanner.padding)
    let judge = EnvelopeJudge(scanner: JSONScanner())
    switch padded.withUnsafeBytes({ judge.judge(UnsafeRawBufferPointer(rebasing: $0[..<bytes.count]), by: policy) }) {
    case .accepted(.whole): return .whole
    case .accepted(.slice(let range)): return .part(String(decoding: bytes[range], as: UTF8.self))
    case .accepted(.text(let content)): return .part(String(decoding: content, as: UTF8.self))
    case .rejected(let failure): return .rejected(code: text(failure.rawCode), message: text(failure.message))
    case .notJSON: return .notJSON
    }
}

private func data(_ settings: inout PolicySettings) { settings.view = .data }
private func code0(missing: SuccessTest.Missing = .success, isStrict: Bool = false) -> SuccessPredicate? {
    JSONPath("code").map { .equals($0, .number("0"), missing: missing, isStrict: isStrict) }
}
private func never(_ settings: inout PolicySettings) {
    settings.success = JSONPath("never").map { .equals($0, .bool(true), missing: .failure) }
}

@Suite("The envelope judge")
struct EnvelopeJudgeTests {
    @Test("V1: the complete view is the whole body, the data view its part byte for byte")
    func unwrap() {
        let body = #"{"code":0,"msg":"ok","data":{"title":"CryoNet"}}"#
        #expect(judged(body) == .whole)
        #expect(judged(body, data) == .part(#"{"title":"CryoNet"}"#))
    }

    @Test(
        "V1 variants: what the data view makes of other data",
        arguments: [
            (#"{"code":0,"data":null}"#, nil), (#"{"code":0}"#, nil), (#"{}"#, nil), (#"{"code":0,"data":"abc"}"#, "abc"),
            (#"{"code":0,"data":123}"#, "123"), (#"{"code":0,"data":true}"#, "true"), (#"{"code":0,"data":""}"#, ""),
            (#"{"code":0,"data":[ 1 ,2]}"#, "[ 1 ,2]"),
            (#"{"data":{"n":1.0e+2 , "s":"\u4f59"},"code":0}"#, #"{"n":1.0e+2 , "s":"\u4f59"}"#),
            (#"{"code":0,"data":"a\"\n\u4f59"}"#, "a\"\n余"), (#"{"code":0,"data":12345678901234567890123}"#, "12345678901234567890123"),
        ] as [(String, String?)])
    func dataView(_ body: String, _ part: String?) {
        #expect(judged(body, data) == part.map { .part($0) } ?? .whole)
    }

    @Test("V5: a code other than the wanted one is a failure with code and message")
    func business() {
        #expect(judged(#"{"code":10001,"message":"login expired"}"#) == .rejected(code: "10001", message: "login expired"))
    }

    @Test("a string code keeps its type and a big one its digits")
    func codes() {
        #expect(judged(#"{"code":"10001","message":"x"}"#) == .rejected(code: #""10001""#, message: "x"))
        #expect(judged(#"{"code":"E_AUTH"}"#) == .rejected(code: #""E_AUTH""#, message: nil))
        #expect(judged(#"{"code":123456789012345678901}"#) == .rejected(code: "123456789012345678901", message: nil))
        #expect(judged(#"{"code":true}"#) == .rejected(code: nil, message: nil))
        #expect(judged(#"{"code":{}}"#) == .rejected(code: nil, message: nil))
    }

    @Test("the wanted code may be spelled as a string or a decimal, unless the policy is strict")
    func coercion() {
        #expect(judged(#"{"code":"0"}"#) == .whole)
        #expect(judged(#"{"code":0.0}"#) == .whole)
        #expect(judged(#"{"code":"0"}"#) { $0.success = code0(isStrict: true) } == .rejected(code: #""0""#, message: nil))
        #expect(
            judged(#"{"status":"ok"}"#) { $0.success = JSONPath("status").map { .equals($0, .string(Array("ok".utf8))) } } == .whole)
    }

    @Test("a missing code is a success or a failure, as the policy says; null is never a number")
    func missing() {
        #expect(judged(#"{"a":1}"#) == .whole)
        #expect(judged(#"{"code":null}"#) == .rejected(code: nil, message: nil))
        #expect(judged(#"{"a":1}"#) { $0.success = code0(missing: .failure) } == .rejected(code: nil, message: nil))
        #expect(judged(#"{"code":null}"#) { $0.success = code0(missing: .failure) } == .rejected(code: nil, message: nil))
        #expect(judged(#"[1]"#) == .whole)
    }

    @Test("without a rule every JSON body is a success")
    func noRule() {
        #expect(judged(#"{"code":7}"#) { $0.success = nil } == .whole)
    }

    @Test(
        "V6: the first non-empty string among the message members, in their order",
        arguments: [
            (#"{"msg":"M","message":"A"}"#, "A"), (#"{"message":"","msg":"M","error":"E"}"#, "M"),
            (#"{"error":"E","reason":"R","detail":"D"}"#, "E"), (#"{"message":{"x":1},"detail":"D"}"#, "D"), (#"{"code":7}"#, nil),
            (#"{"message":7,"msg":null,"error":[],"reason":"\u4f59"}"#, "余"),
        ] as [(String, String?)])
    func messages(_ body: String, _ message: String?) {
        guard case .rejected(_, let found) = judged(body, never) else {
            Issue.record("not rejected")
            return
        }
        #expect(found == message)
    }

    @Test(
        "the integer of a code is its number, or nothing for a string",
        arguments: [("7", 7), (#""7""#, nil), ("1e400", nil)] as [(String, Int?)])
    func integers(_ code: String, _ integer: Int?) throws {
        let policy = try #require(envelope())
        let body = Array("{\"code\":\(code)}".utf8)
        let padded = body + [UInt8](repeating: 0, count: JSONScanner.padding)
        let judge = EnvelopeJudge(scanner: JSONScanner())
        let verdict = padded.withUnsafeBytes { judge.judge(UnsafeRawBufferPointer(rebasing: $0[..<body.count]), by: policy) }
        guard case .rejected(let failure) = verdict else {
            Issue.record("not rejected")
            return
        }
        #expect(failure.integerCode == integer)
    }

    @Test("what is no JSON is told apart", arguments: ["<html>", "{", #"{"code":0"#, "", #"{"code":0}x"#])
    func notJSON(_ body: String) {
        #expect(judged(body) == .notJSON)
    }
}
