// The route table of the admin side: method, path pattern, what the description says of it, and who answers.
// Domain: pure (the handlers are cold)

/// One row. The table is the only place that knows a path: serving, 404, 405 and the OpenAPI description come from it.
package struct AdminRoute: Sendable {
    package enum Access: Sendable {
        /// Needs the admin key.
        case key
        /// Whoever the door lets in.
        case open
        /// As `open`, also under a Host that nobody has listed: an orchestrator's probe.
        case probe
    }
    /// What the description says of one answer: its schema by name, or nil for a body that is no JSON.
    package struct Answer: Sendable {
        package let status: UInt16
        package let meaning: String
        package let schema: String?
        /// What a body without a schema is.
        package let contentType: String?

        package init(_ status: UInt16, _ meaning: String, _ schema: String? = nil, contentType: String? = nil) {
            self.status = status
            self.meaning = meaning
            self.schema = schema
            self.contentType = contentType
        }
    }

    /// One parameter of the query.
    package struct Parameter: Sendable {
        package let name: String
        package let meaning: String
        /// A JSON Schema.
        package let schema: String

        package init(_ name: String, _ meaning: String, schema: String = #"{"type":"string"}"#) {
            self.name = name
            self.meaning = meaning
            self.schema = schema
        }
    }

    package let method: String
    /// `/api/tokens/{name}/refresh`: a name in braces stands for one segment.
    package let pattern: String
    package let access: Access
    package let summary: String
    /// The name of the body's schema; nil: a body is not looked at.
    package let bodySchema: String?
    package let query: [Parameter]
    package let answers: [Answer]
    package let handler: AdminHandler
    let segments: [Substring]

    package init(
        _ method: String, _ pattern: String, access: Access = .key, _ summary: String, body bodySchema: String? = nil,
        query: [Parameter] = [], answers: [Answer],
        handler: @escaping AdminHandler
    ) {
        self.method = method
        self.pattern = pattern
        self.access = access
        self.summary = summary
        self.bodySchema = bodySchema
        self.query = query
        self.answers = answers
        self.handler = handler
        segments = pattern.split(separator: "/", omittingEmptySubsequences: false)
    }

    /// The values of the pattern's names; nil when the path is another one.
    func match(_ path: [Substring]) -> [String: String]? {
        guard path.count == segments.count else { return nil }
        var parameters: [String: String] = [:]
        for (wanted, given) in zip(segments, path) {
            if wanted.hasPrefix("{") {
                guard let value = Self.decoded(given), !value.isEmpty else { return nil }
                parameters[String(wanted.dropFirst().dropLast())] = value
            } else if wanted != given {
                return nil
            }
        }
        return parameters
    }

    /// Percent-decoded UTF-8; nil when it is neither.
    static func decoded(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == 0x25 else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(hexValue), let low = rest.popFirst().flatMap(hexValue) else { return nil }
            bytes.append(high << 4 | low)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func hexValue(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x30...0x39: byte - 0x30
        case 0x41...0x46: byte - 0x37
        case 0x61...0x66: byte - 0x57
        default: nil
        }
    }
}

package struct AdminTable: Sendable {
    package let routes: [AdminRoute]

    package init(_ routes: [AdminRoute]) { self.routes = routes }

    package enum Match {
        case found(AdminRoute, parameters: [String: String])
        /// The path exists, for these methods.
        case otherMethods([String])
        case nothing
    }

    /// `path` as it came. HEAD is GET without the body (RFC 9110 §9.3.2).
    package func find(method: String, path: String) -> Match {
        let wanted = method == "HEAD" ? "GET" : method
        let segments = path.split(separator: "/", omittingEmptySubsequences: false)
        var methods: [String] = []
        for route in routes {
            guard let parameters = route.match(segments) else { continue }
            if route.method == wanted { return .found(route, parameters: parameters) }
            methods.append(route.method)
        }
        if methods.isEmpty { return .nothing }
        return .otherMethods(methods.contains("GET") ? methods + ["HEAD"] : methods)
    }
}
