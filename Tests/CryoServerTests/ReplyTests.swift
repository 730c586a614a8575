// Step reply: what goes on the wire, and what happens when the client does not take it.
// Domain: shared

import CryoIO
import CryoPipeline
import Testing

@testable import CryoServer

@Suite struct ReplyTests {
    @Test("a chunked reply ends with the last chunk")
    func chunked() throws {
        let fixture = try Fixture()
        let client = try fixture.client()
        client.send(get("/chunked"))
        let head = client.receive(until: "\r\n\r\n")
        #expect(head.contains("Transfer-Encoding: chunked\r\n") && !head.contains("Content-Length"))
        #expect(client.receive(until: "0\r\n\r\n") == "3\r\none\r\n3\r\ntwo\r\n5\r\nthree\r\n0\r\n\r\n")
        client.send(get("/echo"))
        #expect(client.reply().body == "GET /echo ")
    }

    @Test("a body of unknown length is chunked for 1.1 and ends with the connection for 1.0")
    func unframed() throws {
        let fixture = try Fixture()
        let client = try fixture.client()
        client.send(get("/unframed"))
        #expect(client.receive(until: "0\r\n\r\n").hasSuffix("5\r\nthree\r\n0\r\n\r\n"))
        for play in ["unframed", "chunked"] {
            let old = try fixture.client()
            old.send("GET /\(play) HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
            let all = old.receiveAll()
            #expect(all.contains("Connection: close\r\n") && !all.contains("Transfer-Encoding"))
            #expect(all.hasSuffix("\r\n\r\nonetwothree"))
            #expect(old.hasEnded)
        }
    }

    @Test("an HTTP/1.0 client keeps its connection when it asks and loses it when it does not")
    func version10() throws {
        let fixture = try Fixture()
        let client = try fixture.client()
        client.send("GET /echo HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        #expect(client.reply().head.contains("Connection: keep-alive\r\n"))
        client.send("GET /echo HTTP/1.0\r\n\r\n")
        #expect(client.reply().head.contains("Connection: close\r\n"))
        #expect(client.receive().isEmpty && client.hasEnded)
    }

    @Test("Connection: close is answered and done")
    func close() throws {
        let fixture = try Fixture()
        let client = try fixture.client()
        client.send(get("/echo", "Connection: close\r\n") + get("/echo/second"))
        let all = client.receiveAll()
        #expect(all.contains("Connection: close\r\n") && all.hasSuffix("GET /echo "))
        #expect(client.hasEnded)
    }

    @Test("HEAD carries the length and no body; 204 carries neither")
    func bodiless() throws {
        let fixture = try Fixture()
        let client = try fixture.client()
        client.send("HEAD /echo HTTP/1.1\r\nHost: a\r\n\r\n" + get("/empty") + get("/echo"))
        #expect(client.receive(until: "\r\n\r\n").contains("Content-Length: 11\r\n"))
        let empty = client.receive(until: "\r\n\r\n")
        #expect(empty.hasPrefix("HTTP/1.1 204 No Content\r\n"))
        #expect(!empty.contains("Content-Length") && !empty.contains("Transfer-Encoding"))
        #expect(client.reply().body == "GET /echo ")
    }

    @Test("a reply shorter than announced is cut, a longer one is trimmed")
    func wrongLength() throws {
        let fixture = try Fixture()
        let client = try fixture.client()
        client.send(get("/long") + get("/echo"))
        #expect(client.reply().body == "12345")
        #expect(client.reply().body == "GET /echo ")
        client.send(get("/short"))
        // What there is goes out; the client sees that it is not all.
        let cut = client.receiveAll()
        #expect(cut.hasPrefix("HTTP/1.1 200 OK\r\n") && cut.contains("Content-Length: "))
        #expect(client.hasEnded)
    }

    @Test("an abort never looks complete")
    func abort() throws {
        let fixture = try Fixture()
        let client = try fixture.client()
        client.send(get("/cut"))
        #expect(!client.receiveAll().contains("0\r\n\r\n"))
    }

    @Test("a slow reader stops the source, and starts it again")
    func backPressure() throws {
        let fixture = try Fixture()
        let client = try fixture.client(receiveBytes: 65_536)
        client.send(get("/endless"))
        #expect(fixture.diary.waits(for: "reply paused"))
        fixture.settle()
        let sent = fixture.diary.sent
        fixture.settle()
        #expect(fixture.diary.sent == sent)
        #expect(sent < 16_777_216)
        var received = 0
        while received < sent {
            let count = client.receive().count
            if count == 0 { break }
            received += count
        }
        #expect(fixture.diary.waits(for: "reply drained"))
        while received < 3 * sent {
            let count = client.receive().count
            if count == 0 { break }
            received += count
        }
        #expect(received >= 3 * sent)
    }

    @Test("a client that never reads is given up after the write timeout")
    func writeTimeout() throws {
        let fixture = try Fixture { $0.writeTimeoutMilliseconds = 100 }
        let client = try fixture.client(receiveBytes: 4096)
        client.send(get("/endless"))
        #expect(fixture.diary.waits(for: "client gone"))
        fixture.settle()
        #expect(fixture.server.statistics == ServerStatistics(openConnections: 0, busyExchanges: 0))
        withExtendedLifetime(client) {}
    }
}
