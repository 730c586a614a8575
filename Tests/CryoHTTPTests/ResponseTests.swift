// Response heads from lines, response framing, the encoder and dates.
// Domain: cold

import CryoHTTP
import Testing

/// Feeds lines (CRLF is added) and tells each result by name; stops at the first malformed one.
private func assemble(_ input: [String], _ assembler: inout ResponseAssembler) -> [String] {
    var results: [String] = []
    for line in input {
        switch latin(line + "\r\n").withUnsafeBytes({ assembler.append($0) }) {
        case .more: results.append("more")
        case .informational(let status): results.append("interim \(status)")
        case .head: results.append("head")
        case .trailer: results.append("trailer")
        case .malformed: return results + ["malformed"]
        }
    }
    return results
}

private func last(_ input: [String], limits: HeadLimits = HeadLimits()) -> String? {
    var assembler = ResponseAssembler(limits: limits)
    return assemble(input, &assembler).last
}

@Suite("Responses")
struct ResponseTests {
    @Test("interim heads are told and dropped, the final head is handed over, trailers are dropped")
    func sequence() {
        var assembler = ResponseAssembler()
        let results = assemble(
            ["HTTP/1.1 103 Early Hints", "Link: </a>", "", "HTTP/1.1 200 OK", "Set-Cookie: a=1", "Set-Cookie: b=2, x", "", "X-T: 1", ""],
            &assembler)
        #expect(results == ["more", "more", "interim 103", "more", "more", "more", "head", "trailer", "more"])
        let head = assembler.takeHead()
        #expect(head.status == 200)
        #expect(lines(head.fields) == ["Set-Cookie: a=1", "Set-Cookie: b=2, x"])
        assembler.reset()
        #expect(assemble(["HTTP/2 204 ", ""], &assembler) == ["more", "head"])
        #expect(assembler.minorVersion == nil && assembler.takeHead().status == 204)
    }

    @Test(
        "a line that ends in LF alone is refused: a line feed in a value must not become a field",
        arguments: [
            ["HTTP/1.1 200 OK\n"], ["HTTP/1.1 200 OK\r\n", "X-A: b\n"], ["HTTP/1.1 200 OK\r\n", "\n"],
            ["HTTP/1.1 200 OK\r\n", "\r\n", "X-T: 1\n"],
        ])
    func lineFeed(_ lines: [String]) {
        var assembler = ResponseAssembler()
        for line in lines.dropLast() {
            if case .malformed = latin(line).withUnsafeBytes({ assembler.append($0) }) { Issue.record("\(line) was refused") }
        }
        guard case .malformed = latin(lines.last ?? "").withUnsafeBytes({ assembler.append($0) }) else {
            Issue.record("\(lines) was taken")
            return
        }
    }

