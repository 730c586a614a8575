// Calls of token sources: one request, one answer, bounded.
// Domain: cold

import CryoTestSupport
import CryoUpstream
import Testing

@Suite(.serialized) struct BlockingHTTPClientTests {
    private func call(
        _ port: UInt16, _ method: String, headers: [(name: String, value: String)] = [], body: String = "", milliseconds: UInt32 = 20_000
    )
        -> Result<HTTPAnswer, CallFailure>
    {
        BlockingHTTPClient.perform(
            method: method, url: "http://127.0.0.1:\(port)/token", headers: headers, body: Array(body.utf8),
            timeoutMilliseconds: milliseconds,
            caFile: nil)
    }

    private func kind(_ result: Result<HTTPAnswer, CallFailure>) -> CallFailure.Kind? {
        if case .failure(let failure) = result { failure.kind } else { nil }
    }

    @Test("a call sends its method, headers and body, and a redirect is an answer like any other")
    func post() throws {
        let server = RawServer { server, connection in
            guard let head = connection.readHead(), let body = connection.read(3) else { return }
            server.note(head + String(decoding: body, as: UTF8.self))
            connection.write("HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 2\r\n\r\nok")
        }
        let answer = try call(server.port, "POST", headers: [("Content-Type", "application/json")], body: "abc").get()
        #expect(answer.status == 302 && answer.body == Array("ok".utf8))
        #expect(server.notes.count == 1)
        #expect(server.notes.first?.hasPrefix("POST /token HTTP/1.1\r\n") == true)
        #expect(server.notes.first?.contains("Content-Type: application/json\r\n") == true)
        #expect(server.notes.first?.hasSuffix("\r\n\r\nabc") == true)
    }

    @Test("silence, an answer that is too large, a dead port and a broken header are told apart")
    func failures() {
        let silent = RawServer { _, connection in _ = connection.read(until: "never") }
        #expect(kind(call(silent.port, "GET", milliseconds: 50)) == .timeout)
        let large = RawServer { _, connection in
            guard connection.readHead() != nil else { return }
            connection.write("HTTP/1.1 200 OK\r\n\r\n")
            connection.write([UInt8](repeating: 0x61, count: BlockingHTTPClient.answerBytesMax + 1))
        }
        #expect(kind(call(large.port, "GET")) == .tooLarge)
        #expect(kind(call(RawServer.deadPort(), "GET")) == .connect)
        #expect(kind(call(1, "GET", headers: [("X", "a\r\nY: b")])) == .invalid)
    }
}
