// Upgrade attempts against a scripted upstream: the handshake on the wire, the tunnel, refusals, and attempts given up.
// Domain: cold

import CryoHTTP
import CryoIO
import CryoPipeline
import CryoTestSupport
import CryoUpstream
import Foundation
import Glibc
import Testing

@Suite(.serialized) struct TunnelTests {
    private let attempts: Attempts
    private static let switching = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n"

    init() throws { attempts = try Attempts() }

    private func upgrade(_ server: RawServer, fields: [(String, String)] = []) -> AttemptRequest {
        var attempt = request(server, "GET", "/chat?a=1", fields: fields)
        attempt.isUpgrade = true
        return attempt
    }

    @Test("the handshake is exactly the given fields and the upgrade's own; then bytes pass both ways, each with its end")
    func tunnel() {
        let noted = DispatchSemaphore(value: 0)
        let server = RawServer { server, connection in
            server.note(connection.readHead() ?? "")
            connection.write(Self.switching + "first")
            server.note(String(decoding: connection.read(2) ?? [], as: UTF8.self))
            connection.write("last")
            connection.finishSending()
            server.note(connection.waitForClose() ? "closed" : "more")
            noted.signal()
        }
        let recorder = Recorder()
        recorder.request = [Array("up".utf8)]
        attempts.run(upgrade(server, fields: [("X-Empty", ""), ("Sec-WebSocket-Key", "k")]), recorder)
        #expect(recorder.ended && recorder.error == nil && recorder.head?.status == 101)
        #expect(recorder.body == Array("firstlast".utf8))
        let head =
            "GET /chat?a=1 HTTP/1.1\r\nHost: up.test\r\nX-Empty:\r\nSec-WebSocket-Key: k\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
        #expect(noted.wait(timeout: .now() + 10) == .success)
        #expect(server.notes == [head, "up", "closed"])
        attempts.onWorker { #expect(attempts.forwarder.openAttempts == 0) }
        attempts.close()
    }

    @Test("a CONNECT sends nothing of its own, makes no TLS, and is a tunnel once it is connected")
    func connect() {
        let noted = DispatchSemaphore(value: 0)
        let server = RawServer { server, connection in
            server.note(String(decoding: connection.read(2) ?? [], as: UTF8.self))
            connection.write("down")
            connection.finishSending()
            server.note(connection.waitForClose() ? "closed" : "more")
            noted.signal()
        }
        var settings = upstream(server.port, isTLS: true)
        settings.tls.pins = ["sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="]
        var attempt = request(settings, "CONNECT", "up.test:443")
        attempt.isConnect = true
        let recorder = Recorder()
        recorder.request = [Array("up".utf8)]
        attempts.run(attempt, recorder)
        #expect(recorder.ended && recorder.error == nil && recorder.head?.status == 200)
        #expect(recorder.head?.fields.lines.isEmpty == true && recorder.framing == .untilClose)
        #expect(recorder.body == Array("down".utf8))
        #expect(noted.wait(timeout: .now() + 10) == .success)
        #expect(server.notes == ["up", "closed"])
        attempts.onWorker { #expect(attempts.forwarder.openAttempts == 0) }
        attempts.close()
    }

    @Test("a refusal's body waits while the exchange is paused, in every piece of its chunks")
    func pausedRefusal() {
        let server = RawServer { _, connection in
            _ = connection.readHead()
            connection.write("HTTP/1.1 403 No\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n1\r\nb\r\n1\r\nc\r\n0\r\n\r\n")
            _ = connection.waitForClose()
        }
        let recorder = Recorder()
        recorder.flows = [.pause, .pause]
        let id = attempts.start(upgrade(server), recorder)
        recorder.paused.wait()
        attempts.onWorkerUnsafe {
            #expect(recorder.body == [0x61] && !recorder.ended)
            self.attempts.forwarder.resumeResponse(id)
        }
        recorder.paused.wait()
        attempts.onWorkerUnsafe {
            #expect(recorder.body == [0x61, 0x62] && !recorder.ended)
            self.attempts.forwarder.resumeResponse(id)
        }
        attempts.finish(recorder)
        #expect(recorder.ended && recorder.body == Array("abc".utf8) && recorder.framing == .chunked)
        attempts.close()
    }

    @Test("an attempt given up tells nothing more and closes its connection, in every phase")
    func cancellation() {
        let closed = DispatchSemaphore(value: 0)
        let server = RawServer { server, connection in
            guard let head = connection.readHead() else { return }
            if head.contains("X-Answer") { connection.write(Self.switching + "x") }
            server.note("asked")
            if connection.waitForClose() { closed.signal() }
        }
        let early = Recorder()
        let begun = attempts.start(upgrade(server), early)
        while server.notes.isEmpty { sched_yield() }
        attempts.onWorker { attempts.forwarder.cancel(begun) }
        #expect(closed.wait(timeout: .now() + 10) == .success)
        let late = Recorder()
        late.flows = [.pause]
        let open = attempts.start(upgrade(server, fields: [("X-Answer", "1")]), late)
        late.paused.wait()
        attempts.onWorker { attempts.forwarder.cancel(open) }
        #expect(closed.wait(timeout: .now() + 10) == .success)
        attempts.onWorker {
            attempts.forwarder.cancel(open)
            attempts.forwarder.resumeResponse(open)
            attempts.forwarder.requestBodyReady(open)
            #expect(attempts.forwarder.openAttempts == 0)
        }
        #expect(!early.ended && early.error == nil && !late.ended && late.error == nil)
        attempts.close()
    }

    @Test("closing the forwarder closes its tunnels")
    func closing() {
        let closed = DispatchSemaphore(value: 0)
        let server = RawServer { _, connection in
            _ = connection.readHead()
            connection.write(Self.switching + "x")
            if connection.waitForClose() { closed.signal() }
        }
        let recorder = Recorder()
        recorder.flows = [.pause]
        _ = attempts.start(upgrade(server), recorder)
        recorder.paused.wait()
        attempts.close()
        #expect(closed.wait(timeout: .now() + 10) == .success)
    }

    @Test("a port where nobody listens is connect_refused")
    func refused() {
        var attempt = request(upstream(RawServer.deadPort()))
        attempt.isUpgrade = true
        #expect(attempts.run(attempt).error == .connectRefused)
        attempts.close()
    }
}