    @Test(
        "a status line is a version, three digits and perhaps a reason",
        arguments: [
            ("HTTP/1.1 200 OK", true), ("HTTP/1.1 200 ", true), ("HTTP/1.1 200", true), ("HTTP/1.0 200 OK", true), ("HTTP/2 200 ", true),
            ("HTTP/3 200", true), ("HTTP/1.1 599 Odd", true), ("HTTP/1.1 100 Continue", true), ("HTTP/1.1 200 caf\u{E9}", true),
            ("HTTP/2.0 200 OK", false), ("HTTP/1.2 200 OK", false), ("HTTP/1.1 099 OK", false), ("HTTP/1.1 20 OK", false),
            ("HTTP/1.1 2000 OK", false), ("HTTP/1.1 2x0 OK", false), ("HTTP/1.1 000 OK", false), ("HTTP/1.1 600 OK", false),
            ("HTTP/1.1 999 OK", false), ("HTTP/1.1  200 OK", false), ("HTTP/1.1\t200 OK", false), ("http/1.1 200 OK", false),
            ("hello world, no status line", false), ("", false), ("HTTP/1.1", false), ("HTTP/1.1 200 O\u{0}K", false),
            ("ICY 200 OK", false),
        ])
    func statusLine(line: String, isAllowed: Bool) { #expect(last([line]) == (isAllowed ? "more" : "malformed")) }

    @Test(
        "a field line that is not clean makes the response malformed",
        arguments: [
            ("X-A: 1", true), ("X-A:", true), ("X-A: caf\u{E9}", true), ("X-A : 1", false), ("X-A: a\u{0}b", false),
            ("X-A: a\rX-B: b", false),
            (" folded", false), ("\tfolded", false), ("Foo", false), (": x", false), ("X(: 1", false), ("X-A: a\u{7F}", false),
        ])
    func fieldLine(line: String, isAllowed: Bool) {
        #expect(last(["HTTP/1.1 200 OK", "X: y", line]) == (isAllowed ? "more" : "malformed"))
        #expect(last(["HTTP/1.1 200 OK", "", line]) == (isAllowed ? "trailer" : "malformed"))
    }

    @Test(
        "framing fields that two readers could read differently make the response malformed",
        arguments: [
            (["Content-Length: 5"], true), (["Content-Length: 5", "content-length: 5"], true), (["Transfer-Encoding: Chunked"], true),
            (["Content-Length: 5", "Content-Length: 7"], false), (["Content-Length: abc"], false), (["Content-Length: -1"], false),
            (["Content-Length: 5x"], false), (["Content-Length: +5"], false), (["Content-Length:"], false),
            (["Content-Length: 5, 5"], false),
            (["Content-Length: 99999999999999999999"], false), (["Content-Length: 5", "Transfer-Encoding: chunked"], false),
            (["Transfer-Encoding: gzip"], false), (["Transfer-Encoding: chunked, chunked"], false),
            (["Transfer-Encoding: identity"], false),
            (["Transfer-Encoding: gzip, chunked"], false), (["Transfer-Encoding: chunked", "Transfer-Encoding:"], false),
        ])
    func framingFields(fields: [String], isAllowed: Bool) {
        #expect(last(["HTTP/1.1 200 OK"] + fields + [""]) == (isAllowed ? "head" : "malformed"))
    }

    @Test("a transfer-encoding is malformed in HTTP/1.0 and HTTP/2", arguments: ["HTTP/1.0 200 OK", "HTTP/2 200 "])
    func framingVersion(line: String) { #expect(last([line, "Transfer-Encoding: chunked", ""]) == "malformed") }

    @Test("of equal content-length lines one is left")
    func collapsed() {
        var assembler = ResponseAssembler()
        _ = assemble(["HTTP/1.1 200 OK", "Content-Length: 5", "Content-Length: 05", ""], &assembler)
        #expect(lines(assembler.takeHead().fields) == ["Content-Length: 5"])
    }

    @Test("each limit holds at the bound and is malformed one above")
    func limits() {
        let limits = HeadLimits(fieldBytesMax: 20, headBytesMax: 80, fieldsMax: 3)
        let status = "HTTP/1.1 200 OK"
        #expect(last([status, "X: " + repeated("v", 17)], limits: limits) == "more")
        #expect(last([status, "X: " + repeated("v", 18)], limits: limits) == "malformed")
        #expect(last([status, "X: 1", "X: 1", "X: 1", ""], limits: limits) == "head")
        #expect(last([status, "X: 1", "X: 1", "X: 1", "X: 1"], limits: limits) == "malformed")
        let long = "X: " + repeated("v", 17)
        #expect(last([status, long, long, "X: " + repeated("v", 12), ""], limits: limits) == "head")
        #expect(last([status, long, long, "X: " + repeated("v", 13), ""], limits: limits) == "malformed")
        let interim = ["HTTP/1.1 103 Early Hints", ""]
        let max = ResponseAssembler.informationalMax
        #expect(last(Array(repeating: interim, count: max).flatMap { $0 } + [status, ""]) == "head")
        #expect(last(Array(repeating: interim, count: max + 1).flatMap { $0 }) == "malformed")
        let trailers = Array(repeating: "X: 1", count: ChunkedDecoder.trailerLinesMax)
        #expect(last([status, ""] + trailers) == "trailer")
        #expect(last([status, ""] + trailers + ["X: 1"]) == "malformed")
    }

    @Test("an unasked 101 ends the head, and a second status line after a head is malformed")
    func switching() {
        #expect(last(["HTTP/1.1 101 Switching Protocols", "Upgrade: foo", ""]) == "head")
        #expect(last(["HTTP/1.1 200 OK", "", "HTTP/1.1 200 OK"]) == "malformed")
    }

    @Test("responses are delimited by status and method first, then by their fields")
    func framing() {
        let chunked = section([("Transfer-Encoding", "chunked")])
        let length = section([("Content-Length", "5")])
        for status: UInt16 in [101, 204, 304] {
            #expect(responseFraming(status: status, requestIsHead: false, fields: chunked) == BodyFraming.none)
        }
        #expect(responseFraming(status: 200, requestIsHead: true, fields: length) == BodyFraming.none)
        #expect(responseFraming(status: 200, requestIsHead: false, fields: chunked) == .chunked)
        #expect(responseFraming(status: 205, requestIsHead: false, fields: length) == .length(5))
        #expect(responseFraming(status: 200, requestIsHead: false, fields: FieldSection()) == .untilClose)
        #expect(responseFraming(status: 200, requestIsHead: false, fields: section([("Content-Length", "x")])) == nil)
    }

    @Test(
        "a reader tells the framing that the fields of its head tell",
        arguments: [
            "", "Content-Length: 0", "Content-Length: 5", "content-length: 5\r\nContent-Length: 5", "Transfer-Encoding: chunked",
            "Transfer-Encoding: CHUNKED", "X: y",
        ])
    func framingRead(_ fields: String) throws {
        let lines = fields.isEmpty ? "" : fields + "\r\n"
        for status in [200, 201, 204, 206, 304, 404, 101] {
            for isHead in [false, true] {
                // One reader for two heads: what is left of the first must not tell of the second.
                var reader = ResponseHeadReader(limits: .response)
                for head in ["HTTP/1.1 200 OK\r\nContent-Length: 77\r\n\r\n", "HTTP/1.1 \(status) X\r\n\(lines)\r\n"] {
                    var used = 0
                    let result = Array(head.utf8).withUnsafeBytes { reader.read($0, used: &used) }
                    guard case .head(let head, _, let framing) = result else { throw Unread() }
                    let told = responseFraming(status: head.status, requestIsHead: isHead, fields: head.fields)
                    #expect((isHead ? BodyFraming.none : framing) == told)
                    reader.reset()
                }
            }
        }
    }

    private struct Unread: Error {}

    @Test("a head is written as status line, fields in order and an empty line")
    func encoded() {
        var fields = section([("X-A", "1"), ("X-B", "2"), ("Set-Cookie", "a")])
        fields.remove("x-b")
        var wire: [UInt8] = []
        wire.appendHead(bytesMax: fields.wireBytesMax + HeadWriter.ownBytes) { head in
            head.appendStatusLine(200)
            head.appendFields(fields)
            head.appendField("Content-Length", 1_488_324)
            head.appendField("Connection", "close")
            head.appendDateField(unixSeconds: 784_111_777)
            head.appendLineEnd()
        }
        let expected =
            "HTTP/1.1 200 OK\r\nX-A: 1\r\nSet-Cookie: a\r\nContent-Length: 1488324\r\nConnection: close\r\n"
            + "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n\r\n"
        #expect(text(wire) == expected)
        wire.removeAll()
        wire.appendHead(bytesMax: HeadWriter.ownBytes) { $0.appendStatusLine(599) }
        #expect(text(wire) == "HTTP/1.1 599 \r\n")
    }

    @Test(
        "dates are written and read to the second",
        arguments: [
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"), (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
            (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"), (1_709_251_199, "Thu, 29 Feb 2024 23:59:59 GMT"),
            (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"), (253_402_300_799, "Fri, 31 Dec 9999 23:59:59 GMT"),
        ] as [(Int64, String)])
    func dates(seconds: Int64, written: String) {
        var buffer: [UInt8] = []
        HTTPDate.append(unixSeconds: seconds, to: &buffer)
        #expect(text(buffer) == written)
        #expect(buffer.withUnsafeBytes { HTTPDate.parse($0) } == seconds)
    }

    @Test(
        "what is not an IMF-fixdate of a real day is not read",
        arguments: [
            "", "0", "Sun, 06 Nov 1994 08:49:37 UTC", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
            "Sun, 6 Nov 1994 08:49:37 GMT",
            "Sun, 31 Feb 2000 08:49:37 GMT", "Wed, 29 Feb 2023 00:00:00 GMT", "Sun, 00 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 24:49:37 GMT",
            "Sun, 06 Nov 1994 08:60:37 GMT", "Sun, 06 Nov 1994 08:49:61 GMT", "Sun, 06 nov 1994 08:49:37 GMT",
            "Sun, +6 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 0000 08:49:37 GMT", "Xxx, 06 Nov 1994 08:49:37 GMT",
        ])
    func noDates(input: String) { #expect(latin(input).withUnsafeBytes { HTTPDate.parse($0) } == nil) }

    @Test("every day of four centuries survives writing and reading")
    func everyDay() {
        var buffer: [UInt8] = []
        for day in stride(from: Int64(0), to: 146_097, by: 13) {
            buffer.removeAll(keepingCapacity: true)
            HTTPDate.append(unixSeconds: day * 86400 + 3661, to: &buffer)
            #expect(buffer.count == HTTPDate.bytesCount && buffer.withUnsafeBytes { HTTPDate.parse($0) } == day * 86400 + 3661)
        }
    }
}
