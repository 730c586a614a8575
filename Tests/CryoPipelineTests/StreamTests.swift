// Streams: bytes at once and unchanged, what is counted of them, how long they may be silent.
// Domain: cold

import CryoHTTP
import Foundation
import Testing

@testable import CryoPipeline

let eventStream = [("Content-Type", "text/event-stream")]
private let lineStream = [("Content-Type", "application/x-ndjson")]

func streamRecord(_ bench: Bench) -> [String: Any]? { object(bench.audit.lines.last)["stream"] as? [String: Any] }

extension Bench {
    /// An answer that goes on, in chunks.
    func open(_ fields: [(String, String)] = eventStream, status: UInt16 = 200, framing: BodyFraming = .chunked) {
        exchange?.attemptReceivedHead(forwarder.last, ResponseHead(status: status, fields: section(fields)), framing: framing)
    }

    func end() { exchange?.attemptEnded(forwarder.last, AttemptTiming()) }
}

@Suite("Streams pass by and are counted")
struct StreamTests {
    @Test("events are counted with their times, largest gap and last id, and pass as they come")
    func events() {
        let bench = Bench(withToken: false)
        bench.begin(requestHead())
        bench.advance(milliseconds: 5)
        bench.open()
        var sent = ""
        for (wait, piece) in [(10, "id: 1\ndata: a\n\n: c\n\nda"), (40, "ta: b\n\nid: zwei\ndata: c\n\n"), (20, "data: open")] {
            bench.advance(milliseconds: UInt64(wait))
            bench.deliver(piece)
            sent += piece
            #expect(bench.reply == sent)
        }
        bench.end()
        let stream = streamRecord(bench)
        #expect(stream?["type"] as? String == "event_stream" && stream?["events"] as? Int == 3)
        #expect(stream?["bytes"] as? Int == sent.utf8.count && stream?["last_event_id"] as? String == "zwei")
        #expect(stream?["first_event_us"] as? Int == 15_000 && stream?["last_event_us"] as? Int == 55_000)
        #expect(stream?["largest_gap_us"] as? Int == 40_000 && stream?["incomplete"] as? Bool == true)
        #expect(bench.sink.ending == .finished)
    }

    @Test(
        "each kind of stream has its own units",
        arguments: [
            ("application/x-ndjson", "{\"a\":1}\n\r\n\n{\"a\":2}\r\n{\"a\":3}", "ndjson", 3),
            ("application/jsonl; charset=utf-8", "1\n", "ndjson", 1), ("application/stream+json", "1\n2\n", "ndjson", 2),
            ("application/json-seq", "\u{1E}{\n\"a\":1}\n\u{1E}2\n", "json_seq", 2),
            ("application/geo+json-seq", "\u{1E}1\n", "json_seq", 1),
            ("text/event-stream; charset=utf-8", "data: a\r\rdata: b\r\n\r\n", "event_stream", 2),
            ("text/event-stream", "", "event_stream", 0),
        ])
    func kinds(type: String, body: String, kind: String, count: Int) {
        // A policy that would judge JSON leaves all of them alone.
        for policy in [nil, envelope()] {
            let bench = Bench(withToken: false, policy: policy)
            bench.begin(requestHead())
            bench.open([("Content-Type", type)])
            for byte in Array(body.utf8) { _ = [byte].withUnsafeBytes { bench.exchange?.attemptReceivedBody(bench.forwarder.last, $0) } }
            #expect(bench.reply == body)
            bench.end()
            #expect(streamRecord(bench)?["type"] as? String == kind && streamRecord(bench)?["events"] as? Int == count)
            #expect(streamRecord(bench)?["incomplete"] == nil && bench.sink.ending == .finished)
        }
    }

    @Test("a coded stream is passed on unread, and the record says why; identity is no coding")
    func coded() {
        let bench = Bench(withToken: false)
        bench.begin(requestHead())
        bench.open(eventStream + [("Content-Encoding", "gzip")])
        bench.deliver("data: a\n\n")
        bench.end()
        let stream = streamRecord(bench)
        #expect(stream?["coding"] as? String == "gzip" && stream?["events"] is NSNull && stream?["bytes"] as? Int == 9)
        #expect(lines(bench.sink.fields).contains("Content-Encoding: gzip"))
        let plain = Bench(withToken: false)
        plain.begin(requestHead())
        plain.open(eventStream + [("Content-Encoding", "Identity")])
        plain.deliver("data: a\n\n")
        plain.end()
        #expect(streamRecord(plain)?["events"] as? Int == 1 && streamRecord(plain)?["coding"] == nil)
    }

