// Answers that would carry the gateway's secrets are stopped: a failure while nothing has gone out, a cut connection else.
// Domain: worker

import CryoHTTP
import Testing

@testable import CryoPipeline

@Suite("Secrets kept from clients")
struct EchoGuardTests {
    private let secret = "a-secret-of-the-gateway"
    private static let stream = [("Content-Type", "text/event-stream")]

    private func guarding(_ sink: FakeSink) -> EchoGuard {
        EchoGuard(sink, Redactor(RedactionSettings(), credentials: [], secrets: [Secret(secret)]), FlippedContent.make)
    }

    private func send(
        _ pieces: [String], _ fields: [(String, String)] = [], _ framing: BodyFraming = .chunked, isFlipped: Bool = false
    ) -> FakeSink {
        let sink = FakeSink()
        let watch = guarding(sink)
        let coding = isFlipped ? [("Content-Encoding", "flip")] : []
        watch.sendHead(status: 200, fields: section(fields + coding), framing: framing)
        for piece in pieces { _ = (isFlipped ? flipped(piece) : Array(piece.utf8)).withUnsafeBytes { watch.sendBody($0) } }
        if watch.release() { watch.finish() }
        return sink
    }

    @Test("no byte of a secret leaves, wherever the pieces are cut")
    func stops() {
        let text = "before \(secret) after"
        for border in 0...text.utf8.count {
            let sink = send([String(text.prefix(border)), String(text.dropFirst(border))], Self.stream)
            #expect("before ".hasPrefix(String(decoding: sink.body, as: UTF8.self)) && sink.ending == .open && sink.heads == 1)
        }
        for size in 1...9 {
            let sink = send(stride(from: 0, to: text.count, by: size).map { String(text.dropFirst($0).prefix(size)) }, Self.stream)
            #expect("before ".hasPrefix(String(decoding: sink.body, as: UTF8.self)) && sink.ending == .open)
        }
    }

    @Test("nothing has gone out of an answer in one piece, of a short one of known length, or of one with the secret in its head")
    func replaceable() {
        let long = String(repeating: "x", count: 70_000) + secret
        #expect(send([secret]).heads == 0)
        #expect(send(["one ", "two ", secret], [], .length(31)).heads == 0)
        #expect(send([long], [], .length(UInt64(long.utf8.count))).heads == 0)
        #expect(send(["x"], Self.stream + [("X-Token", "Bearer \(secret)")]).heads == 0)
        #expect(send([String(repeating: "x", count: 70_000), secret], [], .length(UInt64(long.utf8.count))).heads == 1)
    }

    @Test(
        "what holds no secret arrives whole, also what looks like the beginning of one",
        arguments: [BodyFraming.chunked, .length(46), .none])
    func passes(framing: BodyFraming) {
        let near = String(secret.dropLast()) + "-"
        let pieces = framing == .none ? [] : [near, String(near.dropFirst()), "a-"]
        let sink = send(pieces, [("X-Near", near)], framing)
        #expect(String(decoding: sink.body, as: UTF8.self) == pieces.joined() && sink.ending == .finished && sink.heads == 1)
    }

    @Test("a whole event is not delayed, nor the head of a stream")
    func delaysNothing() {
        let sink = FakeSink()
        let watch = guarding(sink)
        watch.sendHead(status: 200, fields: section(Self.stream), framing: .chunked)
        #expect(sink.heads == 1)
        _ = Array("data: a-secret\n\n".utf8).withUnsafeBytes { watch.sendBody($0) }
        #expect(sink.body.count == 16)
        _ = Array("data: a-secret".utf8).withUnsafeBytes { watch.sendBody($0) }
        #expect(sink.body.count == 22)
    }

    @Test("behind a content coding no piece leaves that the content of a secret began in, and none of a short answer")
    func stopsCoded() {
        let text = "before \(secret) after"
        for border in 0...text.utf8.count {
            let pieces = [String(text.prefix(border)), String(text.dropFirst(border))]
            let sink = send(pieces, Self.stream, isFlipped: true)
            // A piece goes out as a whole or not at all.
            let isFirstClean = border <= 7
            #expect(sink.body == (isFirstClean ? flipped(pieces[0]) : []) && sink.ending == .open && sink.heads == 1)
            #expect(send(pieces, [], .length(UInt64(text.utf8.count)), isFlipped: true).heads == 0)
        }
        let long = String(repeating: "x", count: 70_000)
        #expect(send([long, secret], [], .chunked, isFlipped: true).body == flipped(long))
    }

    @Test("behind a content coding what holds no secret arrives whole", arguments: [BodyFraming.chunked, .length(46)])
    func passesCoded(framing: BodyFraming) {
        let near = String(secret.dropLast()) + "-"
        let pieces = [near, String(near.dropFirst()), "a-"]
        let sink = send(pieces, [], framing, isFlipped: true)
        #expect(sink.body == flipped(pieces.joined()) && sink.ending == .finished && sink.heads == 1)
    }

