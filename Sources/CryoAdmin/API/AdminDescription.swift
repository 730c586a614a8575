// The OpenAPI 3.1 description of the admin side, made from its route table.
// Domain: cold

import CryoJSON

enum AdminDescription {
    static func route(_ text: @escaping @Sendable (String) -> [UInt8], _ control: any GatewayControl) -> AdminRoute {
        AdminRoute(
            "GET", "/api/openapi.json", "this description", answers: [.init(200, "OpenAPI 3.1", "Description"), AdminAPI.unauthorized]
        ) { _, reply in
            var answer = AdminReply(body: text(control.snapshot().version))
            answer.hasETag = true
            reply(answer)
        }
    }

    static func text(of routes: [AdminRoute], version: String) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.field("openapi", "3.1.0")
        writer.key("info")
        writer.beginObject()
        writer.field("title", "CryoNet Gateway admin API")
        writer.field("version", version)
        writer.endObject()
        writer.key("paths")
        writer.beginObject()
        for pattern in patterns(routes) {
            writer.key(pattern)
            writer.beginObject()
            appendParameters(of: pattern, &writer)
            for route in routes where route.pattern == pattern {
                writer.key(route.method.lowercased())
                append(route, &writer)
            }
            writer.endObject()
        }
        writer.endObject()
        writer.key("components")
        writer.beginObject()
        writer.key("securitySchemes")
        writer.beginObject()
        writer.key("key")
        writer.beginObject()
        writer.field("type", "http")
        writer.field("scheme", "bearer")
        writer.endObject()
        writer.endObject()
        writer.key("schemas")
        writer.beginObject()
        for schema in AdminSchemas.all {
            writer.key(schema.name)
            Array(schema.text.utf8).withUnsafeBytes { writer.raw($0) }
        }
        writer.endObject()
        writer.endObject()
        writer.endObject()
        return writer.bytes + [0x0A]
    }

    private static func patterns(_ routes: [AdminRoute]) -> [String] {
        var patterns: [String] = []
        for route in routes where !patterns.contains(route.pattern) { patterns.append(route.pattern) }
        return patterns
    }

    private static func appendParameters(of pattern: String, _ writer: inout JSONWriter) {
        let names = pattern.split(separator: "/").filter { $0.hasPrefix("{") }.map { String($0.dropFirst().dropLast()) }
        guard !names.isEmpty else { return }
        writer.key("parameters")
        writer.beginArray()
        for name in names {
            writer.beginObject()
            writer.field("name", name)
            writer.field("in", "path")
            writer.field("required", true)
            appendType("string", &writer)
            writer.endObject()
        }
        writer.endArray()
    }

    private static func appendQuery(_ parameters: [AdminRoute.Parameter], _ writer: inout JSONWriter) {
        guard !parameters.isEmpty else { return }
        writer.key("parameters")
        writer.beginArray()
        for parameter in parameters {
            writer.beginObject()
            writer.field("name", parameter.name)
            writer.field("in", "query")
            writer.field("description", parameter.meaning)
            writer.key("schema")
            Array(parameter.schema.utf8).withUnsafeBytes { writer.raw($0) }
            writer.endObject()
        }
        writer.endArray()
    }

    private static func appendType(_ type: StaticString, _ writer: inout JSONWriter) {
        writer.key("schema")
        writer.beginObject()
        writer.field("type", type)
        writer.endObject()
    }

    private static func append(_ route: AdminRoute, _ writer: inout JSONWriter) {
        writer.beginObject()
        writer.field("summary", route.summary)
        writer.field("operationId", operationID(route))
        writer.key("security")
        writer.beginArray()
        if route.access == .key {
            writer.beginObject()
            writer.key("key")
            writer.beginArray()
            writer.endArray()
            writer.endObject()
        }
        writer.endArray()
        appendQuery(route.query, &writer)
        if let schema = route.bodySchema {
            writer.key("requestBody")
            writer.beginObject()
            appendContent(schema, &writer)
            writer.endObject()
        }
        writer.key("responses")
        writer.beginObject()
        for answer in route.answers {
            writer.key(String(answer.status))
            writer.beginObject()
            writer.field("description", answer.meaning)
            if let schema = answer.schema {
                appendContent(schema, &writer)
            } else if let type = answer.contentType {
                writer.key("content")
                writer.beginObject()
                writer.key(type)
                writer.beginObject()
                appendType("string", &writer)
                writer.endObject()
                writer.endObject()
            }
            writer.endObject()
        }
        writer.endObject()
        writer.endObject()
    }

    private static func appendContent(_ schema: String, _ writer: inout JSONWriter) {
        writer.key("content")
        writer.beginObject()
        writer.key(schema == "Failure" ? "application/problem+json" : "application/json")
        writer.beginObject()
        writer.key("schema")
        writer.beginObject()
        writer.field("$ref", "#/components/schemas/\(schema)")
        writer.endObject()
        writer.endObject()
        writer.endObject()
    }

    /// `POST /api/tokens/{name}/refresh` is `postApiTokensNameRefresh`.
    private static func operationID(_ route: AdminRoute) -> String {
        let words = route.pattern.split { !$0.isLetter && !$0.isNumber }
        return route.method.lowercased() + words.map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
    }
}
