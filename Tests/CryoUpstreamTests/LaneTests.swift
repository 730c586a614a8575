// What only the lane has: a pool of its own, an upload beside the answer, and a strict end to every answer.
// Domain: cold

import CryoHTTP
import CryoIO
import CryoPipeline
import CryoTestSupport
import CryoUpstream
import Foundation
import Testing

@Suite(.serialized) struct LaneTests {
    private let attempts: Attempts
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    init() throws { attempts = try Attempts() }

    @Test("bytes behind an answer end the connection, and are nobody's answer", arguments: ["x", "HTTP/1.1 200 OK\r\n\r\n"])
    func excess(_ more: String) {
        let server = RawServer { server, connection in
            while connection.readHead() != nil {
                server.note("\(connection.number)")
                connection.write(Self.ok + more)
            }
        }
        for _ in 0..<3 {
            let recorder = attempts.run(request(server))
            #expect(recorder.ended && recorder.body == Array("ok".utf8) && !recorder.timing.reusedConnection)
        }
        #expect(server.notes == ["0", "1", "2"])
        attempts.close()
    }

    @Test("what an idle connection says unasked ends it")
    func unasked() {
        let said = DispatchSemaphore(value: 0)
        let go = DispatchSemaphore(value: 0)
        let server = RawServer { server, connection in
            while connection.readHead() != nil {
                server.note("\(connection.number)")
                connection.write(Self.ok)
                go.wait()
                connection.write("HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n")
                said.signal()
            }
        }
        for number in 0..<2 {
            let recorder = attempts.run(request(server, "POST", framing: .length(0)))
            #expect(recorder.head?.status == 200, "attempt \(number)")
            go.signal()
            said.wait()
        }
        #expect(server.notes == ["0", "1"])
        attempts.close()
    }

    @Test(
        "the answer's version and Connection say whether the connection serves another request",
        arguments: [
            ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", false),
            ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: x, Close\r\n\r\n", false),
            ("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", false),
            ("HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: Keep-Alive\r\n\r\n", true),
            ("HTTP/1.1 204 No Content\r\n\r\n", true), ("HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n", true),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\nTrailer: t\r\n\r\n", true),
        ])
    func persistence(_ answer: String, _ persists: Bool) {
        let server = RawServer { _, connection in
            while connection.readHead() != nil { connection.write(answer) }
        }
        attempts.run(request(server))
        let second = attempts.run(request(server))
        #expect(second.ended && second.timing.reusedConnection == persists)
        attempts.close()
    }

    @Test("an answer in single bytes is the same answer")
    func singleBytes() {
        let heads = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nX-A: b\r\nTransfer-Encoding: chunked\r\n\r\n"
        let answer = heads + "2\r\nok\r\n1\r\n!\r\n0\r\n\r\n"
        let server = RawServer { _, connection in
            while connection.readHead() != nil {
                for byte in answer.utf8 {
                    connection.write([byte])
                    usleep(200)
                }
            }
        }
        for _ in 0..<2 {
            let recorder = attempts.run(request(server))
            #expect(recorder.ended && recorder.body == Array("ok!".utf8) && recorder.head?.fields.contains("x-a") == true)
        }
        attempts.close()
    }

    @Test("an answer comes through while the request body is still on its way")
    func duplex() {
        let answered = DispatchSemaphore(value: 0)
        let server = RawServer { server, connection in
            guard connection.readHead() != nil else { return }
            connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")
            answered.wait()
            server.note(connection.read(until: "0\r\n\r\n") ?? "cut")
            connection.write("0\r\n\r\n")
            _ = connection.waitForClose()
        }
        let recorder = Recorder()
        recorder.request = [Array("one".utf8), nil, Array("two".utf8)]
        let headCame = DispatchSemaphore(value: 0)
        recorder.onHead = { headCame.signal() }
        let id = attempts.start(request(server, "POST", framing: .chunked), recorder)
        headCame.wait()
        answered.signal()
        attempts.onWorker { attempts.forwarder.requestBodyReady(id) }
        attempts.finish(recorder)
        #expect(recorder.ended && recorder.body == Array("abc".utf8))
        #expect(server.notes == ["3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n"])
        attempts.close()
    }

