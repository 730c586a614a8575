// Replies that are not complete without their audit record, and exchanges that wait for the audit.
// Domain: cold

import CryoHTTP
import Testing

@testable import CryoPipeline

@Suite("An exchange whose audit record must be written")
struct ExchangeCertainAuditTests {
    private let json = [("Content-Type", "application/json"), ("Content-Length", "2")]

    private func bench(_ full: AuditSinkSettings.Full, policy: PolicyPlan? = nil) -> Bench {
        Bench(policy: policy, audit: { $0.sink.onFull = full })
    }

    private func confirm(_ bench: Bench, _ isWritten: Bool) {
        bench.audit.confirmAll(isWritten)
        bench.scheduler.queue.run()
    }

    @Test("a short reply is withheld whole until its record is written")
    func withheld() {
        let bench = bench(.refuse)
        bench.begin(requestHead())
        bench.answer(200, json, "{}")
        #expect(bench.sink.status == 0 && bench.audit.lines.count == 1 && bench.audit.waiters == 1)
        #expect(bench.counters.open == 1)
        confirm(bench, true)
        #expect(bench.sink.status == 200 && bench.reply == "{}" && bench.sink.ending == .finished)
        #expect(bench.counters.open == 0)
        // Once is enough.
        bench.advance(milliseconds: 20_000)
        #expect(bench.reply == "{}")
    }

    @Test("when the record can't be written the client gets a 503 instead, and nothing of the answer")
    func refused() {
        let bench = bench(.refuse)
        bench.begin(requestHead())
        bench.answer(200, json, "{}")
        confirm(bench, false)
        #expect(bench.sink.status == 503 && bench.reply.contains("\"reason\":\"audit_unavailable\"") && bench.sink.ending == .finished)
        #expect(bench.counters.open == 0)
    }

    @Test("an audit that never answers is one that does not write")
    func hung() {
        let bench = bench(.refuse)
        bench.begin(requestHead())
        bench.answer(200, json, "{}")
        bench.advance(milliseconds: 9_999)
        #expect(bench.sink.status == 0)
        bench.advance(milliseconds: 1)
        #expect(bench.sink.status == 503)
        confirm(bench, true)
        #expect(bench.sink.status == 503 && bench.counters.open == 0)
    }

    @Test("of a longer reply the last piece is withheld; it is cut off when the record can't be written", arguments: [true, false])
    func lastPiece(isWritten: Bool) {
        let bench = bench(.refuse)
        bench.begin(requestHead())
        let id = bench.forwarder.last
        bench.exchange?.attemptReceivedHead(id, ResponseHead(status: 200, fields: section([])), framing: .length(6))
        bench.deliver("one")
        #expect(bench.sink.status == 200 && bench.reply == "one")
        bench.deliver("two")
        #expect(bench.reply == "one")
        bench.exchange?.attemptEnded(id, AttemptTiming())
        #expect(bench.reply == "one" && bench.sink.ending == .open)
        confirm(bench, isWritten)
        #expect(bench.reply == (isWritten ? "onetwo" : "one"))
        #expect(bench.sink.ending == (isWritten ? .finished : .aborted))
    }

    @Test("events pass as they come; only the end of the stream is withheld", arguments: [true, false])
    func stream(isWritten: Bool) {
        let bench = bench(.refuse)
        bench.begin(requestHead())
        let id = bench.forwarder.last
        bench.exchange?.attemptReceivedHead(id, ResponseHead(status: 200, fields: section([])), framing: .chunked)
        #expect(bench.sink.status == 200)
        bench.deliver("event")
        #expect(bench.reply == "event")
        bench.exchange?.attemptEnded(id, AttemptTiming())
        #expect(bench.sink.ending == .open)
        confirm(bench, isWritten)
        #expect(bench.sink.ending == (isWritten ? .finished : .aborted))
    }

    @Test("while no record can be written nothing goes to the upstream, and the refusal itself asks again")
    func notForwarded() {
        let bench = bench(.refuse)
        bench.audit.isWritable = false
        bench.begin(requestHead())
        #expect(bench.forwarder.attempts.isEmpty && bench.audit.lines.count == 1)
        confirm(bench, true)
        #expect(bench.sink.status == 503 && bench.reply.contains("audit_unavailable"))
    }

    @Test("a client that leaves while its reply waits gets nothing, and the exchange ends")
    func clientLeaves() {
        let bench = bench(.refuse)
        bench.begin(requestHead())
        bench.answer(200, json, "{}")
        bench.exchange?.clientGone()
        confirm(bench, true)
        #expect(bench.counters.open == 0 && bench.audit.lines.count == 1)
    }

    @Test("with block an exchange waits, keeps its body, and goes on when records are taken again")
    func blocks() {
        let bench = bench(.block)
        bench.audit.isWritable = false
        bench.begin(requestHead(method: "POST", ["Content-Length: 4"]), body: Array("body".utf8))
        bench.advance(milliseconds: 5_000)
        #expect(bench.forwarder.attempts.isEmpty && bench.sink.status == 0)
        bench.audit.isWritable = true
        bench.advance(milliseconds: 50)
        #expect(bench.forwarder.attempts.count == 1 && bench.readBody(0) == Array("body".utf8))
        bench.answer(200, json, "{}")
        // Nothing is withheld.
        #expect(bench.sink.status == 200 && bench.sink.ending == .finished)
    }

    @Test("its patience has an end")
    func patience() {
        let bench = bench(.block)
        bench.audit.isWritable = false
        bench.begin(requestHead())
        bench.advance(milliseconds: 9_999)
        #expect(bench.sink.status == 0)
        bench.advance(milliseconds: 51)
        #expect(bench.sink.status == 503 && bench.reply.contains("audit_unavailable") && bench.counters.open == 0)
    }

    @Test("with drop nothing waits")
    func drops() {
        let bench = bench(.drop)
        bench.audit.isWritable = false
        bench.begin(requestHead())
        bench.answer(200, json, "{}")
        #expect(bench.sink.status == 200 && bench.sink.ending == .finished)
    }
}
