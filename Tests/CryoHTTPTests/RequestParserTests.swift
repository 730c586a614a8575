// The request parser: request lines, field lines, limits, splits.
// Domain: cold

import CryoHTTP
import Testing

@Suite("Request parser")
struct RequestParserTests {
    @Test("a plain request yields method, target, fields and the position after it")
    func plain() throws {
        let input = "GET /t?q=1 HTTP/1.1\r\nHost: a.test\r\nX-A:\t v \t\r\nX-Empty:\r\n\r\n"
        guard case .head(let head, let consumed) = parse(input + "NEXT") else {
            Issue.record("no head")
            return
        }
        #expect(consumed == input.utf8.count)
        #expect(head.isMethod("GET"))
        #expect(text(Array(head.fields.bytes[head.target])) == "/t?q=1")
        #expect(head.minorVersion == 1 && head.framing == .none && head.keepsAlive && !head.expectsContinue)
        #expect(lines(head.fields) == ["Host: a.test", "X-A: v", "X-Empty: "])
        #expect(Array(head.fields.bytes) == latin(input))
    }

    @Test(
        "a request line that is not exactly method, target and version is refused",
        arguments: [
            ("GET /t HTTP/1.1", nil), ("get /t HTTP/1.1", nil), ("BREW /t HTTP/1.1", nil), ("M!#$%&'*+-.^_`|~9 /t HTTP/1.1", nil),
            ("GET /t HTTP/1.0", nil), ("GET /t?#", 400), ("G(T /t HTTP/1.1", 400), ("GET  /t HTTP/1.1", 400), ("GET /t  HTTP/1.1", 400),
            (" GET /t HTTP/1.1", 400), ("GET\t/t HTTP/1.1", 400), ("GET /t HTTP/1.1 ", 400), ("GET /t", 400), ("GET", 400), ("GET ", 400),
            ("GET /t HTTP/1.2", 505), ("GET /t HTTP/2.0", 505), ("GET /t HTTP/0.9", 505), ("PRI * HTTP/2.0", 505),
            ("GET /t HTTP/1.10", 400), ("GET /t HTTP/1", 400), ("GET /t http/1.1", 400), ("GET /t HTTP/ 1.1", 400),
            ("GET /t HTTP/1.1.1", 400), ("GET /t XTTP/1.1", 400), ("GET /t HTTP/1,1", 400), ("GET /t HTTP/a.1", 400),
            ("GET /t\u{1}a HTTP/1.1", 400), ("GET /t\u{7F}a HTTP/1.1", 400), ("GET /t/\u{C3}\u{A9} HTTP/1.1", 400),
            ("GET /t#f HTTP/1.1", 400), ("GET /t?a|\"<>^`{}[] HTTP/1.1", nil), ("GET api/t HTTP/1.1", 400), ("GET ?q HTTP/1.1", 400),
            ("GET * HTTP/1.1", 400), ("OPTIONS * HTTP/1.1", nil), ("GET http:///t HTTP/1.1", 400),
            ("GET http://u:p@a.test/t HTTP/1.1", 400),
            ("GET http://a.test/t HTTP/1.1", nil), ("GET HTTPS://A.TEST?q HTTP/1.1", nil), ("GET http://b.test/t HTTP/1.1", 400),
            ("GET http://a.test:81/t HTTP/1.1", 400), ("GET ftp://a.test/t HTTP/1.1", 400), ("CONNECT a.test HTTP/1.1", 400),
            ("CONNECT /t HTTP/1.1", 400), ("CONNECT a.test:1 HTTP/1.1", 400), ("PROXY TCP4 10.0.0.1 10.0.0.2 1 2", 400),
            ("\u{16}\u{3}\u{1}", 400), ("\u{5}\u{1}\u{0}", 400), ("GET /t\rX HTTP/1.1", 400),
        ] as [(String, UInt16?)])
    func requestLine(line: String, status: UInt16?) {
        let input = line + "\r\nHost: a.test\r\n\r\n"
        #expect(outcome(input) == status.map { .refused($0) } ?? .head(consumed: input.unicodeScalars.count))
    }