    @Test("a refusal that closes in the middle of a large upload is delivered, not the broken pipe")
    func refusalOfLargeUpload() {
        let server = RawServer { _, connection in
            guard connection.readHead() != nil else { return }
            connection.write("HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno")
            connection.finishSending()
            while connection.read(65_536) != nil {}
        }
        let recorder = Recorder()
        recorder.request = Array(repeating: [UInt8](repeating: 0x61, count: 16_384), count: 1_024)
        attempts.run(request(server, "POST", framing: .length(16 << 20)), recorder)
        #expect(recorder.ended && recorder.head?.status == 413 && recorder.body == Array("no".utf8))
        #expect(!recorder.request.isEmpty)
        attempts.close()
    }

    @Test("a large body goes up whole and in order, in both framings", arguments: [true, false])
    func largeUpload(_ isChunked: Bool) {
        let piece = (0..<16_384).map { UInt8(truncatingIfNeeded: $0 % 251) }
        let server = RawServer { server, connection in
            guard connection.readHead() != nil else { return }
            var body: [UInt8] = []
            if isChunked {
                while let line = connection.readLine(), let size = Int(line, radix: 16), let bytes = connection.read(size) {
                    body += bytes
                    guard connection.read(2) == [13, 10], size > 0 else { break }
                }
            } else {
                body = connection.read(64 * piece.count) ?? []
            }
            let isWhole = body.count == 64 * piece.count
            let isRight = (0..<64).allSatisfy { isWhole && body[($0 * piece.count)..<(($0 + 1) * piece.count)].elementsEqual(piece) }
            server.note(isRight ? "whole" : "broken")
            connection.write(Self.ok)
        }
        let recorder = Recorder()
        recorder.request = Array(repeating: piece, count: 64)
        attempts.run(request(server, "POST", framing: isChunked ? .chunked : .length(64 * 16_384)), recorder)
        #expect(recorder.ended && server.notes == ["whole"])
        attempts.close()
    }

