// Heartbeats: comments to clients of silent event streams, and where there must be none.
// Domain: cold

import CryoHTTP
import Foundation
import Testing

@testable import CryoPipeline

private let beat = ":\n\n"

private func bench(heartbeat: UInt32 = 100, idle: UInt32 = 1_000, loss: StreamSettings.Loss = .cut) -> Bench {
    Bench(
        withToken: false,
        route: {
            $0.streams.heartbeatMilliseconds = heartbeat
            $0.streams.idleMilliseconds = idle
            $0.streams.onLoss = loss
        })
}

@Suite("Heartbeats")
struct StreamHeartbeatTests {
    @Test("a comment goes out for each time of silence, counted from the last byte the client got")
    func silence() {
        let bench = bench()
        bench.begin(requestHead())
        bench.open()
        bench.advance(milliseconds: 99)
        #expect(bench.reply.isEmpty)
        bench.advance(milliseconds: 1)
        #expect(bench.reply == beat)
        bench.advance(milliseconds: 50)
        bench.deliver("data: a\n\n")
        bench.advance(milliseconds: 99)
        #expect(bench.reply == beat + "data: a\n\n")
        bench.advance(milliseconds: 1)
        bench.advance(milliseconds: 100)
        #expect(bench.reply == beat + "data: a\n\n" + beat + beat)
        bench.end()
        #expect(streamRecord(bench)?["heartbeats"] as? Int == 3 && streamRecord(bench)?["bytes"] as? Int == 9)
        #expect(object(bench.audit.lines.last)["response_bytes"] as? Int == 9 + 3 * beat.utf8.count)
        bench.advance(milliseconds: 1_000)
        #expect(bench.sink.callsAfterEnd == 0 && bench.sink.ending == .finished)
    }

    @Test("the upstream's silence is none the shorter for them")
    func idleTime() {
        let bench = bench()
        bench.begin(requestHead())
        bench.open()
        bench.deliver("data: a\n\n")
        for _ in 0..<9 { bench.advance(milliseconds: 100) }
        #expect(bench.sink.ending == .open)
        bench.advance(milliseconds: 100)
        #expect(bench.sink.ending == .aborted && object(bench.audit.lines.last)["status"] as? Int == 200)
        #expect((object(bench.audit.lines.last)["failure"] as? [String: Any])?["reason"] as? String == "upstream_timed_out")
    }

    @Test(
        "never inside an event",
        arguments: ["data: a", "data: a\n", "id: 1\r\n", "\u{FEFF}event: x\r", "retry: 5\n", "d", ": c", "data: b\n\ndata"])
    func insideEvents(piece: String) {
        let bench = bench()
        bench.begin(requestHead())
        bench.open()
        bench.deliver(piece)
        bench.advance(milliseconds: 100)
        bench.advance(milliseconds: 100)
        #expect(bench.reply == piece)
        bench.deliver("\n\n")
        bench.advance(milliseconds: 100)
        #expect(bench.reply == piece + "\n\n" + beat)
    }

    @Test(
        "between events, also behind a comment's line and half a line end",
        arguments: ["data: a\n\n", "data: a\r\r", ": c\n", "\r\n\r", "x: y\n"])
    func betweenEvents(piece: String) {
        let bench = bench()
        bench.begin(requestHead())
        bench.open()
        bench.deliver(piece)
        bench.advance(milliseconds: 100)
        #expect(bench.reply == piece + beat)
    }

    @Test("none where they can't be: coded, of known length, other kinds, an old client, HEAD, a failure, switched off")
    func excluded() {
        let cases: [([(String, String)], UInt16, BodyFraming, String, String, UInt32)] = [
            (eventStream + [("Content-Encoding", "gzip")], 200, .chunked, "GET", "HTTP/1.1", 100),
            (eventStream, 200, .length(100), "GET", "HTTP/1.1", 100),
            ([("Content-Type", "application/x-ndjson")], 200, .chunked, "GET", "HTTP/1.1", 100),
            ([("Content-Type", "text/plain")], 200, .chunked, "GET", "HTTP/1.1", 100),
            (eventStream, 200, .untilClose, "GET", "HTTP/1.0", 100), (eventStream, 200, .none, "HEAD", "HTTP/1.1", 100),
            (eventStream, 500, .chunked, "GET", "HTTP/1.1", 100), (eventStream, 200, .chunked, "GET", "HTTP/1.1", 0),
        ]
        for (fields, status, framing, method, version, heartbeat) in cases {
            let bench = bench(heartbeat: heartbeat)
            bench.begin(requestHead(method: method, version: version))
            bench.open(fields, status: status, framing: framing)
            bench.advance(milliseconds: 500)
            #expect(bench.reply.isEmpty, "\(fields) \(status) \(framing) \(method) \(version)")
        }
    }

    @Test("a client that takes nothing gets none until it takes something again")
    func pausedClient() {
        let bench = bench()
        bench.begin(requestHead())
        bench.open()
        bench.sink.pausesNext = true
        bench.deliver("data: a\n\n")
        bench.sink.pausesNext = false
        bench.advance(milliseconds: 500)
        #expect(bench.reply == "data: a\n\n")
        bench.exchange?.replyDrained()
        bench.advance(milliseconds: 100)
        #expect(bench.reply == "data: a\n\n" + beat)
    }

    @Test("a byte order mark behind the first heartbeat is left out: it may only be the very first; half a mark is none")
    func mark() {
        for (pieces, expected) in [
            ([[0xEF, 0xBB, 0xBF], Array("data: a\n\n".utf8)], Array("data: a\n\n".utf8)),
            ([[0xEF], [0xBB], [0xBF, 0x64], [0x61]], [0x64, 0x61]), ([[0xEF, 0xBB], [0x64]], [0xEF, 0xBB, 0x64]),
            ([[0xEF, 0x64]], [0xEF, 0x64]),
            ([[0x64], [0xEF, 0xBB, 0xBF]], [0x64, 0xEF, 0xBB, 0xBF]),
        ] as [([[UInt8]], [UInt8])] {
            let bench = bench()
            bench.begin(requestHead())
            bench.open()
            bench.advance(milliseconds: 100)
            for piece in pieces { _ = piece.withUnsafeBytes { bench.exchange?.attemptReceivedBody(bench.forwarder.last, $0) } }
            #expect(bench.sink.body == Array(beat.utf8) + expected)
        }
        let silent = bench(heartbeat: 0)
        silent.begin(requestHead())
        silent.open()
        silent.deliver("\u{FEFF}data: a\n\n")
        #expect(silent.reply == "\u{FEFF}data: a\n\n")
    }

    @Test("the first is waited for from the head on, also where that had to wait for the first event")
    func armed() {
        for streams in [PolicySettings.Streams.pass, .firstEvent] {
            let bench = Bench(
                withToken: false, policy: envelope { $0.streams = streams }, route: { $0.streams.heartbeatMilliseconds = 100 })
            bench.begin(requestHead())
            bench.open()
            bench.deliver("data: {\"code\":0}\n\n")
            #expect(bench.scheduler.wakes.contains(bench.clock.nanoseconds + 100_000_000))
        }
    }

    @Test("where events are held until they are whole, the client is between two even while one arrives")
    func heldEvents() {
        let bench = bench(loss: .errorEvent)
        bench.begin(requestHead())
        bench.open()
        bench.deliver("data: a\n\ndata: b")
        #expect(bench.reply == "data: a\n\n")
        bench.advance(milliseconds: 100)
        bench.deliver("c\n\n")
        #expect(bench.reply == "data: a\n\n" + beat + "data: bc\n\n")
    }
}