    @Test("what waits for the content of a secret is bounded")
    func waitsBounded() {
        let sink = FakeSink()
        let watch = guarding(sink)
        watch.sendHead(status: 200, fields: section([("Content-Encoding", "flip")]), framing: .chunked)
        let silent = [UInt8](repeating: FlippedContent.nothing, count: Int(EchoGuard.wholeBytesMax) - 3)
        for piece in [flipped("a-s"), silent] { _ = piece.withUnsafeBytes { watch.sendBody($0) } }
        #expect(sink.body.isEmpty)
        _ = [FlippedContent.nothing].withUnsafeBytes { watch.sendBody($0) }
        #expect(sink.body.count == Int(EchoGuard.wholeBytesMax) + 1)
    }

    @Test("what cannot be read as its coding says is looked at as it is")
    func unreadable() {
        let sink = FakeSink()
        let watch = guarding(sink)
        watch.sendHead(status: 200, fields: section([("Content-Encoding", "flip")]), framing: .chunked)
        _ = ([FlippedContent.broken] + flipped("x")).withUnsafeBytes { watch.sendBody($0) }
        #expect(sink.body.count == 2)
        _ = Array(secret.utf8).withUnsafeBytes { watch.sendBody($0) }
        #expect(sink.body.count == 2 && watch.isBlocked)
    }

    @Test("the bytes of a tunnel pass")
    func tunnel() {
        let sink = FakeSink()
        let watch = guarding(sink)
        watch.letPass()
        watch.sendHead(status: 101, fields: section([]), framing: .untilClose)
        _ = Array(secret.utf8).withUnsafeBytes { watch.sendBody($0) }
        #expect(sink.heads == 1 && sink.body == Array(secret.utf8) && !watch.hasFound)
    }

    @Test("the client gets a failure, and record and count say so", arguments: [FailureMode.replace, .annotate, nil])
    func replaced(mode: FailureMode?) {
        let reports = EchoReports { _ in }
        let policy = mode.flatMap { mode in envelope { $0.failureMode = mode } }
        let bench = Bench(policy: policy, echoes: reports, blocksEchoes: true)
        for status in [200, 403] as [UInt16] {
            bench.sink.body = []
            bench.begin(requestHead())
            let fields = [("Content-Type", "application/json"), ("Set-Cookie", "t=token-one")]
            bench.answer(status, fields, "{\"code\":0,\"data\":\"token-one\"}")
            #expect(bench.sink.status == 502 && bench.reply.contains("\"reason\":\"secret_echoed\"") && !bench.reply.contains("token-one"))
            #expect(bench.sink.fields?.contains("set-cookie") == false && bench.counters.open == 0)
            let record = bench.audit.lines.last ?? ""
            #expect(record.contains("\"secret_echoed\":true") && record.contains("\"reply\":\"sent\""))
            #expect(record.contains("\"reason\":\"secret_echoed\"") && record.contains("\"rule\":\"secrets.echo\""))
            bench.sink.ending = .open
        }
        #expect(reports.count == 2)
    }

    @Test("a stream is cut at once")
    func cut() {
        let bench = Bench(echoes: EchoReports { _ in }, blocksEchoes: true)
        bench.begin(requestHead())
        bench.answer(200, Self.stream, "data: one\n\ndata: token-", ends: false)
        #expect(bench.reply == "data: one\n\ndata: " && bench.sink.ending == .open)
        bench.deliver("one\n\n")
        #expect(bench.reply == "data: one\n\ndata: " && bench.sink.ending == .aborted && bench.counters.open == 0)
        let record = bench.audit.lines.last ?? ""
        #expect(record.contains("\"reply\":\"truncated\"") && record.contains("\"reason\":\"secret_echoed\""))
        #expect(record.contains("\"response_bytes\":17,") && record.contains("\"secret_echoed\":true"))
    }

    @Test("where the record must be written first, the failure waits for it as well")
    func certain() {
        let bench = Bench(audit: { $0.sink.onFull = .refuse }, echoes: EchoReports { _ in }, blocksEchoes: true)
        bench.begin(requestHead())
        bench.answer(200, [], "token-one")
        #expect(bench.sink.status == 0)
        bench.audit.confirmAll(true)
        bench.scheduler.queue.run()
        #expect(bench.sink.status == 502 && bench.reply.contains("secret_echoed") && bench.sink.ending == .finished)
    }
}

/// A content coding for tests: every byte with its bits turned around.
final class FlippedContent: ContentReading {
    /// Stands for no content.
    static let nothing: UInt8 = 0
    /// Stands in no body of the coding.
    static let broken: UInt8 = 1

    static func make(_ contentEncoding: UnsafeRawBufferPointer) -> (any ContentReading)? {
        String(decoding: contentEncoding, as: UTF8.self).hasPrefix("flip") ? FlippedContent() : nil
    }

    private var isOver = false

    func take(_ bytes: UnsafeRawBufferPointer, _ give: (UnsafeRawBufferPointer) -> Void) -> Bool {
        isOver = isOver || bytes.contains(Self.broken)
        guard !isOver else { return false }
        bytes.filter { $0 != Self.nothing }.map { ~$0 }.withUnsafeBytes { if !$0.isEmpty { give($0) } }
        return true
    }
}

func flipped(_ text: String) -> [UInt8] { text.utf8.map { ~$0 } }
