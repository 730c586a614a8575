// A webhook as its receiver sees it.
// Domain: cold

import CryoPipeline
import CryoTestSupport
import Testing

@testable import CryoHooks

private let event = HookEvent(kind: .failure, body: Array(#"{"a":1}"#.utf8))

@Suite("A webhook")
struct WebhookTests {
    private func webhook(_ port: UInt16, secret: String? = nil, timeout: UInt32 = 10_000) -> Webhook {
        Webhook(
            HookSettings.Webhook(url: "http://127.0.0.1:\(port)/hook?key=1"), secret: secret.map { Secret($0) },
            timeoutMilliseconds: timeout)
    }

    /// Answers each call with that status, and notes head and body.
    private func server(_ status: String) -> RawServer {
        RawServer { server, connection in
            guard let head = connection.readHead() else { return }
            server.note(head)
            server.note(connection.read(7).map { String(decoding: $0, as: UTF8.self) } ?? "")
            connection.write("HTTP/1.1 \(status)\r\nContent-Length: 0\r\nConnection: close\r\nLocation: /elsewhere\r\n\r\n")
        }
    }

    @Test("the signature is the documented one: HMAC-SHA256 over timestamp, full stop, body")
    func signature() {
        // printf '1700000000.{"a":1}' | openssl dgst -sha256 -hmac hook-secret-1234
        #expect(
            Webhook.signature(of: event.body, unixSeconds: 1_700_000_000, secret: Secret("hook-secret-1234"))
                == "e5ede4206454e54351e8afa8b0183c767ab280a0997c62adef6c9e945bd50b1f")
    }

    @Test("the receiver gets a POST with the event's name, its id, its signature, and the body as it is")
    func request() {
        let server = server("204 No Content")
        defer { server.stop() }
        #expect(webhook(server.port, secret: "hook-secret-1234").deliver(event, unixSeconds: 1_700_000_000, id: "ID-1") == nil)
        let head = server.notes.first ?? ""
        #expect(head.hasPrefix("POST /hook?key=1 HTTP/1.1\r\n"))
        for line in [
            "Content-Type: application/problem+json", "CryoNet-Event: failure", "CryoNet-Delivery: ID-1", "Content-Length: 7",
            "CryoNet-Signature: t=1700000000,v1=e5ede4206454e54351e8afa8b0183c767ab280a0997c62adef6c9e945bd50b1f",
        ] { #expect(head.contains("\r\n\(line)\r\n"), "\(line)") }
        #expect(server.notes.last == #"{"a":1}"#)
    }

    @Test("without a secret nothing is signed; configured headers win over ours")
    func plain() {
        var settings = HookSettings.Webhook(url: "http://127.0.0.1:1/")
        settings.headers = [("user-agent", "mine"), ("X-Team", "payments")]
        let headers = Webhook(settings, secret: nil, timeoutMilliseconds: 1).headers(event, unixSeconds: 1, id: "ID")
        #expect(headers.map(\.name) == ["Content-Type", "CryoNet-Event", "CryoNet-Delivery", "user-agent", "X-Team"])
    }

    @Test("everything but a 2xx is a failure, a redirect is not followed", arguments: ["500 No", "302 Found", "404 Not Found"])
    func refused(_ status: String) {
        let server = server(status)
        defer { server.stop() }
        #expect(
            webhook(server.port).deliver(event, unixSeconds: 1, id: "ID") == HookFailure("the webhook answered \(status.prefix(3))"))
        #expect(server.notes.count == 2)
    }

    @Test("a receiver that is not there or does not answer is a failure within its time, and nothing of the URL is told")
    func unreachable() {
        let dead = webhook(RawServer.deadPort()).deliver(event, unixSeconds: 1, id: "ID")
        #expect(dead?.detail.contains("connect") == true && dead?.detail.contains("key") == false)
        let silent = RawServer { _, connection in _ = connection.read(until: "never") }
        defer { silent.stop() }
        #expect(webhook(silent.port, timeout: 50).deliver(event, unixSeconds: 1, id: "ID") != nil)
    }
}
