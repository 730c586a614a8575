// What a Content-Type means to the normalize step.
// Domain: pure

import CryoHTTP

enum MediaType: Equatable {
    case none, json, eventStream, text, other
    /// One JSON text on each line.
    case ndjson
    /// JSON texts behind a record separator each (RFC 7464), which may have lines of their own.
    case jsonSequence

    /// An answer that goes on as it comes, because what is in it is wanted when it happens.
    var isStream: Bool { self == .eventStream || self == .ndjson || self == .jsonSequence }

    static func of(_ fields: FieldSection) -> MediaType {
        guard let index = fields.firstIndex(of: "content-type") else { return .none }
        return fields.withValue(at: index) { value in
            // The usual case, without parameters.
            if CryoHTTP.equals(value, "application/json") { return .json }
            var end = 0
            while end < value.count, value[end] != 0x3B, value[end] != 0x20, value[end] != 0x09 { end += 1 }
            return classify(UnsafeRawBufferPointer(rebasing: value[..<end]))
        }
    }

    private static func classify(_ type: UnsafeRawBufferPointer) -> MediaType {
        if equals(type, "application/json") { return .json }
        if equals(type, "text/event-stream") { return .eventStream }
        if lines.contains(where: { equals(type, $0) }) { return .ndjson }
        if equals(type, "application/json-seq") || hasSuffix(type, "+json-seq") { return .jsonSequence }
        if hasSuffix(type, "+json") || equals(type, "text/json") { return .json }
        let text: StaticString = "text/"
        if type.count >= 5, equalsIgnoringCase(UnsafeRawBufferPointer(rebasing: type[..<5]), lowercased: text.rawBytes) { return .text }
        if equals(type, "application/javascript") { return .text }
        return .other
    }

    /// Nobody has registered one name. The last is what Spring said before it took `x-ndjson`.
    private static let lines: [StaticString] = [
        "application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines", "application/jsonlines",
        "application/stream+json",
    ]

    private static func equals(_ type: UnsafeRawBufferPointer, _ wanted: StaticString) -> Bool {
        equalsIgnoringCase(type, lowercased: wanted.rawBytes)
    }

    private static func hasSuffix(_ type: UnsafeRawBufferPointer, _ suffix: StaticString) -> Bool {
        guard type.count >= suffix.utf8CodeUnitCount else { return false }
        return equalsIgnoringCase(
            UnsafeRawBufferPointer(rebasing: type[(type.count - suffix.utf8CodeUnitCount)...]), lowercased: suffix.rawBytes)
    }
}
