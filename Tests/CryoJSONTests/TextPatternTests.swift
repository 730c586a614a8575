// Patterns of texts: what each sign takes, what is no pattern, and that nothing makes one slow.
// Domain: cold

import CryoJSON
import Testing

private func matches(_ pattern: String, _ text: String) -> Bool? {
    guard let pattern = TextPattern(pattern) else { return nil }
    return Array(text.utf8).withUnsafeBytes { pattern.matches($0) }
}

@Suite("A text pattern")
struct TextPatternTests {
    @Test(
        "takes the whole of a text",
        arguments: [
            ("OK", "OK"), ("*", ""), ("*", "anything"), ("OK*", "OK"), ("OK*", "OK: fine"), ("*OK", "not OK"), ("a*b*c", "a1b2b3c"),
            ("**", "x"), ("?", "x"), ("?", "余"), ("?", "😀"), ("a?c", "aéc"), ("余*", "余额不足"), ("[0-9][0-9]", "07"), ("[abc]", "b"),
            ("[!0-9]*", "x1"), ("[!a]", "好"), ("[]]", "]"), ("[a-]", "-"), ("[-a]", "-"), (#"\*"#, "*"), (#"[\]a]"#, "]"), (#"a\?"#, "a?"),
            ("", ""), ("*a*a*a", "xaxaxa"), ("50*", "50013"), ("[A-Z]_*", "E_AUTH"),
        ])
    func takes(_ pattern: String, _ text: String) { #expect(matches(pattern, text) == true) }

    @Test(
        "leaves what differs in one character",
        arguments: [
            ("OK", "ok"), ("OK", "OKAY"), ("OK", ""), ("?", ""), ("?", "ab"), ("?", "余额"), ("a?c", "ac"), ("*OK", "OK."), ("a*b", "a"),
            ("[0-9]", "x"), ("[!0-9]", "5"), ("[!a]", "好好"), (#"\*"#, "x"), ("", "x"), ("[!a]", ""),
        ])
    func leaves(_ pattern: String, _ text: String) { #expect(matches(pattern, text) == false) }

    @Test("is none when a class or an escape is unfinished", arguments: ["[", "[]", "[!]", "[a", "[z-a]", "[é]", "[a-é]", "\\", "[\\"])
    func refused(_ pattern: String) { #expect(matches(pattern, "") == nil) }

    @Test("holds as many items as it says, and not one more")
    func bound() {
        let most = String(repeating: "x", count: TextPattern.itemsMax)
        #expect(matches(most, most) == true && matches(most, most + "x") == false && matches(most + "*", most + "yz") == true)
        #expect(matches(most + "x", most) == nil)
        #expect(matches(String(repeating: "*", count: 1000) + "a", "bba") == true)
    }

    @Test("agrees with a matcher that tries everything")
    func reference() {
        var random: UInt64 = 0x9E37_79B9_7F4A_7C15
        func next(_ bound: Int) -> Int {
            random ^= random << 13
            random ^= random >> 7
            random ^= random << 17
            return Int(random % UInt64(bound))
        }
        for _ in 0..<4000 {
            let pattern = (0..<next(7)).map { _ in ["a", "b", "?", "*", "é"][next(5)] }
            let text = (0..<next(7)).map { _ in ["a", "b", "é"][next(3)] }
            #expect(matches(pattern.joined(), text.joined()) == naive(pattern[...], text[...]), "\(pattern) \(text)")
        }
    }

    private func naive(_ pattern: ArraySlice<String>, _ text: ArraySlice<String>) -> Bool {
        guard let first = pattern.first else { return text.isEmpty }
        if first == "*" { return naive(pattern.dropFirst(), text) || (!text.isEmpty && naive(pattern, text.dropFirst())) }
        guard let character = text.first, first == "?" || first == character else { return false }
        return naive(pattern.dropFirst(), text.dropFirst())
    }

    @Test("costs no more than reading the text, also where backtracking would take for ever")
    func linear() {
        let clock = ContinuousClock()
        let text = String(repeating: "a", count: 1 << 20)
        let plain = clock.measure { _ = matches("b*", "b" + text) }
        let cruel = clock.measure { #expect(matches(String(repeating: "a*", count: 30) + "b", text) == false) }
        // Trying everything would take longer than the universe is old.
        #expect(cruel < plain * 100 + .seconds(2))
    }
}
