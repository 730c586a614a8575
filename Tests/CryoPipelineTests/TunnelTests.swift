// Exchanges whose connection is upgraded, over scripted ports.
// Domain: cold

import CryoHTTP
import Testing

@testable import CryoPipeline

@Suite("Tunnels")
struct TunnelTests {
    private let asking = ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: abc", "Sec-WebSocket-Version: 13"]

    private func open(_ bench: Bench) {
        bench.begin(requestHead("/chat", asking))
        bench.exchange?.attemptReceivedHead(
            bench.forwarder.last,
            ResponseHead(
                status: 101,
                fields: section([("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Accept", "xyz")])),
            framing: .untilClose)
    }

    private func read(_ bench: Bench, _ count: Int = 100) -> (RequestBodyRead?, String) {
        let room = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 1)
        defer { room.deallocate() }
        let result = bench.exchange?.readRequestBody(bench.forwarder.last, into: room)
        guard case .bytes(let read) = result else { return (result, "") }
        return (result, String(decoding: room[..<read], as: UTF8.self))
    }

    @Test("the handshake is an upgrade attempt with the token and the client's own fields, the hop's fields left to the forwarder")
    func handshake() {
        let bench = Bench()
        bench.begin(requestHead("/chat", asking))
        let request = bench.forwarder.attempts[0].request
        #expect(request.isUpgrade && request.framing == .none)
        let fields = bench.fields(0)
        #expect(fields.contains("Authorization: Bearer token-one") && fields.contains("Sec-WebSocket-Key: abc"))
        #expect(!fields.contains { $0.hasPrefix("Upgrade") || $0.hasPrefix("Connection") })
    }

    @Test("after the 101 both bodies are bytes of the tunnel, each with its end, and the record counts both")
    func bothWays() {
        let bench = Bench()
        open(bench)
        #expect(bench.sink.status == 101)
        #expect(lines(bench.sink.fields).contains("Upgrade: websocket"))
        #expect(lines(bench.sink.fields).contains("Sec-WebSocket-Accept: xyz"))
        #expect(read(bench).0 == .wait)
        bench.send(Array("up".utf8))
        #expect(bench.forwarder.ready.count == 1)
        #expect(read(bench).1 == "up")
        #expect(bench.deliver("down") == .more)
        bench.exchange?.attemptReceivedTunnelEnd(bench.forwarder.last)
        #expect(bench.sink.tunnelEnds == 1 && bench.sink.ending == .open)
        bench.send(Array("late".utf8))
        bench.exchange?.receiveBodyEnd()
        #expect(read(bench).1 == "late")
        #expect(read(bench).0 == .end)
        bench.exchange?.attemptEnded(bench.forwarder.last, AttemptTiming())
        #expect(bench.sink.ending == .finished && bench.sink.callsAfterEnd == 0)
        let record = object(bench.audit.lines.last)
        #expect(record["status"] as? Int == 101)
        #expect(record["request_bytes"] as? Int == 6 && record["response_bytes"] as? Int == 4)
    }

    @Test("silence of tunnel_idle_ms ends a tunnel; after one side's end it is idle_ms; a byte either way begins it anew")
    func idle() {
        let bench = Bench(upstream: {
            $0.timeouts.tunnelIdleMilliseconds = 1_000
            $0.timeouts.idleMilliseconds = 100
            $0.timeouts.totalMilliseconds = 500
        })
        open(bench)
        func pass(_ milliseconds: UInt64) {
            bench.clock.advance(milliseconds: milliseconds)
            bench.exchange?.deadlineReached(bench.clock.nanoseconds)
        }
        pass(900)
        bench.send([1])
        pass(900)
        bench.deliver("x")
        pass(900)
        #expect(bench.sink.ending == .open)
        bench.exchange?.receiveBodyEnd()
        pass(99)
        #expect(bench.sink.ending == .open)
        pass(1)
        #expect(bench.sink.ending == .aborted)
        #expect(bench.forwarder.attempts[0].isCancelled)
        #expect((object(bench.audit.lines.last)["failure"] as? [String: Any])?["reason"] as? String == "upstream_timed_out")
    }

    @Test("a 401 refreshes the token and the handshake is made again, once")
    func refresh() {
        let bench = Bench()
        bench.begin(requestHead("/chat", asking))
        bench.answer(401)
        bench.refresher.end(.renewed(NewCredential(token: Secret("token-two"))))
        bench.scheduler.queue.run()
        #expect(bench.forwarder.attempts.count == 2 && bench.forwarder.attempts[1].request.isUpgrade)
        #expect(bench.fields(1).contains("Authorization: Bearer token-two"))
    }

    @Test("a client that leaves is client_gone, not a request cut short; an upstream that is lost cuts the tunnel")
    func lost() {
        let gone = Bench()
        open(gone)
        gone.exchange?.clientGone()
        let record = object(gone.audit.lines.last)
        #expect(record["status"] as? Int == 101)
        #expect((record["steps"] as? [String: Any])?["read"] as? String == "parsed")
        #expect((record["steps"] as? [String: Any])?["reply"] as? String == "client_gone")
        let cut = Bench()
        open(cut)
        cut.exchange?.attemptFailed(cut.forwarder.last, .truncated, AttemptTiming())
        #expect(cut.sink.ending == .aborted)
    }

    @Test("a client that sends faster than the upstream takes is paused at the bound and goes on below the low mark")
    func backPressure() {
        let bench = Bench()
        open(bench)
        let piece = [UInt8](repeating: 7, count: Int(ReplayBuffer.waitingBytesMax))
        #expect(bench.send(piece) == .more)
        #expect(bench.send([1]) == .pause)
        while bench.sink.resumes == 0, case .bytes = read(bench, 16_384).0 {}
        #expect(bench.sink.resumes == 1)
    }

    @Test("bodies of tunnels are not in the audit")
    func audit() {
        let bench = Bench(audit: { $0.bodies = .all })
        open(bench)
        bench.send(Array("confidential up".utf8))
        bench.deliver("confidential down")
        bench.exchange?.attemptEnded(bench.forwarder.last, AttemptTiming())
        #expect(bench.audit.lines.last?.contains("confidential") == false)
    }
}
