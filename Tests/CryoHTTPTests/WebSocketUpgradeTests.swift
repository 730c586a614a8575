// Which requests ask for a WebSocket, and which answers agree.
// Domain: cold

import Testing

@testable import CryoHTTP

@Suite("Upgrades")
struct WebSocketUpgradeTests {
    private func asks(_ line: String, _ fields: [String], body: String = "") -> Bool? {
        var parser = RequestParser(limits: HeadLimits())
        let raw = latin(([line, "Host: a"] + fields).joined(separator: "\r\n") + "\r\n\r\n" + body)
        guard case .head(let head, _) = raw.withUnsafeBytes({ parser.parse($0) }) else { return nil }
        return asksForWebSocket(head)
    }

    @Test(
        "a GET in HTTP/1.1 that names websocket in Upgrade and upgrade in Connection asks for it, in any case and in lists",
        arguments: [
            ["Connection: Upgrade", "Upgrade: websocket"], ["connection: keep-alive, UPGRADE", "upgrade: WebSocket"],
            ["Connection: keep-alive", "Connection: upgrade", "Upgrade: h2c, websocket"],
        ])
    func asking(fields: [String]) {
        #expect(asks("GET / HTTP/1.1", fields) == true)
    }

    @Test("another method or version, a body, another protocol, or a missing field does not ask")
    func notAsking() {
        let both = ["Connection: Upgrade", "Upgrade: websocket"]
        #expect(asks("GET / HTTP/1.0", both) == false)
        #expect(asks("OPTIONS / HTTP/1.1", both) == false)
        #expect(asks("GET / HTTP/1.1", both + ["Content-Length: 1"], body: "a") == false)
        #expect(asks("GET / HTTP/1.1", both + ["Transfer-Encoding: chunked"]) == false)
        #expect(asks("GET / HTTP/1.1", ["Upgrade: websocket"]) == false)
        #expect(asks("GET / HTTP/1.1", ["Connection: Upgrade"]) == false)
        #expect(asks("GET / HTTP/1.1", ["Connection: Upgrade", "Upgrade: h2c"]) == false)
        #expect(asks("GET / HTTP/1.1", ["Connection: Upgrade", "Upgrade: websocket/13"]) == false)
        #expect(asks("GET / HTTP/1.1", ["Connection: X-Upgrade", "Upgrade: websocket"]) == false)
    }

    @Test("an answer agrees with 101 and both fields, and with nothing less")
    func agreeing() {
        let both = [("Upgrade", "websocket"), ("Connection", "upgrade")]
        #expect(agreesToWebSocket(ResponseHead(status: 101, fields: section(both))))
        #expect(!agreesToWebSocket(ResponseHead(status: 200, fields: section(both))))
        #expect(!agreesToWebSocket(ResponseHead(status: 101, fields: section([both[0]]))))
        #expect(!agreesToWebSocket(ResponseHead(status: 101, fields: section([both[1]]))))
        #expect(!agreesToWebSocket(ResponseHead(status: 101, fields: section([("Upgrade", "h2c"), both[1]]))))
    }
}
