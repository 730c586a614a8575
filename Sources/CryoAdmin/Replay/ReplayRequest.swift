// A request that goes through the gateway once more, and the answer it gets.
// Domain: cold

import CryoHTTP
package import CryoPipeline

package struct ReplayRequest: Sendable {
    package var method: String
    /// Origin form.
    package var target: String
    package var fields: [(name: String, value: String)]
    package var body: [UInt8]

    package init(method: String, target: String, fields: [(name: String, value: String)], body: [UInt8]) {
        self.method = method
        self.target = target
        self.fields = fields
        self.body = body
    }

    /// The head as a client would send it. Framing is ours to say, and nothing in a value can become a line of its own.
    package func head(defaultHost: String, clientKey: Secret?) throws(ReplayRefusal) -> [UInt8] {
        guard Self.isToken(method), method != "CONNECT" else { throw ReplayRefusal("method is no method") }
        guard target == "*" || target.hasPrefix("/"), target.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
            throw ReplayRefusal("target begins with a slash and has no space")
        }
        var bytes = Array("\(method) \(target) HTTP/1.1\r\n".utf8)
        var hasHost = false
        for field in fields where !Self.isOurs(field.name) {
            guard Self.isToken(field.name), field.value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else {
                throw ReplayRefusal("a header can't be sent as it is")
            }
            hasHost = hasHost || field.name.lowercased() == "host"
            bytes.append(contentsOf: "\(field.name): \(field.value)\r\n".utf8)
        }
        if !hasHost { bytes.append(contentsOf: "Host: \(defaultHost)\r\n".utf8) }
        if !body.isEmpty || !["GET", "HEAD", "OPTIONS", "TRACE", "DELETE"].contains(method) {
            bytes.append(contentsOf: "Content-Length: \(body.count)\r\n".utf8)
        }
        if let clientKey {
            bytes.append(contentsOf: "X-CryoNet-Key: ".utf8)
            clientKey.withBytes { bytes.append(contentsOf: $0) }
            bytes.append(contentsOf: "\r\n".utf8)
        }
        return bytes + Array("\r\n".utf8)
    }

    private static func isToken(_ text: String) -> Bool { Array(text.utf8).withUnsafeBytes { CryoHTTP.isToken($0) } }

    private static func isOurs(_ name: String) -> Bool {
        let lowered = Array(name.lowercased().utf8)
        return lowered.withUnsafeBytes { isHopByHop($0) } || ["content-length", "expect", "x-cryonet-key"].contains(name.lowercased())
    }
}

package struct ReplayAnswer: Sendable {
    /// Of the new exchange.
    package var id = ""
    package var status: UInt16 = 0
    package var fields: [(name: String, value: String)] = []
    package var body: [UInt8] = []
    /// The answer broke off, or went on after what is kept of it.
    package var isCut = false
    package var durationMicroseconds: UInt64 = 0

    package init() {}
}

/// Why a request can't be sent. Holds nothing of it.
package struct ReplayRefusal: Error, Sendable {
    package let text: String
    package init(_ text: String) { self.text = text }
}

/// Where clients reach the gateway.
package struct ClientAddress: Sendable {
    /// `http://127.0.0.1:8080`
    package var base: String
    package var unixSocket: String?

    package init(base: String, unixSocket: String? = nil) {
        self.base = base
        self.unixSocket = unixSocket
    }
}
