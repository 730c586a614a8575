// Targets, authorities and routing paths.
// Domain: cold

import CryoHTTP
import Testing

private func form(_ target: String, _ method: String = "GET") -> TargetForm? {
    latin(target).withUnsafeBytes { target in latin(method).withUnsafeBytes { parseTarget(target, method: $0) } }
}

private func routed(_ path: String, _ rule: EncodedSlashRule = .refused) -> RoutingPath {
    latin(path).withUnsafeBytes { routingPath($0, encodedSlash: rule) }
}

@Suite("Targets and paths")
struct TargetTests {
    @Test("each form is told apart, with positions of its parts")
    func forms() {
        #expect(form("/a/b?c=d?e") == .origin(path: 0..<4, query: 5..<10))
        #expect(form("/a?") == .origin(path: 0..<2, query: 3..<3))
        #expect(form("//evil/a") == .origin(path: 0..<8, query: nil))
        #expect(form("http://h:80/p?q") == .absolute(scheme: 0..<4, authority: 7..<11, path: 11..<13, query: 14..<15))
        #expect(form("https://h") == .absolute(scheme: 0..<5, authority: 8..<9, path: 9..<9, query: nil))
        #expect(form("http://h?q") == .absolute(scheme: 0..<4, authority: 7..<8, path: 8..<8, query: 9..<10))
        #expect(form("*", "OPTIONS") == .asterisk)
        #expect(form("h:443", "CONNECT") == .authority)
    }