    @Test("bytes of the body go out past the reading, behind the head and whatever part the socket takes")
    func straightUpload() {
        let size = 8 << 20
        let body = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 / 251) }
        let server = RawServer { server, connection in
            while connection.readHead() != nil {
                server.note(connection.read(size) == body ? "whole" : "broken")
                connection.write(Self.ok)
            }
        }
        // The first makes the connection; only one that is there takes bytes at once.
        for _ in 0..<3 {
            let recorder = Recorder()
            recorder.request = [nil]
            let id = attempts.start(request(server, "POST", framing: .length(UInt64(size))), recorder)
            attempts.onWorkerUnsafe { [attempts] in
                var sent = 0
                while sent < size {
                    let count = body[sent..<min(size, sent + 60_000)].withUnsafeBytes { attempts.forwarder.sendRequestBody(id, $0) }
                    sent += count
                    if count < 60_000 { break }
                }
                recorder.straight = sent
                recorder.request = [Array(body[sent...])]
                attempts.forwarder.requestBodyReady(id)
            }
            attempts.finish(recorder)
            #expect(recorder.ended && recorder.head?.status == 200)
            #expect(recorder.straight > 0 || !recorder.timing.reusedConnection)
        }
        #expect(server.notes == ["whole", "whole", "whole"])
        attempts.close()
    }

    @Test("bytes of the body are not sent past framing, an end, or the announced length")
    func noStraightUpload() {
        let server = RawServer { server, connection in
            while let head = connection.readHead() {
                server.note(connection.read(head.contains("chunked") ? 8 : 1) == nil ? "cut" : "body")
                connection.write(Self.ok)
            }
        }
        attempts.run(request(server, "POST", framing: .length(1)), Recorder(request: [[0x61]]))
        for framing in [BodyFraming.chunked, .length(1)] {
            let recorder = Recorder(request: [nil])
            let id = attempts.start(request(server, "POST", framing: framing), recorder)
            attempts.onWorkerUnsafe { [attempts] in
                recorder.straight = [0x61, 0x62].withUnsafeBytes { attempts.forwarder.sendRequestBody(id, $0) }
                recorder.request = [[0x61]]
                attempts.forwarder.requestBodyReady(id)
            }
            attempts.finish(recorder)
            #expect(recorder.ended && recorder.straight == 0)
            let late = [0x61].withUnsafeBytes { bytes in
                attempts.onWorkerUnsafe { [attempts] in recorder.straight = attempts.forwarder.sendRequestBody(id, bytes) }
                return recorder.straight
            }
            #expect(late == 0)
        }
        attempts.close()
    }

    @Test("the last connection back is the first used again, and closing the forwarder closes them all")
    func lastInFirstOut() {
        let both = DispatchSemaphore(value: 0)
        let closed = DispatchSemaphore(value: 0)
        let server = RawServer { server, connection in
            while let head = connection.readHead() {
                let isSlow = head.hasPrefix("PUT")
                server.note("\(isSlow ? "slow " : "")\(connection.number)")
                if isSlow { both.wait() }
                connection.write(Self.ok)
            }
            closed.signal()
        }
        let first = Recorder()
        _ = attempts.start(request(server, "PUT"), first)
        attempts.run(request(server))
        both.signal()
        attempts.finish(first)
        let slow = server.notes.first { $0.hasPrefix("slow ") }.map { String($0.dropFirst(5)) }
        for _ in 0..<3 { attempts.run(request(server)) }
        #expect(server.notes.suffix(3) == [slow, slow, slow])
        attempts.close()
        for _ in 0..<2 { #expect(closed.wait(timeout: .now() + 10) == .success) }
    }

    @Test("an end that waits in its connection is not lost when libcurl makes another one")
    func waitingEnd() {
        let closed = DispatchSemaphore(value: 0)
        let server = RawServer { _, connection in
            while let head = connection.readHead(), !head.hasPrefix("POST") { connection.write(Self.ok) }
            connection.finishSending()
            closed.signal()
            _ = connection.waitForClose()
        }
        attempts.run(request(server))
        let ended = Recorder()
        let other = Recorder()
        // A batch of its own, as a request goes out at the end of one.
        attempts.onWorkerUnsafe { _ = attempts.forwarder.begin(request(server, "POST", framing: .length(0)), receiver: ended) }
        attempts.onWorkerUnsafe {
            closed.wait()
            // libcurl looks through its pool once a second.
            usleep(1_100_000)
            _ = attempts.forwarder.begin(request(server), receiver: other)
        }
        attempts.finish(ended)
        attempts.finish(other)
        #expect(!ended.ended && ended.error == .reset)
        #expect(other.ended && other.body == Array("ok".utf8))
        attempts.close()
    }

    @Test("attempts cancelled while they connect, send or wait leave nothing behind")
    func cancelledAnywhere() {
        let server = RawServer { _, connection in while connection.readHead() != nil {} }
        for round in 0..<20 {
            let recorder = Recorder()
            recorder.request = [Array("a".utf8), nil]
            let id = attempts.start(request(server, "POST", framing: .length(9)), recorder)
            if round % 2 == 1 { recorder.waiting.wait() }
            attempts.onWorker { attempts.forwarder.cancel(id) }
            #expect(!recorder.ended && recorder.error == nil)
        }
        attempts.onWorker { #expect(attempts.forwarder.openAttempts == 0) }
        attempts.close()
    }

    @Test("an upstream over TLS that was offered HTTP/2 and spoke HTTP/1.1 is taken at its word")
    func learned() throws {
        let server = try #require(TLSServer())
        defer { server.stop() }
        var settings = upstream(server.port, isTLS: true)
        settings.tls.caFile = server.caFile
        for _ in 0..<3 { #expect(attempts.run(request(settings, "GET", "/")).head?.status == 200) }
        attempts.onWorker { #expect(attempts.forwarder.laneAttempts == 2) }
        attempts.close()
    }
}
