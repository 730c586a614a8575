// The fields a filter can name: where they stand in a record, and how they compare.
// Domain: pure

import CryoJSON

/// Where the values of a field come from.
enum FilterSource: Sendable, Equatable {
    case member(JSONPath)
    /// The target up to `?`, and what is after it.
    case path, query
    /// A line of the request's or the response's head.
    case header(member: JSONPath, name: [UInt8])
    /// How many attempts there were.
    case attemptCount
    /// A member of any of the attempts.
    case attempt(member: [UInt8])
}

enum FilterKind: Sendable, Equatable {
    case text
    /// Texts that are always written in capitals.
    case capitals
    /// A whole number.
    case number
    /// Microseconds in the record; a plain number in the filter counts so many of them.
    case duration(unit: Int64)
    /// Bytes; `KiB` and `MiB` may follow a number.
    case size
    case time
    /// Number or text, as it is in the record.
    case any
}

struct FilterField: Sendable {
    let name: String
    let source: FilterSource
    let kind: FilterKind

    static let names: [String] = table.map(\.name) + ["request.NAME", "response.NAME", ".MEMBER"]

    /// `request.accept` and `response.content-type` are lines of the heads, `.trace.id` is any member of a record.
    static func named(_ name: String) -> FilterField? {
        let lowered = name.lowercased()
        if let field = table.first(where: { $0.name == lowered }) { return field }
        for (prefix, member) in [("request.", requestHeaders), ("response.", responseHeaders)] where lowered.hasPrefix(prefix) {
            let header = lowered.dropFirst(prefix.count)
            return header.isEmpty ? nil : FilterField(name: lowered, source: .header(member: member, name: Array(header.utf8)), kind: .text)
        }
        if lowered.hasPrefix("."), let path = JSONPath(dotted: String(name.dropFirst())) {
            return FilterField(name: name, source: .member(path), kind: .any)
        }
        return nil
    }

    static let identity = path("id")
    private static let requestHeaders = path("request_headers")
    private static let responseHeaders = path("response_headers")
    static let target = path("target")
    static let attempts = path("attempts")

    private static func path(_ segments: String...) -> JSONPath { JSONPath(segments: segments.map { Array($0.utf8) }) ?? .root }

    private static func text(_ name: String, _ segments: String...) -> FilterField {
        let place = segments.isEmpty ? [name] : segments
        return FilterField(name: name, source: .member(JSONPath(segments: place.map { Array($0.utf8) }) ?? .root), kind: .text)
    }

    private static func field(_ name: String, _ member: String, _ kind: FilterKind) -> FilterField {
        FilterField(name: name, source: .member(path(member)), kind: kind)
    }

    private static let table: [FilterField] =
        [
            text("id"), field("time", "time", .time), text("request_id"), text("client"), text("route"), text("upstream"),
            field("method", "method", .capitals), text("target"), FilterField(name: "path", source: .path, kind: .text),
            FilterField(name: "query", source: .query, kind: .text),
            FilterField(name: "host", source: .header(member: requestHeaders, name: Array("host".utf8)), kind: .text),
            field("status", "status", .number), text("reason", "failure", "reason"), text("kind", "failure", "kind"),
            text("step", "failure", "step"), text("detail", "failure", "detail"), field("business_code", "business_code", .any),
            field("duration", "duration_us", .duration(unit: 1000)), field("duration_ms", "duration_us", .duration(unit: 1000)),
            field("duration_us", "duration_us", .duration(unit: 1)), field("request_bytes", "request_bytes", .size),
            field("response_bytes", "response_bytes", .size), text("session"),
            FilterField(name: "attempts", source: .attemptCount, kind: .number),
            FilterField(name: "attempt.status", source: .attempt(member: Array("status".utf8)), kind: .number),
            FilterField(name: "attempt.outcome", source: .attempt(member: Array("outcome".utf8)), kind: .text),
            FilterField(name: "attempt.token_version", source: .attempt(member: Array("token_version".utf8)), kind: .number),
            text("request_body"), text("response_body"),
        ] + steps.filter { $0 != "route" }.map { text($0, "steps", $0) } + steps.map { text("steps.\($0)", "steps", $0) }

    /// The step `route` is only `steps.route`: the word alone is the route's name.
    private static let steps = ["accept", "read", "route", "inject", "forward", "refresh", "retry", "normalize", "reply", "audit"]
}
