// Step read: requests cut out of bytes, in every way they may arrive.
// Domain: shared

import CryoSync
import Testing

@testable import CryoServer

@Suite struct RequestTests {
    @Test("a connection stays open for the next request")
    func keepAlive() throws {
        let fixture = try Fixture()
        let client = try fixture.client()
        for number in 0..<5 {
            client.send(get("/echo/\(number)"))
            let reply = client.reply()
            #expect(reply.head.hasPrefix("HTTP/1.1 200 OK\r\n"))
            #expect(reply.head.contains("\r\nDate: "))
            #expect(!reply.head.contains("Connection"))
            #expect(reply.body == "GET /echo/\(number) ")
        }
        #expect(fixture.server.statistics == ServerStatistics(openConnections: 1, busyExchanges: 0))
    }

    @Test("pipelined requests are answered in order, also when answers come late", arguments: ["echo", "later"])
    func pipelining(_ play: String) throws {
        let fixture = try Fixture()
        let client = try fixture.client()
        client.send((0..<100).map { $0 % 3 == 0 ? post("/\(play)/\($0)", "b\($0)") : get("/\(play)/\($0)") }.joined())
        for number in 0..<100 {
            let expected = number % 3 == 0 ? "POST /\(play)/\(number) b\(number)" : "GET /\(play)/\(number) "
            #expect(client.reply().body == expected)
        }
    }

    @Test("a request may be split at every byte")
    func split() throws {
        let fixture = try Fixture()
        let request = Array(
            (post("/echo/a", "hello") + "POST /echo/b HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n").utf8)
        let client = try fixture.client()
        for position in 1..<request.count {
            client.send(Array(request[..<position]))
            fixture.settle()
            client.send(Array(request[position...]))
            #expect(client.reply().body == "POST /echo/a hello")
            #expect(client.reply().body == "POST /echo/b abc")
        }
    }

    @Test("a chunked body is decoded and its trailers are dropped")
    func chunkedRequest() throws {
        let fixture = try Fixture()
        let client = try fixture.client()
        client.send(
            "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nX-T: 1\r\n\r\n"
                + get("/echo/next"))
        #expect(client.reply().body == "POST /echo abcde")
        #expect(client.reply().body == "GET /echo/next ")
    }

    @Test("a large body comes through whole")
    func largeBody() throws {
        let fixture = try Fixture()
        let client = try fixture.client()
        client.send("POST /count HTTP/1.1\r\nHost: a\r\nContent-Length: 5000000\r\n\r\n")
        client.send([UInt8](repeating: 0x61, count: 5_000_000))
        #expect(client.reply().body == "5000000")
    }

    @Test(
        "malformed requests get their status and a closed connection",
        arguments: [
            ("GET / HTTP/1.1\r\n\r\n", 400), ("GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505), (" GET / HTTP/1.1\r\n\r\n", 400),
            ("GET /LONG HTTP/1.1\r\n\r\n", 414), ("GET / HTTP/1.1\r\nHost: a\r\nX: LONG\r\n\r\n", 431),
            ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n20\r\nGET /SMUGGLED", 400),
        ])
    func malformed(_ request: String, _ status: Int) throws {
        let fixture = try Fixture()
        let client = try fixture.client()
        let parts = request.split(separator: "LONG", omittingEmptySubsequences: false)
        client.send(parts.joined(separator: String(repeating: "a", count: 17_000)))
        let all = client.receiveAll()
        #expect(all.hasPrefix("HTTP/1.1 \(status) "))
        #expect(all.contains("Connection: close"))
        #expect(client.hasEnded)
        #expect(!fixture.diary.entries.contains { $0.hasPrefix("begin") })
    }

    @Test("a broken chunked body is refused and closes the connection")
    func brokenChunks() throws {
        let fixture = try Fixture()
        let client = try fixture.client()
        client.send("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcX")
        #expect(client.receiveAll().hasPrefix("HTTP/1.1 400 "))
        #expect(client.hasEnded)
    }

    @Test("one 100 Continue goes out when the consumer wants the body, and none when the body is there already")
    func expectation() throws {
        let fixture = try Fixture()
        let client = try fixture.client()
        let head = "PUT /continued HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n"
        client.send(head)
        #expect(client.receive(until: "\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n")
        client.send("abcd")
        #expect(client.reply().body == "PUT /continued abcd")
        client.send(head + "efgh")
        let reply = client.reply()
        #expect(reply.head.hasPrefix("HTTP/1.1 200 OK"))
        #expect(reply.body == "PUT /continued efgh")
    }

    @Test("a final answer instead of 100 Continue closes the connection, unless the body is there")
    func refusedExpectation() throws {
        let fixture = try Fixture()
        let head = "PUT /early HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n"
        let client = try fixture.client()
        client.send(head)
        let all = client.receiveAll()
        #expect(all.hasPrefix("HTTP/1.1 404 ") && all.contains("Connection: close"))
        let other = try fixture.client()
        other.send(head + "abcd" + get("/echo"))
        #expect(!other.reply().head.contains("Connection"))
        #expect(other.reply().body == "GET /echo ")
    }

    @Test("an early answer reaches a client that is still uploading")
    func earlyAnswer() throws {
        let fixture = try Fixture()
        let client = try fixture.client()
        client.send("POST /early HTTP/1.1\r\nHost: a\r\nContent-Length: 20000000\r\n\r\n")
        client.send([UInt8](repeating: 0x61, count: 100_000))
        let all = client.receiveAll()
        #expect(all.hasPrefix("HTTP/1.1 404 ") && all.hasSuffix("early"))
        #expect(client.hasEnded)
    }

    @Test("after an early answer the small rest of a body is skipped and the connection kept")
    func skippedBody() throws {
        let fixture = try Fixture()
        let client = try fixture.client()
        client.send("POST /early HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nabc")
        #expect(client.reply().body == "early")
        client.send("def" + get("/echo"))
        #expect(client.reply().body == "GET /echo ")
    }

    @Test("a client that pauses the consumer's reading is read again after it resumes")
    func pausedBody() throws {
        let fixture = try Fixture()
        let client = try fixture.client()
        client.send("POST /paused HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nabc")
        #expect(fixture.diary.waits(for: "body paused"))
        client.send("def")
        fixture.settle()
        fixture.settle()
        #expect(fixture.diary.sent == 3)
        for resume in fixture.acceptor.resumes.withLock({ $0 }) { resume() }
        #expect(client.reply().body == "6")
    }
}
