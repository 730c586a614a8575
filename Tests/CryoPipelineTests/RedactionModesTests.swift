// Hidden values by path, by form field and by cookie; marks that tell equal values; secrets in answers.
// Domain: cold

import CryoHTTP
import CryoJSON
import CryoSync
import Testing

@testable import CryoPipeline

private func redactor(
    _ mark: (@Sendable (UnsafeRawBufferPointer) -> [UInt8])? = nil, _ change: (inout RedactionSettings) -> Void
) -> Redactor {
    var settings = RedactionSettings()
    change(&settings)
    return Redactor(settings, credentials: [], markOf: mark)
}

private func body(_ input: String, _ redactor: Redactor) -> String {
    String(decoding: Array(input.utf8).withUnsafeBytes { redactor.redactBody($0) }, as: UTF8.self)
}

private func header(_ name: String, _ value: String, _ redactor: Redactor) -> String? {
    Array(name.utf8).withUnsafeBytes { name in
        Array(value.utf8).withUnsafeBytes { redactor.redactedHeader(name, $0) }.map { String(decoding: $0, as: UTF8.self) }
    }
}

/// A mark that shows what it stands for, backwards.
private let backwards: @Sendable (UnsafeRawBufferPointer) -> [UInt8] = { Array("<".utf8) + $0.reversed() + Array(">".utf8) }

