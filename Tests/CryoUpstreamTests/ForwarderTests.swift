// Attempts against a scripted upstream, by either way: what goes over the wire, what comes back, how it ends.
// Domain: cold

import CryoHTTP
import CryoIO
import CryoPipeline
import CryoTestSupport
import CryoUpstream
import Foundation
import Testing

@Suite(.serialized) struct ForwarderTests {
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    /// Answers every request of every connection with `reply` and notes the heads.
    private static func answering(_ reply: String) -> RawServer {
        RawServer { server, connection in
            while let head = connection.readHead() {
                server.note("\(connection.number) \(head)")
                connection.write(reply)
            }
        }
    }

    @Test("the upstream sees exactly the given fields, in order, and nothing implicit", arguments: Way.allCases)
    func exactBytes(_ way: Way) throws {
        let attempts = try Attempts(way)
        let server = Self.answering(Self.ok)
        let recorder = attempts.run(
            request(server, "GET", "/a/../b%2F?q=%20", fields: [("X-One", "1"), ("x-empty", ""), ("Cookie", "a=b"), ("Cookie", "c=d")]))
        #expect(recorder.ended)
        #expect(recorder.head?.status == 200)
        #expect(recorder.framing == .length(2))
        #expect(recorder.body == Array("ok".utf8))
        #expect(
            server.notes == [
                "0 GET /a/../b%2F?q=%20 HTTP/1.1\r\nHost: up.test\r\nX-One: 1\r\nx-empty:\r\nCookie: a=b\r\nCookie: c=d\r\n\r\n"
            ])
        attempts.close()
    }

    @Test("one connection carries attempts of every kind, each with its own method and framing", arguments: Way.allCases)
    func reuse(_ way: Way) throws {
        let attempts = try Attempts(way)
        let server = RawServer { server, connection in
            while let head = connection.readHead() {
                let line = head.prefix { $0 != "\r\n" }
                var body = ""
                if head.contains("Content-Length: 3") { body = String(decoding: connection.read(3) ?? [], as: UTF8.self) }
                if head.contains("chunked") { body = connection.read(until: "0\r\n\r\n") ?? "" }
                server.note("\(connection.number) \(line) \(head.contains("Content-Length: 0")) \(body)")
                connection.write(line.hasPrefix("HEAD") ? "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n" : Self.ok)
            }
        }
        attempts.run(request(server))
        let head = attempts.run(request(server, "HEAD"))
        let post = Recorder()
        post.request = [Array("abc".utf8)]
        attempts.run(request(server, "POST", framing: .length(3)), post)
        let chunked = Recorder()
        chunked.request = [Array("de".utf8), Array("f".utf8)]
        attempts.run(request(server, "PUT", framing: .chunked), chunked)
        attempts.run(request(server, "POST", framing: .length(0)))
        let last = attempts.run(request(server, "DELETE"))
        #expect(head.framing == BodyFraming.none && head.body.isEmpty && head.ended)
        #expect(post.ended && chunked.ended && last.ended)
        #expect(last.timing.reusedConnection)
        #expect(
            server.notes == [
                "0 GET /x HTTP/1.1 false ", "0 HEAD /x HTTP/1.1 false ", "0 POST /x HTTP/1.1 false abc",
                "0 PUT /x HTTP/1.1 false 2\r\nde\r\n1\r\nf\r\n0\r\n\r\n", "0 POST /x HTTP/1.1 true ", "0 DELETE /x HTTP/1.1 false ",
            ])
        attempts.close()
    }

    @Test("an upload waits for the client and goes on when told", arguments: Way.allCases)
    func slowUpload(_ way: Way) throws {
        let attempts = try Attempts(way)
        let server = RawServer { _, connection in
            guard connection.readHead() != nil, connection.read(6) != nil else { return }
            connection.write(Self.ok)
        }
        let recorder = Recorder()
        recorder.request = [Array("abc".utf8), nil, Array("def".utf8)]
        let id = attempts.start(request(server, "POST", framing: .length(6)), recorder)
        recorder.waiting.wait()
        attempts.onWorker { attempts.forwarder.requestBodyReady(id) }
        attempts.finish(recorder)
        #expect(recorder.ended)
        attempts.close()
    }

    @Test("a refusal during an upload ends the attempt though the client has not finished", arguments: Way.allCases)
    func earlyAnswer(_ way: Way) throws {
        let attempts = try Attempts(way)
        let server = RawServer { _, connection in
            guard connection.readHead() != nil else { return }
            connection.write("HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno")
            _ = connection.waitForClose()
        }
        let recorder = Recorder()
        recorder.request = [Array("abc".utf8), nil]
        attempts.run(request(server, "POST", framing: .chunked), recorder)
        #expect(recorder.ended && recorder.head?.status == 413)
        attempts.close()
    }

    @Test("a client that stops early does not let the part pass for the whole", arguments: Way.allCases)
    func shortUpload(_ way: Way) throws {
        let attempts = try Attempts(way)
        let server = RawServer { server, connection in
            guard connection.readHead() != nil else { return }
            server.note(connection.read(6) == nil ? "cut" : "whole")
        }
        let recorder = Recorder()
        recorder.request = [Array("abc".utf8)]
        attempts.run(request(server, "POST", framing: .length(6)), recorder)
        #expect(recorder.error == .requestBodyFailed)
        attempts.close()
    }

    @Test("a paused reader holds the upstream back, and 64 MiB then arrive whole", arguments: Way.allCases)
    func backPressure(_ way: Way) throws {
        let attempts = try Attempts(way)
        let total = 64 << 20
        let server = RawServer { _, connection in
            guard connection.readHead() != nil else { return }
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(total)\r\n\r\n")
            let block = [UInt8](repeating: 0x61, count: 1 << 20)
            for _ in 0..<64 { connection.write(block) }
        }
        let recorder = Recorder()
        recorder.keepsBody = false
        recorder.flows = Array(repeating: .pause, count: 20)
        let id = attempts.start(request(server), recorder)
        for _ in 0..<20 {
            recorder.paused.wait()
            attempts.onWorker { attempts.forwarder.resumeResponse(id) }
        }
        attempts.finish(recorder)
        #expect(recorder.ended)
        #expect(recorder.bodyCount == total)
        attempts.close()
    }

    @Test("a pooled connection that dies under a request: GET goes once more, POST does not", arguments: Way.allCases)
    func deadPooledConnection(_ way: Way) throws {
        let attempts = try Attempts(way)
        let server = RawServer { server, connection in
            while let head = connection.readHead() {
                server.note("\(connection.number) \(head.prefix(4))")
                if server.notes.count == 2 || server.notes.count == 4 { return connection.reset() }
                connection.write(Self.ok)
            }
        }
        attempts.run(request(server))
        let get = attempts.run(request(server))
        #expect(get.ended)
        let post = attempts.run(request(server, "POST", framing: .length(0)))
        #expect(post.error == .reset)
        #expect(server.notes == ["0 GET ", "0 GET ", "1 GET ", "1 POST"])
        attempts.close()
    }

    @Test("a pooled connection whose end has already come is not used, whatever the method", arguments: Way.allCases)
    func closedPooledConnection(_ way: Way) throws {
        let attempts = try Attempts(way)
        let closed = DispatchSemaphore(value: 0)
        let server = RawServer { server, connection in
            guard connection.readHead() != nil else { return }
            server.note("\(connection.number)")
            connection.write(Self.ok)
            connection.finishSending()
            closed.signal()
            _ = connection.waitForClose()
        }
        for _ in 0..<3 {
            let recorder = attempts.run(request(server, "POST", framing: .length(0)))
            #expect(recorder.ended && !recorder.timing.reusedConnection)
            closed.wait()
        }
        #expect(server.notes == ["0", "1", "2"])
        attempts.close()
    }

    @Test("different TLS or other settings for one address are different upstreams with handles of their own", arguments: Way.allCases)
    func profiles(_ way: Way) throws {
        let attempts = try Attempts(way)
        let server = Self.answering(Self.ok)
        for count in 1...70 {
            var settings = upstream(server.port)
            settings.timeouts.connectMilliseconds = UInt32(1000 + count)
            #expect(attempts.run(request(settings)).ended)
        }
        attempts.onWorker { #expect(attempts.forwarder.openAttempts == 0) }
        attempts.close()
    }

    @Test("many attempts at once all end, and no more handles are kept than allowed", arguments: Way.allCases)
    func manyAtOnce(_ way: Way) throws {
        let attempts = try Attempts(way)
        let server = Self.answering(Self.ok)
        let recorders = (0..<300).map { _ in Recorder() }
        for recorder in recorders { _ = attempts.start(request(server), recorder) }
        for recorder in recorders { attempts.finish(recorder) }
        #expect(recorders.allSatisfy { $0.ended })
        attempts.onWorker { #expect(attempts.forwarder.openAttempts == 0) }
        attempts.close()
    }

    @Test("an idempotent body is rewound for the second connection", arguments: Way.allCases)
    func rewind(_ way: Way) throws {
        let attempts = try Attempts(way)
        let server = RawServer { server, connection in
            while let head = connection.readHead() {
                if head.hasPrefix("PUT") { server.note(String(decoding: connection.read(3) ?? [], as: UTF8.self)) }
                if connection.number == 0, head.hasPrefix("PUT") { return }
                connection.write(Self.ok)
            }
        }
        attempts.run(request(server))
        let recorder = Recorder()
        recorder.request = [Array("abc".utf8)]
        attempts.run(request(server, "PUT", framing: .length(3)), recorder)
        #expect(recorder.ended && recorder.rewinds == 1)
        #expect(server.notes == ["abc", "abc"])
        attempts.close()
    }

    @Test("each broken answer has its name", arguments: Way.allCases, BrokenAnswer.all)
    func brokenAnswers(_ way: Way, _ answer: BrokenAnswer) throws {
        let attempts = try Attempts(way)
        let server = RawServer { _, connection in
            guard connection.readHead() != nil else { return }
            connection.write(answer.bytes)
        }
        let recorder = attempts.run(request(server))
        #expect(recorder.error == answer.error)
        #expect((recorder.head != nil) == answer.hasHead)
        attempts.close()
    }

    @Test("interim answers are dropped and the answer follows", arguments: Way.allCases)
    func interim(_ way: Way) throws {
        let attempts = try Attempts(way)
        let server = Self.answering("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + Self.ok)
        let recorder = attempts.run(request(server))
        #expect(recorder.ended && recorder.head?.status == 200 && recorder.events == 1)
        #expect(recorder.head?.fields.contains("link") == false)
        attempts.close()
    }

    @Test("a coded body passes as it is, whatever its coding says", arguments: Way.allCases)
    func gzip(_ way: Way) throws {
        let attempts = try Attempts(way)
        // printf hello | gzip -n
        let coded: [UInt8] = [
            0x1f, 0x8b, 0x08, 0, 0, 0, 0, 0, 0, 0x03, 0xcb, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0, 0x86, 0xa6, 0x10, 0x36, 0x05, 0, 0, 0,
        ]
        let server = RawServer { server, connection in
            while let head = connection.readHead() {
                server.note(head)
                connection.write(
                    "HTTP/1.1 200 OK\r\nETag: \"a\"\r\nContent-Encoding: gzip\r\nContent-Length: \(coded.count)\r\nDigest: x\r\n\r\n")
                connection.write(coded)
            }
        }
        let raw = attempts.run(request(server, fields: [("Accept-Encoding", "gzip")]))
        #expect(raw.body == coded && raw.framing == .length(UInt64(coded.count)))
        #expect(raw.head?.fields.contains("content-encoding") == true)
        #expect(server.notes.map { $0.contains("Accept-Encoding") } == [true])
        attempts.close()
    }

    @Test("a refused connection and an unknown name are told apart", arguments: Way.allCases)
    func unreachable(_ way: Way) throws {
        let attempts = try Attempts(way)
        #expect(attempts.run(request(upstream(RawServer.deadPort()))).error == .connectRefused)
        var settings = upstream(80)
        settings.url.host = "no-such-name.invalid"
        #expect(attempts.run(request(settings)).error == .dnsFailed)
        attempts.close()
    }

    @Test("plain bytes where TLS is expected fail the handshake", arguments: Way.allCases)
    func notTLS(_ way: Way) throws {
        let attempts = try Attempts(way)
        let server = RawServer { _, connection in
            _ = connection.read(5)
            connection.write("HTTP/1.1 400 Bad Request\r\n\r\n")
        }
        #expect(attempts.run(request(upstream(server.port, isTLS: true))).error == .tlsFailed)
        attempts.close()
    }

    @Test("a cancelled attempt tells nothing more and closes its connection; its stale name is ignored", arguments: Way.allCases)
    func cancellation(_ way: Way) throws {
        let attempts = try Attempts(way)
        let closed = DispatchSemaphore(value: 0)
        let server = RawServer { _, connection in
            guard let head = connection.readHead() else { return }
            if head.hasPrefix("DELETE") {
                connection.write(Self.ok)
                return
            }
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")
            if connection.waitForClose() { closed.signal() }
        }
        let recorder = Recorder()
        recorder.flows = [.pause]
        let id = attempts.start(request(server), recorder)
        recorder.paused.wait()
        attempts.onWorker { attempts.forwarder.cancel(id) }
        #expect(closed.wait(timeout: .now() + 10) == .success)
        attempts.onWorker {
            attempts.forwarder.cancel(id)
            attempts.forwarder.resumeResponse(id)
            #expect(attempts.forwarder.openAttempts == 0)
        }
        let next = attempts.run(request(server, "DELETE"))
        #expect(next.ended && recorder.error == nil && !recorder.ended)
        attempts.close()
    }

    @Test("an attempt may be cancelled and another begun from inside an event", arguments: Way.allCases)
    func beginInsideEvent(_ way: Way) throws {
        let attempts = try Attempts(way)
        let server = Self.answering(Self.ok)
        let first = Recorder()
        let second = Recorder()
        let started = Attempts.Cell()
        let again = request(server, "GET", "/again")
        first.onHead = {
            attempts.forwarder.cancel(started.id)
            _ = attempts.forwarder.begin(again, receiver: second)
        }
        let initial = request(server)
        attempts.onWorkerUnsafe { started.id = attempts.forwarder.begin(initial, receiver: first) }
        attempts.finish(second)
        #expect(second.ended && !first.ended && first.body.isEmpty)
        attempts.close()
    }
}

struct BrokenAnswer: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var bytes: String
    var error: ForwardError
    var hasHead = false

    static let all = [
        BrokenAnswer(testDescription: "nothing", bytes: "", error: .emptyResponse),
        BrokenAnswer(testDescription: "garbage", bytes: "hello world, no status line here\r\n\r\n", error: .malformedResponse),
        BrokenAnswer(testDescription: "bad status", bytes: "HTTP/1.1 2x0 OK\r\n\r\n", error: .malformedResponse),
        BrokenAnswer(
            testDescription: "two lengths", bytes: "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
            error: .malformedResponse),
        BrokenAnswer(testDescription: "switching", bytes: "HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n", error: .malformedResponse),
        BrokenAnswer(
            testDescription: "short length", bytes: "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", error: .truncated, hasHead: true),
        BrokenAnswer(
            testDescription: "short chunks", bytes: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", error: .truncated,
            hasHead: true),
        BrokenAnswer(
            testDescription: "bad chunk", bytes: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n", error: .truncated,
            hasHead: true),
        BrokenAnswer(testDescription: "half a head", bytes: "HTTP/1.1 200 OK\r\nContent-Le", error: .reset),
    ]
}