    @Test(
        "a field line that is not name, colon and clean value is refused",
        arguments: [
            ("X-A: 1", true), ("X_A: 1", true), ("X-A:1", true), ("X-A: a b\tc", true), ("X-A: caf\u{C3}\u{A9}", true),
            ("X-A: \"a,b\"; c=\"d:e\"", true), ("X-A : 1", false), ("X-A\t: 1", false), (" X-A: 1", false), ("\tX-A: 1", false),
            (": x", false), ("Foo", false), ("X(A: 1", false), ("X/A: 1", false), ("X,A: 1", false), ("X;A: 1", false), ("X{A: 1", false),
            ("X\u{E9}: 1", false), ("Bad Name: x", false), ("X-A: a\rb", false), ("X-A: 1\r", false), ("X-A: a\u{0}b", false),
            ("X-A: a\u{7F}b", false), ("X-A: a\u{1B}b", false), ("X-A: 1\nX-B: 2", false), ("X-A: 1\r\n 2", false), ("X-A: 1\r\n\t", false),
            ("X: y\r\n\rTransfer-Encoding: chunked", false), ("Content_Length: 5", false), ("Transfer_Encoding: chunked", false),
        ])
    func fieldLine(line: String, isAllowed: Bool) {
        let input = request(line + "\r\n")
        #expect(outcome(input) == (isAllowed ? .head(consumed: input.unicodeScalars.count) : .refused(400)))
    }

