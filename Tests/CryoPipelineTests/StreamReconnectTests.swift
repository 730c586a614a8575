// Event streams whose upstream is lost, taken up again: from where, when, how often, and with which token.
// Domain: cold

import CryoHTTP
import Foundation
import Testing

@testable import CryoPipeline

private let renewed = RefreshResult.renewed(NewCredential(token: Secret("token-two")))

@Suite("A lost stream is taken up again")
struct StreamReconnectTests {
    private func start(_ bench: Bench, _ fields: [String] = []) {
        bench.begin(requestHead("/t?x=1", fields))
        bench.open()
        bench.deliver("id: 1\ndata: a\n\nid: 2\ndata: b\n\nid: 3\ndata: half")
        #expect(bench.reply == "id: 1\ndata: a\n\nid: 2\ndata: b\n\n")
    }

    @Test("from the last event on: the same request with Last-Event-ID in the place of the client's, no head, no event twice")
    func goesOn() {
        let statistics = ExchangeStatistics(workers: 1, routes: ["api"], upstreams: ["api"], replacing: nil)
        let bench = lossBench(.reconnect, statistics: statistics)
        start(bench, ["Last-Event-ID: 0", "X-Own: 1"])
        bench.fail(.reset)
        #expect(bench.sink.ending == .open && bench.forwarder.attempts.count == 1)
        bench.advance(milliseconds: 99)
        #expect(bench.forwarder.attempts.count == 1)
        bench.advance(milliseconds: 1)
        #expect(bench.forwarder.attempts.count == 2 && bench.target(1) == "/t?x=1")
        #expect(bench.fields(0).contains("Last-Event-ID: 0"))
        #expect(bench.fields(1).filter { $0.hasPrefix("Last-Event-ID") } == ["Last-Event-ID: 2"] && bench.fields(1).contains("X-Own: 1"))
        bench.open()
        bench.deliver("\u{FEFF}id: 3\ndata: whole\n\n")
        bench.end()
        #expect(bench.reply == "id: 1\ndata: a\n\nid: 2\ndata: b\n\nid: 3\ndata: whole\n\n")
        #expect(bench.sink.heads == 1 && bench.sink.ending == .finished && bench.sink.callsAfterEnd == 0)
        #expect(
            lossOutcome(bench, "retry") == "retried" && lossOutcome(bench, "forward") == "responded"
                && lossOutcome(bench, "reply") == "sent")
        let record = object(bench.audit.lines.last)
        #expect((record["attempts"] as? [[String: Any]])?.compactMap { $0["outcome"] as? String } == ["reset", "responded"])
        #expect(streamRecord(bench)?["resumed"] as? Int == 1 && streamRecord(bench)?["last_event_id"] as? String == "3")
        #expect(statistics.routes["api"]?.streams.sum(StreamCount.reconnects.rawValue) == 1)
        #expect(statistics.routes["api"]?.streams.sum(StreamCount.resumed.rawValue) == 1)
    }

    @Test("silence is a loss too, and heartbeats go on meanwhile")
    func silence() {
        let bench = lossBench(.reconnect) {
            $0.idleMilliseconds = 1_000
            $0.heartbeatMilliseconds = 400
            $0.reconnect.delayMilliseconds = 500
        }
        start(bench)
        for _ in 0..<14 { bench.advance(milliseconds: 100) }
        #expect(bench.forwarder.attempts.count == 1 && bench.forwarder.attempts[0].isCancelled)
        #expect(bench.reply.hasSuffix("data: b\n\n:\n\n:\n\n:\n\n"))
        bench.advance(milliseconds: 100)
        #expect(bench.forwarder.attempts.count == 2)
    }

    @Test("waits double; an event begins the count anew; the limit ends it in an error event")
    func waits() {
        let bench = lossBench(.reconnect)
        start(bench)
        for wait in [100, 200] {
            bench.fail(.connectRefused)
            bench.advance(milliseconds: UInt64(wait - 1))
            let before = bench.forwarder.attempts.count
            bench.advance(milliseconds: 1)
            #expect(bench.forwarder.attempts.count == before + 1)
        }
        bench.open()
        bench.deliver("id: 3\ndata: c\n\n")
        for wait in [100, 200, 400] {
            bench.fail(.reset)
            bench.advance(milliseconds: UInt64(wait))
        }
        #expect(bench.forwarder.attempts.count == 6 && bench.fields(5).contains("Last-Event-ID: 3"))
        bench.fail(.connectRefused)
        #expect(
            bench.sink.ending == .aborted && lossOutcome(bench, "retry") == "limit_reached"
                && lossOutcome(bench, "forward") == "connect_failed")
        let failure = errorEvent(bench, after: "id: 1\ndata: a\n\nid: 2\ndata: b\n\nid: 3\ndata: c\n\n")
        #expect(failure["attempts"] as? Int == 6 && failure["reason"] as? String == "response_truncated")
    }

    @Test("the stream's own retry is obeyed, and gives up where there is no time for it")
    func retryField() {
        let bench = lossBench(.reconnect)
        bench.begin(requestHead())
        bench.open()
        bench.deliver("retry: 2500\n\nid: 1\ndata: a\n\n")
        bench.fail(.reset)
        bench.advance(milliseconds: 2_499)
        #expect(bench.forwarder.attempts.count == 1)
        bench.advance(milliseconds: 1)
        #expect(bench.forwarder.attempts.count == 2)
        bench.open()
        bench.deliver("retry: 99999999999999999999\nid: 2\n\nretry: 30000\nid: 3\n\n")
        bench.fail(.reset)
        #expect(bench.sink.ending == .aborted && lossOutcome(bench, "retry") == "no_time_left" && bench.reply.contains("event: error"))
    }

    @Test("the total time bounds attempts that hang")
    func total() {
        let bench = lossBench(.reconnect) { $0.reconnect.totalMilliseconds = 1_000 }
        start(bench)
        bench.fail(.reset)
        bench.advance(milliseconds: 100)
        bench.advance(milliseconds: 899)
        #expect(bench.sink.ending == .open)
        bench.advance(milliseconds: 1)
        #expect(bench.sink.ending == .aborted && bench.forwarder.attempts[1].isCancelled)
        let patient = benchWithResponse(within: 300)
        start(patient)
        patient.fail(.reset)
        patient.advance(milliseconds: 100)
        patient.advance(milliseconds: 300)
        #expect(patient.forwarder.attempts[1].isCancelled && patient.sink.ending == .open)
        patient.advance(milliseconds: 200)
        #expect(patient.forwarder.attempts.count == 3)
    }

    private func benchWithResponse(within responseMilliseconds: UInt32) -> Bench {
        Bench(
            withToken: false, upstream: { $0.timeouts.responseMilliseconds = responseMilliseconds },
            route: {
                $0.streams.onLoss = .reconnect
                $0.streams.reconnect.delayMilliseconds = 100
            })
    }

    @Test(
        "only where nothing would come twice",
        arguments: [
            ("GET", "id: 1\ndata: a\n\ndata: no id\n\n", false), ("POST", "id: 1\ndata: a\n\n", false),
            ("GET", "id: \u{1}\ndata: a\n\n", false),
            ("GET", "id:  a\ndata: a\n\n", false), ("GET", "id: a \n\n", false), ("GET", "id: 1\ndata: a\n\nretry: 5\n\n: c\n", true),
            ("GET", "id: 1\ndata: a\n\nid: 2\n\n", true), ("GET", "id: é🙂\ndata: a\n\n", true), ("GET", "", true),
            ("GET", ": c\n\ndata: half", true),
            ("GET", "id: " + String(repeating: "x", count: 1023) + "\ndata\n\n", true),
            ("GET", "id: " + String(repeating: "x", count: 1024) + "\ndata\n\n", false),
        ])
    func points(method: String, stream: String, isResumed: Bool) {
        let bench = lossBench(.reconnect)
        bench.begin(requestHead(method: method, ["Last-Event-ID: own"]))
        bench.open()
        bench.deliver(stream)
        bench.fail(.truncated)
        bench.advance(milliseconds: 100)
        #expect((bench.forwarder.attempts.count == 2) == isResumed && (bench.sink.ending == .open) == isResumed)
        if isResumed { #expect(bench.fields(1).filter { $0.hasPrefix("Last-Event-ID: ") }.count == 1) }
        if isResumed, !stream.contains("id:") { #expect(bench.fields(1).contains("Last-Event-ID: own")) }
    }

    @Test("an event that says `id` with nothing begins anew: no id goes along")
    func emptyID() {
        let bench = lossBench(.reconnect)
        bench.begin(requestHead())
        bench.open()
        bench.deliver("id: 1\ndata: a\n\nid\ndata: b\n\n")
        bench.fail(.truncated)
        #expect(bench.sink.ending == .aborted && bench.forwarder.attempts.count == 1)
    }

    @Test("a refused token is refreshed once for each loss")
    func refreshed() {
        let bench = lossBench(.reconnect, withToken: true)
        start(bench)
        bench.fail(.reset)
        bench.advance(milliseconds: 100)
        bench.open([("Content-Type", "application/json")], status: 401)
        #expect(bench.refresher.calls == 1 && bench.forwarder.attempts[1].isCancelled)
        bench.deliver("{}")
        bench.endRefresh(renewed)
        #expect(bench.forwarder.attempts.count == 3 && bench.fields(2).contains("Authorization: Bearer token-two"))
        #expect(bench.fields(2).contains("Last-Event-ID: 2"))
        bench.open()
        bench.deliver("id: 3\ndata: c\n\n")
        #expect(bench.reply.hasSuffix("id: 2\ndata: b\n\nid: 3\ndata: c\n\n"))
        bench.fail(.reset)
        bench.advance(milliseconds: 100)
        bench.open([], status: 401)
        #expect(bench.refresher.calls == 2)
        bench.endRefresh(.renewed(NewCredential(token: Secret("token-three"))))
        bench.open([], status: 401)
        #expect(bench.sink.ending == .aborted && bench.refresher.calls == 2 && bench.reply.contains("event: error"))
        let attempts = object(bench.audit.lines.last)["attempts"] as? [[String: Any]]
        #expect(attempts?.compactMap { $0["status"] as? Int } == [200, 401, 200, 401, 401])
        #expect(attempts?.map { $0["token_refused_by"] as? String } == [nil, "status", nil, "status", nil])
    }

    @Test("a refresh that fails ends the stream; one that hangs ends it in time")
    func refreshFails() {
        for hangs in [false, true] {
            let bench = lossBench(.reconnect, withToken: true)
            start(bench)
            bench.fail(.reset)
            bench.advance(milliseconds: 100)
            bench.open([], status: 401)
            if hangs { bench.advance(milliseconds: 11_001) } else { bench.endRefresh(.rejected(detail: "no")) }
            #expect(bench.sink.ending == .aborted && bench.sink.heads == 1 && bench.sink.callsAfterEnd == 0)
            #expect(lossOutcome(bench, "reply") == "truncated" && lossOutcome(bench, "refresh") == (hangs ? "failed" : "rejected"))
        }
    }

    @Test(
        "what the new answer is decides",
        arguments: [
            (204, [], "finished"), (503, [], "waits"), (429, [], "waits"), (404, [], "ended"), (301, [], "ended"),
            (200, [("Content-Type", "text/html")], "ended"), (200, eventStream + [("Content-Encoding", "gzip")], "ended"),
            (403, [], "ended"),
        ] as [(UInt16, [(String, String)], String)])
    func answers(status: UInt16, fields: [(String, String)], expected: String) {
        let bench = lossBench(.reconnect)
        start(bench)
        bench.fail(.reset)
        bench.advance(milliseconds: 100)
        bench.open(fields, status: status, framing: status == 204 ? .none : .chunked)
        bench.deliver("never seen")
        switch expected {
        case "finished": #expect(bench.sink.ending == .finished && lossOutcome(bench, "reply") == "sent")
        case "waits":
            bench.advance(milliseconds: 200)
            #expect(bench.sink.ending == .open && bench.forwarder.attempts.count == 3)
        default: #expect(bench.sink.ending == .aborted && bench.reply.contains("event: error"))
        }
        #expect(!bench.reply.contains("never seen") && bench.sink.heads == 1)
    }

    private func judging(_ change: (inout TokenSettings) -> Void = { $0.refresh.onBusinessCodes = ["10001"] }) -> Bench {
        Bench(
            policy: envelope { $0.streams = .firstEvent }, tokens: change,
            route: {
                $0.streams.onLoss = .reconnect
                $0.streams.reconnect.delayMilliseconds = 100
            })
    }

    private func lose(_ bench: Bench) {
        bench.begin(requestHead("/t", ["Accept-Language: en"]))
        bench.open()
        bench.deliver("id: 1\ndata: {\"code\":0}\n\n")
        bench.fail(.reset)
        bench.advance(milliseconds: 100)
        bench.open()
    }

    @Test("where first events are judged, the one behind a loss is too: a token it refuses is refreshed, no byte of it is seen")
    func firstEventRefusesToken() {
        let bench = judging()
        lose(bench)
        bench.deliver(": c\n\ndata: {\"code\":")
        bench.deliver("10001}\n\n")
        #expect(bench.refresher.calls == 1 && bench.forwarder.attempts[1].isCancelled)
        bench.endRefresh(renewed)
        bench.open()
        bench.deliver("id: 2\ndata: {\"code\":0,\"n\":2}\n\ndata: x\n\nda")
        bench.deliver("ta: y")
        #expect(bench.reply == "id: 1\ndata: {\"code\":0}\n\nid: 2\ndata: {\"code\":0,\"n\":2}\n\ndata: x\n\n")
        bench.end()
        #expect(bench.reply.hasSuffix("data: y") && bench.sink.ending == .finished && bench.sink.heads == 1)
        let attempts = object(bench.audit.lines.last)["attempts"] as? [[String: Any]]
        #expect(attempts?.map { $0["token_refused_by"] as? String } == [nil, "business_code", nil])
        #expect(streamRecord(bench)?["events"] as? Int == 3)
    }

    @Test("a business failure there is the error event, with its code; what is none goes on")
    func firstEventFails() {
        let bench = judging()
        lose(bench)
        bench.deliver("data: {\"code\":40013,\"msg\":\"no money\"}\n\n")
        let failure = errorEvent(bench, after: "id: 1\ndata: {\"code\":0}\n\n")
        #expect(failure["reason"] as? String == "business_rejected" && failure["businessCode"] as? Int == 40013)
        #expect(failure["message"] as? String == "no money" && bench.sink.ending == .aborted)
        for (pieces, waits) in [
            (["data: [DONE]\n\n"], 0), (["data: {\"code\":4"], 2_000), (["data: " + String(repeating: "x", count: 65_536)], 0),
        ] {
            let other = judging()
            lose(other)
            for piece in pieces { other.deliver(piece) }
            if waits > 0 { other.advance(milliseconds: UInt64(waits)) }
            other.deliver("\n\n")
            other.end()
            #expect(other.reply == "id: 1\ndata: {\"code\":0}\n\n" + pieces.joined() + "\n\n" && other.sink.ending == .finished)
        }
    }

    @Test("a new answer that ends or breaks before its first event is the end, or another loss")
    func firstEventNeverComes() {
        let ended = judging()
        lose(ended)
        ended.deliver(": c\n\ndata: ha")
        ended.end()
        #expect(ended.reply == "id: 1\ndata: {\"code\":0}\n\n: c\n\ndata: ha" && ended.sink.ending == .finished)
        let broken = judging()
        lose(broken)
        broken.deliver(": c\n\ndata: ha")
        broken.fail(.reset)
        broken.advance(milliseconds: 200)
        #expect(broken.forwarder.attempts.count == 3 && broken.sink.ending == .open)
        broken.open()
        broken.deliver("data: {}\n\n")
        #expect(broken.reply == "id: 1\ndata: {\"code\":0}\n\ndata: {}\n\n")
        let busy = judging { $0.refresh.onBusinessCodes = [] }
        lose(busy)
        busy.deliver("data: {\"co")
        busy.exchange?.clientGone()
        #expect(busy.audit.lines.count == 1 && busy.forwarder.attempts[1].isCancelled)
    }

    @Test("a busy upstream is left alone for as long as it asks")
    func retryAfter() {
        let bench = lossBench(.reconnect)
        start(bench)
        bench.fail(.reset)
        bench.advance(milliseconds: 100)
        bench.open([("Retry-After", "5")], status: 503)
        bench.advance(milliseconds: 4_999)
        #expect(bench.forwarder.attempts.count == 2)
        bench.advance(milliseconds: 1)
        #expect(bench.forwarder.attempts.count == 3)
    }

    @Test("however often it helps, one reply is taken up so many times and no more")
    func bound() {
        let bench = lossBench(.reconnect)
        bench.begin(requestHead())
        bench.open()
        for number in 0..<ExchangeMachine.resumesMax {
            bench.deliver("id: \(number)\ndata: x\n\n")
            bench.fail(.reset)
            bench.advance(milliseconds: 100)
            bench.open()
        }
        #expect(bench.sink.ending == .open)
        bench.deliver("id: x\ndata: x\n\n")
        bench.fail(.reset)
        #expect(bench.sink.ending == .aborted && lossOutcome(bench, "retry") == "limit_reached")
        #expect(bench.forwarder.attempts.count == Int(ExchangeMachine.resumesMax) + 1)
    }

    @Test("a client that leaves ends the waiting and the asking")
    func clientGone() {
        let bench = lossBench(.reconnect)
        start(bench)
        bench.fail(.reset)
        bench.exchange?.clientGone()
        bench.advance(milliseconds: 1_000)
        #expect(bench.forwarder.attempts.count == 1 && bench.audit.lines.count == 1 && lossOutcome(bench, "reply") == "client_gone")
    }

    @Test("waits have a part of chance, never less than asked")
    func jitter() {
        let settings = ReconnectSettings()
        for random in [0, 1, .max] as [UInt64] {
            let wait = settings.delayNanoseconds(number: 1, asked: 3_000, retryAfterSeconds: nil, random: random)
            #expect(6_000_000_000...7_500_000_000 ~= wait)
        }
        #expect(settings.delayNanoseconds(number: 0, asked: 0, retryAfterSeconds: nil, random: 9) == 0)
        #expect(settings.delayNanoseconds(number: 60, asked: .max, retryAfterSeconds: .max, random: 0) == 86_400_000_000_000)
    }
}
