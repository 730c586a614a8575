// Limits, deadlines, clients that leave, and drains.
// Domain: shared

import CryoIO
import CryoPipeline
import CryoSync
import Dispatch
import Glibc
import Testing

@testable import CryoServer

@Suite struct LifeTests {
    @Test("a body over the limit gets 413: by its length at once, or when the bytes show it")
    func bodyLimit() throws {
        let fixture = try Fixture { $0.bodyBytesMax = 10 }
        let client = try fixture.client()
        client.send(post("/echo", "0123456789"))
        #expect(client.reply().body == "POST /echo 0123456789")
        client.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\n")
        #expect(client.receiveAll().hasPrefix("HTTP/1.1 413 "))
        let other = try fixture.client()
        other.send("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nb\r\n0123456789a\r\n0\r\n\r\n")
        #expect(other.receiveAll().hasPrefix("HTTP/1.1 413 "))
        #expect(fixture.diary.entries.contains("body refused 413"))
    }

    @Test("a slow head gets 408, a silent connection is closed without a word")
    func headTimeout() throws {
        let fixture = try Fixture {
            $0.headTimeoutMilliseconds = 50
            $0.idleTimeoutMilliseconds = 50
        }
        let client = try fixture.client()
        let silent = try fixture.client()
        client.send("GET / HT")
        #expect(client.receiveAll().hasPrefix("HTTP/1.1 408 "))
        #expect(silent.receiveAll() == "")
        #expect(silent.hasEnded)
    }

    @Test("a body that stops coming gets 408")
    func bodyTimeout() throws {
        let fixture = try Fixture { $0.bodyTimeoutMilliseconds = 50 }
        let client = try fixture.client()
        client.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc")
        #expect(client.receiveAll().hasPrefix("HTTP/1.1 408 "))
        #expect(fixture.diary.entries.contains("body refused 408"))
    }

    @Test("an idle kept connection is closed after the idle time")
    func idleTimeout() throws {
        let fixture = try Fixture { $0.idleTimeoutMilliseconds = 50 }
        let client = try fixture.client()
        client.send(get("/echo"))
        #expect(client.reply().body == "GET /echo ")
        #expect(client.receive().isEmpty && client.hasEnded)
    }

    @Test("a client that closes or resets while it waits is noticed", arguments: ["/hang", "/endless"], [true, false])
    func clientGone(_ path: String, _ resets: Bool) throws {
        let fixture = try Fixture()
        do {
            let client = try fixture.client()
            client.send(get(path))
            #expect(fixture.diary.waits(for: "begin \(path)"))
            if resets { client.reset() }
        }
        #expect(fixture.diary.waits(for: "client gone"))
        fixture.settle()
        #expect(fixture.server.statistics == ServerStatistics(openConnections: 0, busyExchanges: 0))
    }