    @Test(
        "bytes that can never become a request are refused without waiting for a line end",
        arguments: ["\u{16}\u{3}\u{1}", "\u{5}", " ", "\t", "GET /t\n", "GET /t\rX", "GET /t\u{0}", "GET / HTTP/1.1\r\nA: b\r\n "])
    func early(input: String) { #expect(outcome(input) == .refused(400)) }

    @Test(
        "lines that end in LF alone are refused", arguments: ["GET /t HTTP/1.1\nHost: a.test\n\n", "GET /t HTTP/1.1\r\nHost: a.test\r\n\n"])
    func lineFeed(input: String) { #expect(outcome(input) == .refused(400)) }

    @Test("four empty lines before a request are skipped and counted, a fifth is refused")
    func emptyLines() {
        let input = request("")
        #expect(outcome(repeated("\r\n", 4) + input) == .head(consumed: 8 + input.utf8.count))
        #expect(outcome(repeated("\r\n", 5) + input) == .refused(400))
        #expect(text(head("\r\n" + request("X-A: 1\r\n"))?.fields.value(of: "x-a")) == "1")
    }

    @Test("a request split at any byte parses to the same head")
    func everySplit() {
        let input = latin("\r\nPOST /t HTTP/1.1\r\nHost: a.test\r\nX-Longish-Name: and value\r\nContent-Length: 5\r\n\r\nhello")
        let length = input.count - 5
        for split in 0...input.count {
            var parser = RequestParser(limits: HeadLimits())
            let first = Array(input[..<split]).withUnsafeBytes { outcome(parser.parse($0)) }
            #expect(first == (split < length ? .needsMore : .head(consumed: length)), "split at \(split)")
            if split < length { #expect(input.withUnsafeBytes { outcome(parser.parse($0)) } == .head(consumed: length)) }
        }
    }

    @Test("a request that arrives byte by byte parses once, and the parser is ready for the next")
    func byteByByte() {
        let input = latin(request("X-A: 1\r\n"))
        var parser = RequestParser(limits: HeadLimits())
        for _ in 0..<2 {
            #expect(parser.isAtStart)
            for count in 1..<input.count {
                #expect(input.withUnsafeBytes { outcome(parser.parse(UnsafeRawBufferPointer(rebasing: $0[..<count]))) } == .needsMore)
                #expect(!parser.isAtStart)
            }
            #expect(input.withUnsafeBytes { outcome(parser.parse($0)) } == .head(consumed: input.count))
        }
    }

    @Test("a refused request split at any byte is refused with the same status in the end")
    func refusedAtEverySplit() {
        for text in ["GET /t HTTP/1.1\r\nHost: a\r\nX : 1\r\n\r\n", "GET /t HTTP/3.0\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\n b\r\n\r\n"] {
            let input = latin(text)
            let expected = outcome(text)
            for split in 0..<input.count {
                var parser = RequestParser(limits: HeadLimits())
                _ = Array(input[..<split]).withUnsafeBytes { parser.parse($0) }
                #expect(input.withUnsafeBytes { outcome(parser.parse($0)) } == expected)
            }
        }
    }

    @Test("each limit holds at the bound and refuses one more, whole or still arriving")
    func limits() {
        let limits = HeadLimits(targetBytesMax: 40, fieldBytesMax: 50, headBytesMax: 200, fieldsMax: 4)
        func target(_ count: Int) -> String { request("", target: "/" + repeated("a", count - 1)) }
        #expect(outcome(target(40), limits: limits) == .head(consumed: target(40).utf8.count))
        #expect(outcome(target(41), limits: limits) == .refused(414))
        #expect(outcome("GET /" + repeated("a", 60), limits: limits) == .refused(414))
        func field(_ count: Int) -> String { request("X: " + repeated("v", count - 3) + "\r\n") }
        #expect(outcome(field(50), limits: limits) == .head(consumed: field(50).utf8.count))
        #expect(outcome(field(51), limits: limits) == .refused(431))
        #expect(outcome(String(field(80).dropLast(6)), limits: limits) == .refused(431))
        #expect(outcome(request(repeated("A: b\r\n", 3)), limits: limits) == .head(consumed: 52))
        #expect(outcome(request(repeated("A: b\r\n", 4)), limits: limits) == .refused(431))
        let base = request(repeated("X: " + repeated("v", 40) + "\r\n", 3)).utf8.count
        func sized(_ count: Int) -> String {
            request(repeated("X: " + repeated("v", 40) + "\r\n", 2) + "X: " + repeated("v", 40 + count - base) + "\r\n")
        }
        #expect(base <= 200 && sized(200).utf8.count == 200)
        let wide = HeadLimits(targetBytesMax: 40, fieldBytesMax: 90, headBytesMax: 200, fieldsMax: 4)
        #expect(outcome(sized(200), limits: wide) == .head(consumed: 200))
        #expect(outcome(sized(201), limits: wide) == .refused(431))
        #expect(outcome(request("", method: repeated("M", 32))) != .refused(501))
        #expect(outcome(request("", method: repeated("M", 33))) == .refused(501))
        #expect(outcome(repeated("M", 40)) == .refused(501))
    }

    @Test("the default limits accept an 8,000-byte target and refuse a megabyte without a line end")
    func defaults() {
        let long = request("", target: "/t?q=" + repeated("a", 8000))
        #expect(outcome(long) == .head(consumed: long.utf8.count))
        #expect(outcome("GET /" + repeated("a", 1 << 20)) == .refused(414))
        #expect(outcome("GET / HTTP/1.1\r\nX-A: " + repeated("a", 1 << 20)) == .refused(431))
        #expect(outcome(request(repeated("X-A: 1\r\n", 127))) != .refused(431))
        #expect(outcome(request(repeated("X-A: 1\r\n", 128))) == .refused(431))
    }

    @Test(
        "what is wrong first is told, whole or byte by byte",
        arguments: [
            ("GET / HTTP/1.1\r\nA: \(repeated("b", 60))\u{0}\r\n\r\n", 431),
            ("GET / HTTP/1.1\r\nA: b\u{0}\(repeated("b", 60))\r\n\r\n", 400),
            ("GET /\(repeated("b", 60))\u{0} HTTP/1.1\r\n\r\n", 414), ("GET / HTTP/1.1\(repeated("b", 60))\r\n\r\n", 414),
            ("GE\u{80}\(repeated("b", 60)) / HTTP/1.1\r\n\r\n", 501), ("GE\u{80} /\(repeated("b", 60)) HTTP/1.1\r\n\r\n", 414),
        ] as [(String, UInt16)])
    func firstFault(_ input: String, _ status: UInt16) {
        let limits = HeadLimits(targetBytesMax: 32, fieldBytesMax: 48, headBytesMax: 160, fieldsMax: 4)
        #expect(outcome(input, limits: limits) == .refused(status))
        var parser = RequestParser(limits: limits)
        let bytes = latin(input)
        var got = Parsed.needsMore
        for count in 1...bytes.count where got == .needsMore {
            got = bytes.withUnsafeBytes { outcome(parser.parse(UnsafeRawBufferPointer(rebasing: $0[..<count]))) }
        }
        #expect(got == .refused(status))
    }
}