    @Test(
        "a target of no form, or of one its method does not allow, is refused",
        arguments: [
            ("", "GET"), ("*", "GET"), ("**", "OPTIONS"), ("a", "GET"), ("h:443", "GET"), ("/a", "CONNECT"), ("h", "CONNECT"),
            ("http://h/", "CONNECT"), ("http:/h/", "GET"), ("http://", "GET"), ("http:///a", "GET"), ("http://u@h/", "GET"),
            ("ws://h/", "GET"),
            ("httpsx://h/", "GET"), ("http://h:x/", "GET"), ("http://[::1/", "GET"), ("HTTP//h", "GET"),
        ])
    func refusedForms(target: String, method: String) { #expect(form(target, method) == nil) }

    @Test("the head tells its target's parts as positions in its own bytes")
    func headForm() throws {
        let parsed = try #require(head(request("", target: "http://a.test/p?q")))
        guard case .absolute(_, let authority, let path, let query?)? = parsed.targetForm else {
            Issue.record("not absolute")
            return
        }
        #expect([authority, path, query].map { text(Array(parsed.fields.bytes[$0])) } == ["a.test", "/p", "q"])
    }

    @Test(
        "an authority is a host and perhaps a port",
        arguments: [
            ("a.test", 6, nil), ("A-b_c~1:8080", 7, 8080), ("127.0.0.1:1", 9, 1), ("h:65535", 1, 65535), ("h:", 1, nil),
            ("[::1]:80", 5, 80),
            ("[::]", 4, nil), ("[1:2:3:4:5:6:7:8]", 17, nil), ("[fe80::1:2]", 11, nil), ("[::ffff:1.2.3.4]", 16, nil),
            ("[1:2:3:4:5:6:1.2.3.4]", 21, nil), ("[1::]", 5, nil), ("[1:2:3:4:5:6:7::]", 17, nil),
        ] as [(String, Int, UInt16?)])
    func authority(input: String, hostCount: Int, port: UInt16?) {
        let parsed = latin(input).withUnsafeBytes { parseAuthority($0) }
        #expect(parsed?.host == 0..<hostCount && parsed?.port == port)
    }

    @Test(
        "anything else is no authority",
        arguments: [
            "", ":80", "h:65536", "h:0", "h:000080", "h:+1", "h:1:2", "u@h", "h/", "h,b", "h%41", "h b", "::1", "[]", "[:]", "[:::]", "[1]",
            "[1:2:3:4:5:6:7:8:9]", "[1:2:3:4:5:6:7:8::]", "[1::2::3]", "[12345::]", "[::g]", "[1:]", "[:1]", "[1:2:3:4:5:6:7:]",
            "[::1.2.3]",
            "[::1.2.3.256]", "[::01.2.3.4]", "[fe80::1%25eth0]", "[v1.x]", "[::1]x", repeated("a", 254),
        ])
    func noAuthority(input: String) { #expect(latin(input).withUnsafeBytes { parseAuthority($0) } == nil) }

    @Test("authorities are compared without case, with the port")
    func sameAuthority() {
        func same(_ one: String, _ other: String) -> Bool {
            latin(one).withUnsafeBytes { one in latin(other).withUnsafeBytes { areSameAuthority(one, $0) } }
        }
        #expect(same("A.test:80", "a.TEST:80") && same("[::A]", "[::a]"))
        #expect(!same("a.test", "a.test:80") && !same("a", "b") && !same("a_b", "a\u{7F}b") && !same("", ""))
    }

    @Test(
        "a path without percent-encoding is matched as it is",
        arguments: ["/", "/a/b", "//a//", "/a.b/..c/...", "/.well-known/x", "/a;p=1/b"])
    func raw(path: String) { #expect(routed(path) == .raw) }

    @Test(
        "unreserved encodings are decoded for matching, others only put in upper case",
        arguments: [
            ("/%61dmin", "/admin"), ("/a%2Db", "/a-b"), ("/a%7eb", "/a~b"), ("/a%20b", "/a%20b"), ("/%e4%bd%a0", "/%E4%BD%A0"),
            ("/a%3bb", "/a%3Bb"), ("/a%3f%23", "/a%3F%23"), ("/a%252e%252e", "/a%252e%252e"), ("/a%2eb", "/a.b"), ("/%2e%2e%2e", "/..."),
            // What stays data after a second decoding passes.
            ("/a%25", "/a%25"), ("/..%25", "/..%25"), ("/..%252", "/..%252"), ("/a%252f..x", "/a%252f..x"),
            ("/100%25/..%25/a", "/100%25/..%25/a"),
            ("/a%25%32%65b", "/a%252eb"),
        ])
    func normalized(path: String, copy: String) { #expect(routed(path) == .normalized(latin(copy))) }

    @Test(
        "a path that a later server may read differently is refused",
        arguments: [
            "", "a", "/.", "/..", "/./a", "/a/../b", "/a/..", "/%2e", "/a/%2E%2e/b", "/a/.%2e", "/a/%2e./b", "/..;x/a", "/a/..;", "/.;/a",
            "/a/..%3bx/b", "/a%2fb", "/a%2Fb", "/%2e%2e%2fadmin", "/a\\b", "/..\\a", "/a%5cb", "/%2e%2e%5Ca", "/a%00b", "/a%0d%0a", "/a%1f",
            // Dots, slashes and backslashes that appear when somebody decodes a second time, however the encodings are cut.
            "/%252e%252e/a", "/%25%32%65%25%32%65/a", "/%252%65%252%65/a", "/a/..%255c..%255ca", "/..%252fa", "/a%255c..", "/%25%32e",
            "/a%7F", "/a%", "/a%2", "/a%zz", "/a%%41", "/a%g1", "/%c0%ae%c0%ae/x", "/a%c0%afb", "/a%C1%9Cb",
        ])
    func refusedPaths(path: String) {
        guard case .refused = routed(path) else {
            Issue.record("\(path) was allowed")
            return
        }
    }

    @Test("a kept encoded slash is data for matching but still bounds dot segments")
    func keptSlash() {
        #expect(routed("/a%2fb", .kept) == .normalized(latin("/a%2Fb")))
        #expect(routed("/a%2f..%2fb", .kept) == .refused("dot segment in the path"))
        #expect(routed("/%2e%2e%2fadmin", .kept) == .refused("dot segment in the path"))
    }
}