    @Test("a client that leaves in the middle of a head or a body is recorded")
    func cutRequests() throws {
        let fixture = try Fixture()
        do { try fixture.client().send("GET / HT") }
        #expect(fixture.diary.waits(for: "refused client_gone 499"))
        do { try fixture.client().send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc") }
        #expect(fixture.diary.waits(for: "client gone"))
    }

    @Test("a client that leaves in the middle of a body is noticed also while the body is not taken")
    func cutPausedBody() throws {
        let fixture = try Fixture()
        do {
            let client = try fixture.client()
            client.send("POST /paused HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc")
            #expect(fixture.diary.waits(for: "body paused"))
            client.send("def")
        }
        #expect(fixture.diary.waits(for: "client gone"))
    }

    @Test("a client that has shut its side is gone, unless the server answers such clients")
    func halfClosed() throws {
        let strict = try Fixture()
        let client = try strict.client()
        client.send(get("/hang"))
        client.shutdownWrite()
        #expect(strict.diary.waits(for: "client gone"))
        let tolerant = try Fixture(answersHalfClosed: true)
        let other = try tolerant.client()
        other.send(get("/later") + get("/later/2"))
        other.shutdownWrite()
        let all = other.receiveAll()
        #expect(all.contains("GET /later ") && all.hasSuffix("GET /later/2 "))
    }

    @Test("over the limit of connections a client is told so; below it again, one is served")
    func overCapacity() throws {
        let fixture = try Fixture { $0.connectionsMax = 1 }
        do {
            let first = try fixture.client()
            first.send(get("/echo"))
            #expect(first.reply().body == "GET /echo ")
            let second = try fixture.client()
            let all = second.receiveAll()
            #expect(all.hasPrefix("HTTP/1.1 503 ") && all.contains("Connection: close"))
            first.send(get("/hang"))
            #expect(fixture.diary.waits(for: "hanging"))
        }
        #expect(fixture.diary.waits(for: "client gone"))
        fixture.server.limits.connectionsMax = 10
        let third = try fixture.client()
        third.send(get("/echo"))
        #expect(third.reply().body == "GET /echo ")
    }

    @Test("a drain closes idle connections, lets busy ones finish with Connection: close, and refuses new ones")
    func drain() throws {
        let fixture = try Fixture(workers: 2)
        let idle = try fixture.client()
        idle.send(get("/echo"))
        _ = idle.reply()
        let busy = try fixture.client()
        busy.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nabc")
        #expect(fixture.diary.waits(for: "begin /echo"))
        fixture.settle()
        let drained = DispatchSemaphore(value: 0)
        fixture.server.beginDrain { drained.signal() }
        #expect(idle.receive().isEmpty && idle.hasEnded)
        #expect(try fixture.isRefused())
        busy.send("def")
        let all = busy.receiveAll()
        #expect(all.contains("Connection: close\r\n") && all.hasSuffix("POST /echo abcdef"))
        #expect(drained.wait(timeout: .now() + .seconds(5)) == .success)
        #expect(fixture.server.statistics.openConnections == 0)
    }

    @Test("what does not end by itself is ended by force")
    func forceClose() throws {
        let fixture = try Fixture()
        let client = try fixture.client()
        client.send(get("/hang"))
        #expect(fixture.diary.waits(for: "hanging"))
        let drained = DispatchSemaphore(value: 0)
        fixture.server.beginDrain { drained.signal() }
        fixture.settle()
        #expect(fixture.server.statistics == ServerStatistics(openConnections: 1, busyExchanges: 1))
        fixture.server.forceClose()
        #expect(drained.wait(timeout: .now() + .seconds(5)) == .success)
        #expect(client.receiveAll() == "")
        #expect(fixture.diary.entries.contains("client gone"))
    }

    @Test("connections are spread over the workers")
    func spread() throws {
        let fixture = try Fixture(workers: 2)
        let clients = try (0..<10).map { _ in try fixture.client() }
        for client in clients {
            client.send(get("/echo"))
            #expect(client.reply().body == "GET /echo ")
        }
        #expect(fixture.workers.map { $0.connectionCount.load(ordering: .relaxed) } == [5, 5])
        withExtendedLifetime(clients) {}
    }

    @Test("a stale socket file is replaced, a served one is not, and it is removed at the end")
    func unixSocket() throws {
        var template = Array("/tmp/cryonet-test-XXXXXX".utf8CString)
        let directory = try #require(mkdtemp(&template).map { String(cString: $0) })
        defer { rmdir(directory) }
        let path = "\(directory)/socket"
        let stale = try ListeningSocket.openUnix(path: path)
        #expect(throws: SystemError.self) { _ = try ListeningSocket.openUnix(path: path) }
        Socket.close(stale)
        let fixture = try Fixture()
        let address = try fixture.server.listen(ListenSettings(address: .unix(path: path)))
        #expect(address == "unix:\(path)")
        let reply = try BlockingSocket.ask(
            host: path, port: 0, request: Array(get("/echo", "Connection: close\r\n").utf8), seconds: 5)
        #expect(String(decoding: reply, as: UTF8.self).hasSuffix("GET /echo "))
        fixture.server.beginDrain {}
        #expect(access(path, F_OK) != 0)
    }
}
