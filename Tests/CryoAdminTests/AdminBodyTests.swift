// What the bodies of admin calls may be, and what is said of those that may not; nothing of them is repeated.
// Domain: cold

import CryoPipeline
import Testing

@testable import CryoAdmin

@Suite("Bodies of admin calls")
struct AdminBodyTests {
    private func judge(_ body: String, at path: [String] = []) -> String {
        do throws(BodyProblem) {
            let new = try AdminBody(Array(body.utf8)).credential(at: path, now: 1_000)
            let token = new.token.withBytes { String(decoding: $0, as: UTF8.self) }
            let refreshToken = new.refreshToken.map { $0.withBytes { String(decoding: $0, as: UTF8.self) } }
            return "\(token) \(refreshToken ?? "-") \(new.expiresAt.map(String.init) ?? "-")"
        } catch {
            return "! \(error.text)"
        }
    }

    @Test(
        "a login is a token, perhaps a refresh token, perhaps a life",
        arguments: [
            (#"{"token":"a"}"#, "a - -"), (#"{"token":"a","refresh_token":"r","expires_in":60}"#, "a r 1060"),
            (#"{"token":"a","refresh_token":null,"expires_in":null,"more":[1]}"#, "a - -"),
            (#"{"token":"a","expires_in":"60"}"#, "a - 1060"),
            (#"{"token":"a","expires_in":315360000}"#, "a - 315361000"),
        ])
    func good(_ body: String, _ expected: String) { #expect(judge(body) == expected) }

    @Test(
        "everything else is told without being repeated",
        arguments: [
            ("", "! token is missing"), ("{}", "! token is missing"), (#"{"token":null}"#, "! token is missing"),
            ("[]", "! the body is not a JSON object"), (#""secret-text""#, "! the body is not a JSON object"),
            (#"{"token":"secret"#, "! the body is not a JSON object"), (#"{"token":["secret"]}"#, "! token is no text"),
            (#"{"token":""}"#, "! token is empty"), (#"{"token":"a\r\nX: 1"}"#, "! token holds a control character"),
            (#"{"token":"a","refresh_token":"\u0000"}"#, "! refresh_token holds a control character"),
            (#"{"token":"a","expires_in":0}"#, "! expires_in is no number of seconds from 1 to ten years"),
            (#"{"token":"a","expires_in":315360001}"#, "! expires_in is no number of seconds from 1 to ten years"),
            (#"{"token":"a","expires_in":99999999999999999999}"#, "! expires_in is no number of seconds from 1 to ten years"),
            (#"{"token":"a","expires_in":{}}"#, "! expires_in is no number of seconds from 1 to ten years"),
        ])
    func bad(_ body: String, _ expected: String) { #expect(judge(body) == expected) }

    @Test("a login of several tokens has one of them at each name, whatever the name")
    func nested() {
        let body = #"{"tokens":{"a.b":{"token":"one"},"0":{"token":"two"}}}"#
        #expect(judge(body, at: ["tokens", "a.b"]) == "one - -" && judge(body, at: ["tokens", "0"]) == "two - -")
        #expect(judge(body, at: ["tokens", "c"]) == "! token is missing")
    }

    @Test("times are RFC 3339 without a fraction")
    func times() { #expect(AdminTime.text(unixSeconds: 1_796_022_000) == "2026-11-30T07:00:00Z") }
}