@Suite("The redactor's modes")
struct RedactionModesTests {
    @Test(
        "a path hides the value it leads to, whole, through arrays, and no other of its name",
        arguments: [
            (#"{"user":{"phone":"1","name":"n"},"phone":"2"}"#, #"{"user":{"phone":"***","name":"n"},"phone":"2"}"#),
            (#"{"user":{"phone":17 },"x":1}"#, #"{"user":{"phone":"***" },"x":1}"#),
            (#"{"User":{"PHONE":null}}"#, #"{"User":{"PHONE":"***"}}"#),
            (#"[{"user":[{"phone":"1"},{"phone":["2",{"a":3}]}]}]"#, #"[{"user":[{"phone":"***"},{"phone":"***"}]}]"#),
            (#"{"user":{"phone":{"home":"1","work":[2]},"a":"b"}}"#, #"{"user":{"phone":"***","a":"b"}}"#),
            (#"{"data":{"user":{"phone":"1"}}}"#, #"{"data":{"user":{"phone":"1"}}}"#),
            (#"{"user":{"phone":"cut of"#, #"{"user":{"phone":"***""#),
            (#"{"user":{"phone":{"home":"1""#, #"{"user":{"phone":"***""#),
            (#"{"user":"phone","x":{"phone":1}}"#, #"{"user":"phone","x":{"phone":1}}"#),
            (#"{"user":{"phones":["1"],"phone" : "a\"b"}}"#, #"{"user":{"phones":["1"],"phone" : "***"}}"#),
        ])
    func paths(input: String, expected: String) {
        #expect(body(input, redactor { $0.json.append("user.phone") }) == expected)
    }

    @Test("values nested deeper than the bound are not followed, at the bound they are")
    func depth() {
        let redactor = redactor { $0.json.append("a.b") }
        func nested(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + #"{"a":{"b":"x"}}"# + String(repeating: "]", count: depth)
        }
        #expect(body(nested(JSONPathRedaction.depthMax - 2), redactor).contains("***"))
        #expect(!body(nested(JSONPathRedaction.depthMax - 1), redactor).contains("***"))
    }

    @Test("random bytes do not upset the walk")
    func noise() {
        var random = SystemRandomNumberGenerator()
        let alphabet = Array(#"{}[]",:\ ab"#.utf8)
        let redactor = redactor { $0.json.append("a.b") }
        for _ in 0..<2000 {
            let bytes = (0..<40).map { _ in alphabet[Int.random(in: 0..<alphabet.count, using: &random)] }
            _ = bytes.withUnsafeBytes { redactor.redactBody($0) }
        }
    }

    @Test("a form field is hidden in forms only")
    func form() {
        let redactor = redactor { $0.form = ["pin"] }
        #expect(body("pin=1&x=2", redactor) == "pin=***&x=2")
        #expect(body(#"{"pin":"1"}"#, redactor) == #"{"pin":"1"}"#)
    }

    @Test("named cookies hide their values; with none named the whole field is hidden")
    func cookies() {
        let named = redactor { $0.cookies = ["sid"] }
        #expect(header("Cookie", "theme=dark; SID=abc; a=b", named) == "theme=dark; SID=***; a=b")
        #expect(header("Set-Cookie", "sid=abc; Path=/; sid=x", named) == "sid=***; Path=/; sid=x")
        #expect(header("Set-Cookie", "theme=dark; Path=/", named) == "theme=dark; Path=/")
        #expect(header("Cookie", "sid", named) == "sid")
        #expect(header("Cookie", "sid=abc; theme=dark", redactor { _ in }) == "***")
        #expect(header("Accept", "x", named) == nil)
    }

    @Test("a mark is that of the value alone, wherever it stands")
    func marks() {
        let redactor = redactor(backwards) {
            $0.cookies = ["sid"]
            $0.json.append("user.phone")
        }
        #expect(body(#"{"password":"abc","user":{"phone":"def"}}"#, redactor) == #"{"password":"<cba>","user":{"phone":"<fed>"}}"#)
        #expect(body("password=abc&x=1", redactor) == "password=<cba>&x=1")
        #expect(header("Authorization", "Bearer abc", redactor) == "Bearer <cba>")
        #expect(header("X-Api-Key", "abc", redactor) == "<cba>")
        #expect(header("Cookie", "sid=abc; x=1", redactor) == "sid=<cba>; x=1")
        let target = Array("/x?token=abc&a=1".utf8).withUnsafeBytes { redactor.redactTarget($0) }
        #expect(String(decoding: target, as: UTF8.self) == "/x?token=<cba>&a=1")
    }
}

@Suite("Secrets in answers")
struct EchoWatchTests {
    private let secret = "a-secret-of-the-gateway"

    private func watch(_ pieces: [String], fields: [(String, String)] = [], tunnel: Bool = false) -> (found: Bool, sent: String) {
        let sink = FakeSink()
        let watch = EchoWatch(sink, Redactor(RedactionSettings(), credentials: [], secrets: [Secret(secret)]), FlippedContent.make)
        if tunnel { watch.letPass() }
        watch.sendHead(status: 200, fields: section(fields), framing: .chunked)
        for piece in pieces { _ = Array(piece.utf8).withUnsafeBytes { watch.sendBody($0) } }
        watch.finish()
        return (watch.hasFound, String(decoding: sink.body, as: UTF8.self))
    }

    @Test("a secret is found in one piece, across any border, in many small pieces, and in a header; the bytes pass unchanged")
    func finds() {
        let text = "before \(secret) after"
        #expect(watch([text]) == (true, text))
        for border in 0...text.utf8.count {
            let pieces = [String(text.prefix(border)), String(text.dropFirst(border))]
            #expect(watch(pieces) == (true, text))
        }
        for size in 1...9 {
            let pieces = stride(from: 0, to: text.count, by: size).map { String(text.dropFirst($0).prefix(size)) }
            #expect(watch(pieces) == (true, text))
        }
        #expect(watch([], fields: [("X-Token", "Bearer \(secret)")]).found)
    }

    @Test("behind a content coding a secret is found across any border; the bytes pass as they are")
    func findsCoded() {
        let text = "before \(secret) after"
        for border in 0...text.utf8.count {
            let sink = FakeSink()
            let watch = EchoWatch(sink, Redactor(RedactionSettings(), credentials: [], secrets: [Secret(secret)]), FlippedContent.make)
            watch.sendHead(status: 200, fields: section([("Content-Encoding", "flip")]), framing: .chunked)
            for piece in [text.prefix(border), text.dropFirst(border)] {
                _ = flipped(String(piece)).withUnsafeBytes { watch.sendBody($0) }
            }
            #expect(watch.hasFound && sink.body == flipped(text))
        }
    }

    @Test("nothing is found where there is none, or in a tunnel")
    func doesNotFind() {
        let near = String(secret.dropLast()) + "-"
        #expect(watch([near, near, String(secret.dropFirst())]).found == false)
        #expect(watch([secret], tunnel: true).found == false)
    }

    @Test("what was found is in the record and counted")
    func recorded() {
        let told = Mutex<[String]>([])
        let reports = EchoReports { text in told.withLock { $0.append(text) } }
        let bench = Bench(echoes: reports)
        for _ in 0..<3 {
            bench.begin(requestHead())
            bench.answer(200, [("Content-Length", "9")], "token-one")
        }
        bench.begin(requestHead())
        bench.answer(200, [("Content-Length", "9")], "token-two")
        #expect(reports.count == 3 && told.withLock { $0.count } == 1)
        #expect(bench.audit.lines.map { $0.contains("\"secret_echoed\":true") } == [true, true, true, false])
    }
}

@Suite("The audit record")
struct AuditRecordTests {
    private final class CountingDigest: BodyDigest {
        private var count: UInt8 = 0
        func update(_ bytes: UnsafeRawBufferPointer) { count &+= UInt8(truncatingIfNeeded: bytes.count) }
        func finish() -> [UInt8] { [count] }
    }

    @Test(
        "a body that is cut keeps its full length and the digest of all of it",
        arguments: [[30], [3, 27], [10, 20], [11, 19], [1, 1, 28]])
    func cut(pieces: [Int]) {
        var body = AuditedBody()
        for piece in pieces {
            [UInt8](repeating: 0x61, count: piece).withUnsafeBytes { body.take($0, bytesMax: 10) { CountingDigest() } }
        }
        #expect(body.bytes.count == 10 && body.isCut && body.count == 30 && body.takeDigest() == [30] && body.takeDigest() == nil)
    }

    @Test("a body at the bound is whole")
    func whole() {
        var body = AuditedBody()
        [UInt8](repeating: 0x61, count: 10).withUnsafeBytes { body.take($0, bytesMax: 10) { CountingDigest() } }
        #expect(!body.isCut && body.takeDigest() == nil)
    }

    @Test(
        "each level tells what it should",
        arguments: [(AuditSettings.Level.basic, false, false), (.headers, true, false), (.bodies, true, true)])
    func levels(level: AuditSettings.Level, headers: Bool, bodies: Bool) {
        let bench = Bench(audit: {
            $0.level = level
            $0.bodies = .all
        })
        bench.begin(requestHead(method: "POST", ["Content-Length: 2"]), body: Array("in".utf8))
        bench.answer(200, [("Content-Type", "text/plain"), ("Content-Length", "3")], "out")
        let line = bench.audit.lines[0]
        #expect(line.hasPrefix("{\"v\":1,\"time\":\"") && line.contains("\"policy\":null"))
        #expect(line.contains("\"request_headers\"") == headers && line.contains("\"response_headers\"") == headers)
        #expect(line.contains("\"request_body\":\"in\"") == bodies && line.contains("\"response_body\":\"out\"") == bodies)
        #expect(line.contains("\"response_bytes\":3}"))
    }

    @Test("the time is the same as without the kept second, also when the clock jumps back")
    func times() {
        let scratch = AuditScratch()
        for microseconds: Int64 in [0, 1, 999_999, 1_000_000, 1_796_022_000_123_456, 1_796_022_000_123_457, 1_796_021_999_999_999, 5] {
            var writer = JSONWriter()
            scratch.append(time: microseconds, to: &writer)
            #expect(writer.bytes == RFC3339.text(unixMicroseconds: microseconds))
        }
    }

    @Test("outcomes are told as they are, whatever the exchange before ended in")
    func outcomes() {
        let bench = Bench(withToken: false)
        for status: UInt16 in [200, 200, 500, 200] {
            bench.begin(requestHead())
            bench.answer(status)
        }
        bench.begin(requestHead(host: "elsewhere"))
        bench.begin(requestHead())
        bench.answer(200)
        #expect(bench.audit.lines.map { $0.contains("\"route\":\"host_denied\"") } == [false, false, false, false, true, false])
        #expect(bench.audit.lines.allSatisfy { $0.contains("\"audit\":\"written\"") })
    }
}
