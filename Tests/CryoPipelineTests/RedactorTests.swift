// Nothing secret is written: by name and by live value.
// Domain: cold

import Foundation
import Testing

@testable import CryoPipeline

private func redactor(_ token: String? = nil, _ change: (inout TokenSettings) -> Void = { _ in }) -> Redactor {
    let credentials = token.map { [store(ScriptedRefresher(), initial: NewCredential(token: Secret($0)), change)] } ?? []
    return Redactor(RedactionSettings(), credentials: credentials)
}

private func scrubbed(_ input: String, _ token: String) -> String {
    var bytes = Array(input.utf8)
    redactor(token).scrub(&bytes)
    return String(decoding: bytes, as: UTF8.self)
}

private func target(_ input: String) -> String? { text(Array(input.utf8).withUnsafeBytes { redactor().redactTarget($0) }) }

private func body(_ input: String) -> String? { text(Array(input.utf8).withUnsafeBytes { redactor().redactBody($0) }) }

@Suite("The redactor")
struct RedactorTests {
    @Test("a live secret is found wherever it stands, whatever the length of the text, and nothing like it is touched")
    func everyPlace() {
        let token = "token-of-18-bytes."
        for length in 0..<70 {
            for place in 0...length {
                let before = String(repeating: "t", count: place)
                let after = String(repeating: ".", count: length - place)
                #expect(scrubbed(before + token + after, token) == before + "***" + after)
            }
            let near = String(repeating: "token-of-18-bytes,", count: 1 + length / 18) + String(repeating: "t", count: length)
            #expect(scrubbed(near, token) == near)
        }
    }

