// What becomes of event streams whose upstream is lost: cut, or told in an event.
// Domain: cold

import CryoHTTP
import Foundation
import Testing

@testable import CryoPipeline

func lossBench(
    _ loss: StreamSettings.Loss, withToken: Bool = false, policy: PolicyPlan? = nil, statistics: ExchangeStatistics? = nil,
    _ change: (inout StreamSettings) -> Void = { _ in }
) -> Bench {
    Bench(
        withToken: withToken, policy: policy,
        route: {
            $0.streams.onLoss = loss
            $0.streams.reconnect.delayMilliseconds = 100
            change(&$0.streams)
        }, statistics: statistics)
}

func lossOutcome(_ bench: Bench, _ step: String) -> String? {
    (object(bench.audit.lines.last)["steps"] as? [String: Any])?[step] as? String
}

/// The failure in the error event that the reply ends with.
func errorEvent(_ bench: Bench, after events: String) -> [String: Any] {
    let start = events + "event: error\ndata: "
    #expect(bench.reply.hasPrefix(start) && bench.reply.hasSuffix("\n\n"))
    guard bench.reply.hasPrefix(start) else { return [:] }
    let json = bench.reply.dropFirst(start.count).dropLast(2)
    #expect(!json.contains("\n"))
    return object(String(json))
}

@Suite("A lost stream tells why")
struct StreamErrorEventTests {
    @Test("the failure is the last event, and the reply is cut behind it")
    func told() {
        let bench = lossBench(.errorEvent)
        bench.begin(requestHead("/t", ["Accept-Language: en"]))
        bench.open()
        bench.deliver("data: a\n\n")
        bench.fail(.truncated)
        let failure = errorEvent(bench, after: "data: a\n\n")
        #expect(failure["reason"] as? String == "response_truncated" && failure["kind"] as? String == "network")
        #expect(failure["statusCode"] as? Int == 200 && failure["message"] as? String == "The upstream's answer ended too early.")
        #expect(failure["responseData"] is NSNull && failure["attempts"] as? Int == 1)
        #expect(bench.sink.ending == .aborted && lossOutcome(bench, "reply") == "truncated")
        #expect(streamRecord(bench)?["error_event"] as? Bool == true && bench.sink.callsAfterEnd == 0)
    }

    @Test("silence is told as such")
    func silence() {
        let bench = lossBench(.errorEvent) { $0.idleMilliseconds = 500 }
        bench.begin(requestHead())
        bench.open()
        bench.advance(milliseconds: 500)
        #expect(errorEvent(bench, after: "")["reason"] as? String == "upstream_timed_out")
        #expect(bench.sink.ending == .aborted && bench.forwarder.attempts[0].isCancelled)
    }

    @Test(
        "what has come of an event that is not whole never reaches the client: no parser could make it undone",
        arguments: ["data: half", "id: 7\ndata: half\n", "event: x\r\nda", ": c"])
    func half(piece: String) {
        let bench = lossBench(.errorEvent)
        bench.begin(requestHead())
        bench.open()
        bench.deliver("data: a\n\n" + piece)
        #expect(bench.reply == "data: a\n\n")
        bench.fail(.reset)
        #expect(errorEvent(bench, after: "data: a\n\n")["step"] as? String == "normalize")
    }

    @Test("a proper end brings everything, an event without its blank line too, byte for byte in any pieces", arguments: [1, 2, 3, 7, 100])
    func properEnd(size: Int) {
        let stream = Array("\u{FEFF}: c\r\n\r\nid: 1\rdata: a\r\rretry: 9\n\ndata: b\ndata: c\n\n\n: d\ndata: open".utf8)
        let bench = lossBench(.errorEvent)
        bench.begin(requestHead())
        bench.open()
        for start in stride(from: 0, to: stream.count, by: size) {
            _ = stream[start..<min(start + size, stream.count)].withUnsafeBytes {
                bench.exchange?.attemptReceivedBody(bench.forwarder.last, $0)
            }
        }
        bench.end()
        #expect(bench.sink.body == stream && bench.sink.ending == .finished && streamRecord(bench)?["events"] as? Int == 3)
    }

    @Test("an event up to the bound is held, a longer one goes on as it comes and can only be cut")
    func bound() {
        for (length, isHeld) in [(StreamHold.eventBytesMax, true), (StreamHold.eventBytesMax + 1, false)] {
            let bench = lossBench(.errorEvent)
            bench.begin(requestHead())
            bench.open()
            let part = "data: " + String(repeating: "x", count: length - 6)
            bench.deliver(part)
            #expect(bench.reply == (isHeld ? "" : part))
            bench.deliver("\n\ndata: b")
            #expect(bench.reply == part + "\n\n")
            bench.fail(.truncated)
            #expect(errorEvent(bench, after: part + "\n\n")["reason"] != nil)
        }
        let cut = lossBench(.errorEvent)
        cut.begin(requestHead())
        cut.open()
        cut.deliver("data: " + String(repeating: "x", count: StreamHold.eventBytesMax))
        cut.deliver("y")
        cut.fail(.truncated)
        #expect(cut.reply.hasSuffix("xy") && cut.sink.ending == .aborted && streamRecord(cut)?["error_event"] == nil)
    }

    @Test("no event where nobody asked for one, nor on lines, coded streams, known lengths and for old clients")
    func excluded() {
        let cases: [(StreamSettings.Loss, [(String, String)], BodyFraming, String)] = [
            (.cut, eventStream, .chunked, "HTTP/1.1"), (.errorEvent, [("Content-Type", "application/jsonl")], .chunked, "HTTP/1.1"),
            (.errorEvent, eventStream + [("Content-Encoding", "br")], .chunked, "HTTP/1.1"),
            (.errorEvent, eventStream, .length(99), "HTTP/1.1"),
            (.reconnect, eventStream, .untilClose, "HTTP/1.0"),
        ]
        for (loss, fields, framing, version) in cases {
            let bench = lossBench(loss)
            bench.begin(requestHead(version: version))
            bench.open(fields, framing: framing)
            bench.deliver("data: a\n\nda")
            bench.fail(.truncated)
            #expect(bench.reply == "data: a\n\nda" && bench.sink.ending == .aborted && bench.forwarder.attempts.count == 1)
        }
    }

    @Test("it is told in the policy's shape, and no secret with it")
    func shape() {
        let bench = lossBench(.errorEvent, policy: envelope { $0.failureFormat = .message })
        bench.begin(requestHead("/t", ["Accept-Language: en"]))
        bench.open()
        bench.fail(.truncated)
        #expect(bench.reply == "event: error\ndata: {\"message\":\"The upstream's answer ended too early.\"}\n\n")
    }
}
