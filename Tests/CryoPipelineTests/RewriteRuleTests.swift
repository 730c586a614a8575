// How an upstream's address in Location and Set-Cookie becomes the gateway's.
// Domain: cold

import Testing

@testable import CryoPipeline

private func rule(_ base: String, _ strip: String, isTLS: Bool = true, port: UInt16 = 443) -> RewriteRule {
    let url = UpstreamURL(isTLS: isTLS, host: "api.example.com", port: port, basePath: base)
    return RewriteRule(upstream: UpstreamPlan(UpstreamSettings(name: "api", url: url)), stripPrefix: Array(strip.utf8))
}

@Suite("The rewrite rule")
struct RewriteRuleTests {
    @Test(
        "a Location at the upstream becomes the gateway's, any other stays",
        arguments: [
            ("", "", "https://api.example.com/x?y#z", "http://g/x?y#z"), ("", "", "HTTPS://API.example.com:443/x", "http://g/x"),
            ("", "", "https://api.example.com", "http://g/"), ("", "", "https://api.example.com?q", "http://g/?q"),
            ("", "", "//api.example.com/x", "http://g/x"), ("", "", "/x", "/x"),
            ("/v1", "/api", "https://api.example.com/v1/x", "http://g/api/x"),
            ("/v1", "/api/", "https://api.example.com/v1", "http://g/api/"),
            ("/v1", "/api", "/v1?q", "/api/?q"), ("/v1", "", "/v1/x", "/x"), ("", "/api", "/x", "/api/x"),
            ("/v1", "/api", "/v11/x", nil), ("/v1", "/api", "/login", nil), ("/v1", "/api", "https://api.example.com/login", nil),
            ("", "", "http://api.example.com/x", nil), ("", "", "https://api.example.com:444/x", nil),
            ("", "", "https://api.example.com.evil.test/x", nil), ("", "", "https://api.example.com@evil.test/x", nil),
            ("", "", "https://evil.test/https://api.example.com/", nil), ("", "", "x/y", nil), ("", "", "?q", nil), ("", "", "", nil),
            ("", "", "//evil.test/x", nil), ("", "", "mailto:a@api.example.com", nil),
        ] as [(String, String, String, String?)])
    func location(_ base: String, _ strip: String, _ value: String, _ expected: String?) {
        #expect(text(rule(base, strip).location(Array(value.utf8), ownOrigin: Array("http://g".utf8))) == expected)
    }

    @Test("an upstream on another port is told by it")
    func port() {
        let rule = rule("", "", isTLS: false, port: 8000)
        func location(_ value: String) -> String? { text(rule.location(Array(value.utf8), ownOrigin: [])) }
        #expect(location("http://api.example.com:8000/x") == "/x" && location("http://api.example.com/x") == nil)
    }

    @Test(
        "a cookie loses Domain, follows the prefix, and loses Secure on a plain connection",
        arguments: [
            ("", "", "a=1; Domain=.example.com; Path=/; HttpOnly; Secure", "a=1; Path=/; HttpOnly"),
            ("", "", "a=\"x; y\";domain=b", "a=\"x; y\""), ("", "/api", "a=1; path=/", "a=1; Path=/api"),
            ("/v1", "/api", "a=1; Path=/v1/sub", "a=1; Path=/api/sub"), ("/v1", "/api", "a=1; Path=/v1/", "a=1; Path=/api"),
            ("/v1", "/api", "a=1; Path=/", "a=1; Path=/api"), ("/v1/x", "", "a=1; Path=/v1", "a=1; Path=/"),
            ("/v1", "/api", "a=1; Path=/v11", "a=1; Path=/v11"), ("/v1", "/api", "a=1; Path=/other", "a=1; Path=/other"),
            ("", "", "a=1; SameSite=None; Secure; Partitioned", "a=1"), ("", "", "a=1; SameSite=Lax; Secure", "a=1; SameSite=Lax"),
            ("", "", "__Secure-a=1; Secure; Domain=b", "__Secure-a=1; Secure"),
            ("", "/api", "__Host-a=1; Secure; Path=/", "__Host-a=1; Secure; Path=/"),
            ("", "", "a=1; Expires=Wed, 21 Oct 2026 07:28:00 GMT; Max-Age=1", "a=1; Expires=Wed, 21 Oct 2026 07:28:00 GMT; Max-Age=1"),
            ("", "", "", ""), ("", "", "a=1;; ;", "a=1; ; ; "), ("", "", "secure=1; secure", "secure=1"),
        ])
    func cookie(_ base: String, _ strip: String, _ value: String, _ expected: String) {
        #expect(text(rule(base, strip).cookie(Array(value.utf8), isSecure: false)) == expected)
    }

    @Test("on a secure connection Secure stays")
    func secure() {
        let value = "a=1; SameSite=None; Secure; Domain=b"
        #expect(text(rule("", "").cookie(Array(value.utf8), isSecure: true)) == "a=1; SameSite=None; Secure")
    }
}

@Suite("An address block")
struct AddressBlockTests {
    private func contains(_ block: String, _ peer: String) -> Bool? {
        AddressBlock(block).map { block in Array(peer.utf8).withUnsafeBytes { block.contains($0) } }
    }

    @Test(
        "it holds what its prefix says, in both families",
        arguments: [
            ("127.0.0.1", "127.0.0.1", true), ("127.0.0.1", "127.0.0.2", false), ("10.0.0.0/8", "10.255.0.1", true),
            ("10.1.2.3/8", "10.255.0.1", true), ("10.0.0.0/8", "11.0.0.1", false), ("0.0.0.0/0", "1.2.3.4", true),
            ("0.0.0.0/0", "::1", false), ("::/0", "::1", true), ("192.168.1.128/25", "192.168.1.127", false),
            ("192.168.1.128/25", "192.168.1.200", true), ("::1", "::1", true), ("::1", "0:0:0:0:0:0:0:1", true), ("::1", "::2", false),
            ("fd00::/8", "fdAB::1", true), ("fe80::/10", "fe80::1%eth0", true), ("10.0.0.0/8", "::ffff:10.1.1.1", true),
            ("2001:db8::/32", "2001:db9::", false), ("1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8", true), ("unix", "unix", true),
            ("unix", "127.0.0.1", false), ("0.0.0.0/0", "unix", false), ("127.0.0.1", "", false), ("::/0", "", false),
        ])
    func holds(_ block: String, _ peer: String, _ expected: Bool) {
        #expect(contains(block, peer) == expected)
    }

    @Test(
        "what is no block is refused",
        arguments: [
            "", "/", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/8/8", "::/129", "1.2.3", "1.2.3.4.5", "1.2.3.256", "01.2.3.4",
            "localhost", ":::", "1:::2", "::1::", ":1::2", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7:8:", "::12345", "::g",
            "::1.2.3", "1.2.3.4::", "[::1]", "1:2:3:4:5:6:7::8",
        ])
    func refused(_ block: String) {
        #expect(AddressBlock(block) == nil)
    }
}
