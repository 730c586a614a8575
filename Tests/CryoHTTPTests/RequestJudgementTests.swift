// What a request head means: framing, Host, persistence, expectation.
// Domain: cold

import CryoHTTP
import Testing

@Suite("Request framing and Host")
struct RequestJudgementTests {
    @Test(
        "a content-length is one plain decimal number",
        arguments: [
            ("0", 0), ("5", 5), ("0005", 5), ("010", 10), ("9223372036854775807", 9_223_372_036_854_775_807),
            ("9223372036854775808", nil), ("18446744073709551621", nil), ("+5", nil), ("-5", nil), ("5 5", nil), ("5, 5", nil),
            ("5, 6", nil),
            ("0x5", nil), ("5.0", nil), ("5_0", nil), ("", nil), ("5;", nil), ("five", nil), ("000000000000000000005", nil),
        ] as [(String, UInt64?)])
    func contentLength(value: String, length: UInt64?) {
        let input = request("Content-Length: \(value)\r\n")
        if let length {
            #expect(head(input)?.framing == .length(length))
        } else {
            #expect(outcome(input) == .refused(400))
        }
    }

    @Test(
        "every ambiguous way to tell the length is refused",
        arguments: [
            ("Content-Length: 5\r\nContent-Length: 5\r\n", 400), ("Content-Length: 5\r\nContent-Length: 6\r\n", 400),
            ("Content-Length: 5\r\nContent-Length:\r\n", 400), ("Content-Length: 0\r\nTransfer-Encoding: chunked\r\n", 400),
            ("Transfer-Encoding: chunked\r\nCONTENT-LENGTH: 4\r\n", 400), ("Transfer-Encoding : chunked\r\n", 400),
            ("Transfer-Encoding:\r\n chunked\r\n", 400), ("Transfer-Encoding: identity\r\n", 400),
            ("Transfer-Encoding: gzip, chunked\r\n", 501), ("Transfer-Encoding: chunked, gzip\r\n", 400),
            ("Transfer-Encoding: chunked, chunked\r\n", 400), ("Transfer-Encoding: xchunked\r\n", 400),
            ("Transfer-Encoding: ,chunked\r\n", 400), ("Transfer-Encoding: chunked,\r\n", 400), ("Transfer-Encoding:\r\n", 400),
            ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", 400), ("Transfer-Encoding: \u{A0}chunked\r\n", 400),
            ("Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n", 501),
            ("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", 400), ("Transfer-Encoding: chunk\r\n", 400),
            ("Transfer-Encoding: chunked;q=1\r\n", 400), ("Transfer-Encoding: \"chunked\"\r\n", 400),
        ] as [(String, UInt16)])
    func ambiguous(lines: String, status: UInt16) { #expect(outcome(request(lines)) == .refused(status)) }

    @Test(
        "one chunked coding is accepted in any case and with tabs around it", arguments: ["chunked", "Chunked", "\tchunked\t", "CHUNKED "])
    func chunked(value: String) { #expect(head(request("Transfer-Encoding:\(value)\r\n"))?.framing == .chunked) }

    @Test("a request without framing fields has no body")
    func noFraming() { #expect(head(request(""))?.framing == BodyFraming.none) }

    @Test("a transfer-encoding in HTTP/1.0 is refused, a content-length is not")
    func oldVersion() {
        #expect(outcome(request("Transfer-Encoding: chunked\r\n", version: "HTTP/1.0")) == .refused(400))
        #expect(head(request("Content-Length: 5\r\n", version: "HTTP/1.0"))?.framing == .length(5))
    }

    @Test(
        "Host must be there once in 1.1 and be a valid authority",
        arguments: [
            ("Host: a.test\r\n", true), ("hOsT:\ta.test:8080\r\n", true), ("Host: [::1]:80\r\n", true), ("Host: 127.0.0.1\r\n", true),
            ("Host: a.test:\r\n", true), ("", false), ("Host:\r\n", false), ("Host: a\r\nHost: a\r\n", false),
            ("Host: a\r\nHOST: b\r\n", false), ("Host: a/x\r\n", false), ("Host: a,b\r\n", false), ("Host: a b\r\n", false),
            ("Host: u@a\r\n", false), ("Host: a:99999\r\n", false), ("Host: a:0\r\n", false), ("Host: a:8x\r\n", false),
            ("Host: [::1\r\n", false), ("Host: [::1]x\r\n", false), ("Host: a%41\r\n", false), ("Host: \u{E9}\r\n", false),
            ("Host: a?x\r\n", false), ("Host: http://a\r\n", false),
        ])
    func host(line: String, isAllowed: Bool) {
        let input = "GET /t HTTP/1.1\r\n\(line)\r\n"
        #expect(outcome(input) == (isAllowed ? .head(consumed: input.utf8.count) : .refused(400)))
    }

    @Test("HTTP/1.0 may come without Host but not with two")
    func oldHost() {
        #expect(head("GET /t HTTP/1.0\r\n\r\n") != nil)
        #expect(outcome("GET /t HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n") == .refused(400))
    }

    @Test(
        "persistence follows the version, then Connection, where close wins",
        arguments: [
            ("HTTP/1.1", "", true), ("HTTP/1.1", "Connection: close\r\n", false), ("HTTP/1.1", "Connection: x, CLOSE\r\n", false),
            ("HTTP/1.1", "Connection: keep-alive\r\n", true), ("HTTP/1.1", "Connection: keep-alive\r\nConnection: close\r\n", false),
            ("HTTP/1.1", "Connection: closed\r\n", true), ("HTTP/1.0", "", false), ("HTTP/1.0", "Connection: Keep-Alive\r\n", true),
            ("HTTP/1.0", "Connection: keep-alive, close\r\n", false),
        ])
    func persistence(version: String, lines: String, keepsAlive: Bool) {
        #expect(head(request(lines, version: version))?.keepsAlive == keepsAlive)
    }

    @Test("64 connection options pass, 65 are refused")
    func connectionOptions() {
        let options = Array(repeating: "x", count: 64).joined(separator: ",")
        #expect(head(request("Connection: \(options)\r\n")) != nil)
        #expect(outcome(request("Connection: \(options),x\r\n")) == .refused(400))
    }

    @Test("100-continue counts in 1.1 with a body only; other expectations are refused in 1.1 and ignored in 1.0")
    func expectation() {
        let length = "Content-Length: 5\r\n"
        #expect(head(request(length + "Expect: 100-Continue\r\n"))?.expectsContinue == true)
        #expect(head(request("Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n"))?.expectsContinue == true)
        #expect(head(request("Expect: 100-continue\r\n"))?.expectsContinue == false)
        #expect(head(request("Content-Length: 0\r\nExpect: 100-continue\r\n"))?.expectsContinue == false)
        #expect(head(request(length + "Expect: 100-continue\r\n", version: "HTTP/1.0"))?.expectsContinue == false)
        #expect(outcome(request(length + "Expect: tea\r\n")) == .refused(417))
        #expect(outcome(request(length + "Expect: 100-continue, tea\r\n")) == .refused(417))
        #expect(head(request(length + "Expect: tea\r\n", version: "HTTP/1.0")) != nil)
    }
}