    @Test("no other answer has a stream in its record: JSON, a failure of a stream's type, HEAD, 204")
    func others() {
        for (method, status, fields) in [
            ("GET", 200, [("Content-Type", "application/json")]), ("GET", 200, []), ("GET", 500, eventStream), ("HEAD", 200, eventStream),
            ("GET", 204, eventStream),
        ] {
            let bench = Bench(withToken: false)
            bench.begin(requestHead(method: method))
            bench.open(fields, status: UInt16(status), framing: method == "HEAD" || status == 204 ? .none : .chunked)
            bench.end()
            #expect(streamRecord(bench) == nil && bench.exchange?.stream == nil)
        }
    }

    @Test("a first event that was held for judgement is counted like those that follow")
    func heldFirstEvent() {
        let bench = Bench(withToken: false, policy: envelope { $0.streams = .firstEvent })
        bench.begin(requestHead())
        bench.open()
        bench.deliver("data: {\"code\"")
        #expect(bench.reply.isEmpty)
        bench.deliver(":0}\n\ndata: x\n\n")
        bench.deliver("data: y\n\n")
        bench.end()
        #expect(streamRecord(bench)?["events"] as? Int == 3 && streamRecord(bench)?["bytes"] as? Int == bench.reply.utf8.count)
    }

    @Test("what is counted of a route: streams open, begun, and their events as they come")
    func counted() {
        let statistics = ExchangeStatistics(workers: 1, routes: ["api"], upstreams: ["api"], replacing: nil)
        let bench = Bench(withToken: false, statistics: statistics)
        func counts() -> [UInt64] { StreamCount.allCases.map { statistics.routes["api"]?.streams.sum($0.rawValue) ?? .max } }
        bench.begin(requestHead())
        bench.open()
        #expect(counts().starts(with: [1, 0, 0]))
        bench.deliver("data: a\n\ndata: b\n\n")
        #expect(counts().starts(with: [1, 0, 2]))
        bench.exchange?.clientGone()
        #expect(counts().starts(with: [1, 1, 2]))
    }

    @Test("streams of all kinds may be silent for an hour, whatever idle_ms of the upstream is", arguments: [eventStream, lineStream])
    func silence(fields: [(String, String)]) {
        let bench = Bench(withToken: false, upstream: { $0.timeouts.idleMilliseconds = 100 })
        bench.begin(requestHead())
        bench.open(fields)
        bench.deliver("data: a\n\n")
        bench.advance(milliseconds: 3_599_999)
        #expect(bench.sink.ending == .open)
        bench.advance(milliseconds: 1)
        #expect(bench.sink.ending == .aborted && object(bench.audit.lines.last)["failure"] as? [String: String] != nil)
    }
}

@Suite("X-Accel-Buffering")
struct BufferingTests {
    @Test(
        "an answer of unknown length that says no is passed on as it comes, and the field with it; else the policy judges",
        arguments: [
            ("no", BodyFraming.chunked, true), ("NO", .untilClose, true), ("yes", .chunked, false), ("", .chunked, false),
            ("no", .length(10), false),
        ])
    func held(value: String, framing: BodyFraming, passes: Bool) {
        let bench = Bench(withToken: false, policy: envelope())
        bench.begin(requestHead())
        bench.open([("Content-Type", "application/json"), ("X-Accel-Buffering", value)], framing: framing)
        bench.deliver(#"{"code":7,"#)
        #expect(bench.reply == (passes ? #"{"code":7,"# : ""))
        bench.deliver(#""msg":1}"#)
        bench.end()
        #expect(bench.sink.status == (passes ? 200 : 422))
        #expect(lines(bench.sink.fields).contains("X-Accel-Buffering: \(value)"))
    }

    @Test("it does not take a failure from the policy, nor the first event from one that judges it")
    func stillJudged() {
        let field = ("X-Accel-Buffering", "no")
        let status = Bench(withToken: false, policy: envelope())
        status.begin(requestHead())
        status.open([field], status: 500)
        status.end()
        #expect(status.sink.status == 500 && status.reply.contains("upstream_status"))
        let event = Bench(withToken: false, policy: envelope { $0.streams = .firstEvent })
        event.begin(requestHead())
        event.open(eventStream + [field])
        event.deliver("data: {\"code\":7}\n\n")
        #expect(event.sink.status == 422)
    }
}