    @Test("a live secret is found at every place of a long record, in every spelling, and every other place is left as it is")
    func everyPlaceOfALongRecord() {
        let token = "t0ken/of\"18+bytes"
        let searching = redactor(token)
        let record = Array(repeating: #"{"time":"2026-11-30T07:00:00.123456Z","target":"/t0ken/of","status":200,"x":"%22+\/"},"#, count: 12)
            .joined().utf8.prefix(1030)
        let spellings = Redactor.needles(of: [Secret(token)]).texts
        #expect(spellings.count >= 4)
        #expect(!Array(record).withUnsafeBytes { searching.holdsSecret($0) })
        for spelling in spellings {
            for place in 0...record.count {
                let before = Array(record.prefix(place))
                let after = Array(record.dropFirst(place))
                var bytes = before + spelling + after
                // Of every length too, so that the end of a search is where the secret ends.
                let isFound = (before + spelling).withUnsafeBytes { searching.holdsSecret($0) }
                let isCutFound = (before + spelling.dropLast()).withUnsafeBytes { searching.holdsSecret($0) }
                searching.scrub(&bytes)
                guard isFound, !isCutFound, bytes == before + Array("***".utf8) + after else {
                    Issue.record("at \(place): \(String(decoding: spelling, as: UTF8.self))")
                    return
                }
            }
        }
    }

    @Test("a live secret is found raw, percent-encoded, base64-encoded and JSON-escaped, as often as it occurs")
    func liveValues() {
        let token = "se/cr\"et+1"
        #expect(scrubbed("a \(token) b \(token)", token) == "a *** b ***")
        #expect(scrubbed("?t=se%2Fcr%22et%2B1&x", token) == "?t=***&x")
        #expect(scrubbed(#"{"t":"se/cr\"et+1"}"#, token) == #"{"t":"***"}"#)
        let base64 = Data(token.utf8).base64EncodedString()
        #expect(!scrubbed("Basic \(base64)", token).contains(base64.prefix(12)))
        let longer = Data((token + ":more").utf8).base64EncodedString()
        #expect(!scrubbed(longer, token).contains(base64.prefix(12)))
        #expect(scrubbed("nothing here", token) == "nothing here")
    }

    @Test("the beginning of a secret at the end of a cut body is masked, with the longest match")
    func cutSecrets() {
        func cut(_ input: String) -> String {
            var bytes = Array(input.utf8)
            redactor("secret-value").scrubCut(&bytes)
            return String(decoding: bytes, as: UTF8.self)
        }
        #expect(cut("x secret-valu") == "x ***" && cut("x secr") == "x ***" && cut("x sec") == "x sec" && cut("secret-value") == "***")
        #expect(cut("x secret-value secret") == "x *** ***" && cut("") == "" && cut("secr") == "***")
    }

    @Test("a secret at the bound is searched for, a shorter one would turn up by chance")
    func shortSecrets() {
        #expect(Redactor.needles(of: [Secret("12345")]).texts.isEmpty)
        #expect(scrubbed("x123456y", "123456") == "x***y")
        #expect(scrubbed("", "123456") == "")
    }

    @Test(
        "hidden query values are replaced, the rest of the target stays",
        arguments: [
            ("/p?token=abc&x=1", "/p?token=***&x=1"), ("/p?x=1&API_KEY=abc", "/p?x=1&API_KEY=***"), ("/p?token=", "/p?token=***"),
            ("/p?token", "/p?token"), ("/p?tokens=1", "/p?tokens=1"), ("/token=1", "/token=1"), ("/p?", "/p?"),
            ("/p?&&key=a=b&", "/p?&&key=***&"),
        ])
    func targets(_ input: String, _ expected: String) {
        #expect(target(input) == expected)
    }

    @Test(
        "hidden JSON members are replaced at any depth, also in broken JSON",
        arguments: [
            (#"{"password":"p","a":1}"#, #"{"password":"***","a":1}"#), (#"{"a":{"Token" : "t"}}"#, #"{"a":{"Token" : "***"}}"#),
            (#"[{"refresh_token":"a\"b"},2]"#, #"[{"refresh_token":"***"},2]"#), (#"{"token":12345,"b":2}"#, #"{"token":"***","b":2}"#),
            (#"{"token":{"secret":"x"}}"#, #"{"token":{"secret":"***"}}"#), (#"{"a":"token","b":"x"}"#, #"{"a":"token","b":"x"}"#),
            (#"{"token":"cut of"#, #"{"token":"***""#), (#"{"token":"#, #"{"token":"#),
            (#"{"a":b"c,"password":"x"}"#, #"{"a":b"c,"password":"***"}"#),
            (#"{"a":"\"token\":1","b":1}"#, #"{"a":"\"token\":1","b":1}"#), (#"{"token":null}"#, #"{"token":"***"}"#), ("", ""),
            ("{\"", "{\""),
        ])
    func bodies(_ input: String, _ expected: String) {
        #expect(body(input) == expected)
    }

    @Test("a form's hidden fields are replaced")
    func forms() {
        #expect(body("grant_type=x&client_secret=s&refresh_token=r") == "grant_type=x&client_secret=***&refresh_token=***")
        #expect(body("token=a&b=c") == "token=***&b=c")
    }

    @Test("header names are hidden without case, and so is the header a token is injected by")
    func headers() {
        func hides(_ redactor: Redactor, _ name: String) -> Bool { Array(name.utf8).withUnsafeBytes { redactor.hidesHeader($0) } }
        for name in ["Authorization", "COOKIE", "set-cookie", "X-Api-Key"] { #expect(hides(redactor(), name)) }
        #expect(!hides(redactor(), "Accept") && !hides(redactor(), ""))
        #expect(hides(redactor("token-one") { $0.inject.name = "X-Session" }, "x-session"))
    }
}

@Suite("Identifiers and times")
struct IdentifierTests {
    @Test("an exchange's id is a ULID: 26 characters, sorted by time")
    func ulid() {
        #expect(text(ExchangeID.make(unixMicroseconds: 0, randomHigh: 0, randomLow: 0)) == "00000000000000000000000000")
        #expect(
            text(ExchangeID.make(unixMicroseconds: 1_469_918_176_385_000, randomHigh: .max, randomLow: .max))
                == "01ARYZ6S41ZZZZZZZZZZZZZZZZ")
        let times: [Int64] = [0, 1_000, 32_000, 1_700_000_000_000_000, 1_700_000_000_001_000, 4_000_000_000_000_000]
        let ids = times.map { String(decoding: ExchangeID.make(unixMicroseconds: $0, randomHigh: 5, randomLow: 9), as: UTF8.self) }
        #expect(ids == ids.sorted() && Set(ids).count == ids.count)
        #expect(ExchangeID.make(unixMicroseconds: -1, randomHigh: 0, randomLow: 0).count == ExchangeID.bytesCount)
    }

    @Test("a client's request id is kept when it is short and plain")
    func acceptable() {
        func accepts(_ value: String) -> Bool { Array(value.utf8).withUnsafeBytes { ExchangeID.isAcceptable($0) } }
        #expect(accepts("a-B_9.:") && accepts(String(repeating: "x", count: 128)))
        #expect(!accepts("") && !accepts(String(repeating: "x", count: 129)) && !accepts("a b") && !accepts("a\"") && !accepts("é"))
    }

    @Test(
        "a time is written in RFC 3339 with microseconds",
        arguments: [
            (0, "1970-01-01T00:00:00.000000Z"), (1_709_251_199_999_999, "2024-02-29T23:59:59.999999Z"),
            (951_868_800_000_001, "2000-03-01T00:00:00.000001Z"), (4_107_542_400_000_000, "2100-03-01T00:00:00.000000Z"),
            (-5, "1970-01-01T00:00:00.000000Z"),
        ] as [(Int64, String)])
    func rfc3339(_ microseconds: Int64, _ expected: String) {
        #expect(text(RFC3339.text(unixMicroseconds: microseconds)) == expected)
    }
}
