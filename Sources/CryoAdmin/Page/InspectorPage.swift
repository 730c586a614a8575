// The inspector page at `/`: one document made of the files under CInspector/Page, with nothing in it from anywhere else.
// Domain: cold

import CInspector
import CryoHTTP
import CryoPipeline

/// The document is put together once. Each answer has its own nonce, so that the browser runs this document's style and script and no
/// other, whatever a hostile exchange may bring into the page.
struct InspectorPage: Sendable {
    private enum Part: Sendable {
        case bytes([UInt8])
        case nonce
    }
    private let parts: [Part]

    init() {
        var files: [(name: String, bytes: [UInt8])] = []
        for index in 0..<cryo_page_count() {
            let file = cryo_page_at(index)
            files.append((String(cString: file.name), Array(UnsafeBufferPointer(start: file.bytes, count: file.count))))
        }
        func join(_ suffix: String) -> [UInt8] { Array(files.filter { $0.name.hasSuffix(suffix) }.map(\.bytes).joined(separator: [0x0A])) }
        parts = Self.fill(join(".html"), style: join(".css"), script: join(".js"))
    }

    /// Puts the marks' contents in their places.
    private static func fill(_ document: [UInt8], style: [UInt8], script: [UInt8]) -> [Part] {
        let marks: [(mark: [UInt8], part: Part)] = [
            (Array("{{nonce}}".utf8), .nonce), (Array("{{style}}".utf8), .bytes(style)), (Array("{{script}}".utf8), .bytes(script)),
        ]
        var parts: [Part] = []
        var plain: [UInt8] = []
        var rest = document[...]
        while let byte = rest.first {
            if byte == 0x7B, let found = marks.first(where: { rest.starts(with: $0.mark) }) {
                parts.append(.bytes(plain))
                parts.append(found.part)
                plain = []
                rest = rest.dropFirst(found.mark.count)
            } else {
                plain.append(byte)
                rest = rest.dropFirst()
            }
        }
        return parts + [.bytes(plain)]
    }

    func reply() -> AdminReply {
        let nonce = Self.makeNonce()
        var body: [UInt8] = []
        for part in parts {
            switch part {
            case .bytes(let bytes): body.append(contentsOf: bytes)
            case .nonce: body.append(contentsOf: nonce.utf8)
            }
        }
        var reply = AdminReply(contentType: "text/html; charset=utf-8", body: body)
        reply.fields = [
            (
                "Content-Security-Policy",
                "default-src 'none'; script-src 'nonce-\(nonce)'; style-src 'nonce-\(nonce)'; connect-src 'self'; img-src data:; "
                    + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
            ),
            ("Referrer-Policy", "no-referrer"), ("X-Frame-Options", "DENY"), ("Cross-Origin-Opener-Policy", "same-origin"),
            ("Cross-Origin-Resource-Policy", "same-origin"), ("Permissions-Policy", "camera=(), geolocation=(), microphone=()"),
        ]
        return reply
    }

    private static func makeNonce() -> String {
        var generator = SystemRandomNumberGenerator()
        return String(generator.next(), radix: 36) + String(generator.next(), radix: 36)
    }
}

extension AdminAPI {
    var pageRoutes: [AdminRoute] {
        let page = InspectorPage()
        return [
            // Open: the page holds nothing, and what it shows it asks for with the key.
            AdminRoute(
                "GET", "/", access: .open, "the inspector page", answers: [.init(200, "the page", contentType: "text/html")]
            ) { _, reply in reply(page.reply()) }
        ]
    }
}
