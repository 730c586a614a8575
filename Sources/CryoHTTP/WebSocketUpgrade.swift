// Whether a request asks to turn its connection into a WebSocket, and whether an answer agrees (RFC 6455 §4, RFC 9110 §7.8).
// Domain: pure

/// True for what may be passed on as an upgrade: HTTP/1.1 (RFC 9110 §7.8 ignores the field in 1.0), GET without a body, and `websocket`
/// among the protocols. Any other protocol, `h2c` above all, is not asked for on the client's behalf: the field is dropped.
package func asksForWebSocket(_ head: RequestHead) -> Bool {
    head.minorVersion == 1 && head.framing == .none && head.isMethod("GET")
        && head.fields.listContains("upgrade", token: "websocket") && head.fields.listContains("connection", token: "upgrade")
}

/// True when the upstream has switched to what was asked for. A 101 without these fields names no protocol: nobody may go on.
package func agreesToWebSocket(_ head: ResponseHead) -> Bool {
    head.status == 101 && head.fields.listContains("upgrade", token: "websocket")
        && head.fields.listContains("connection", token: "upgrade")
}
