// What a Content-Type means to the normalize step.
// Domain: pure

import CryoHTTP

enum MediaType: Equatable {
    case none, json, eventStream, ndjson, text, other

    static func of(_ fields: FieldSection) -> MediaType {
        guard let index = fields.firstIndex(of: "content-type") else { return .none }
        return fields.withValue(at: index) { value in
            let end = value.firstIndex { $0 == 0x3B || $0 == 0x20 || $0 == 0x09 } ?? value.count
            return classify(UnsafeRawBufferPointer(rebasing: value[..<end]))
        }
    }

    private static func classify(_ type: UnsafeRawBufferPointer) -> MediaType {
        if equals(type, "application/json") || hasSuffix(type, "+json") || equals(type, "text/json") { return .json }
        if equals(type, "text/event-stream") { return .eventStream }
        if equals(type, "application/x-ndjson") || equals(type, "application/ndjson") || equals(type, "application/jsonl") {
            return .ndjson
        }
        let text: StaticString = "text/"
        if type.count >= 5, equalsIgnoringCase(UnsafeRawBufferPointer(rebasing: type[..<5]), lowercased: text.rawBytes) { return .text }
        if equals(type, "application/javascript") { return .text }
        return .other
    }

    private static func equals(_ type: UnsafeRawBufferPointer, _ wanted: StaticString) -> Bool {
        equalsIgnoringCase(type, lowercased: wanted.rawBytes)
    }

    private static func hasSuffix(_ type: UnsafeRawBufferPointer, _ suffix: StaticString) -> Bool {
        guard type.count >= suffix.utf8CodeUnitCount else { return false }
        return equalsIgnoringCase(
            UnsafeRawBufferPointer(rebasing: type[(type.count - suffix.utf8CodeUnitCount)...]), lowercased: suffix.rawBytes)
    }
}
