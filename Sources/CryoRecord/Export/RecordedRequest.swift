// A client's request as its record keeps it, and what stands against sending it once more.
// Domain: pure

import CryoHTTP

package struct RecordedRequest: Sendable, Equatable {
    /// Why the request can't be sent as it was.
    package enum Obstacle: Sendable, Equatable {
        /// The record does not keep the head's lines (successes are kept without, unless `audit.bodies` is `all`).
        case noFields
        /// So many bytes of a body came, none of them is kept.
        case bodyMissing(bytes: Int64)
        /// Only the beginning of the body is kept.
        case bodyCut(bytes: Int)
        /// A value was taken out before the record was written: of a field, or elsewhere.
        case maskedField(name: String)
        case masked(place: String)
        /// A field that no request may have: hostile bytes in the record.
        case unsendable(field: String)

        package var text: String {
            switch self {
            case .noFields: "the record keeps no request headers (see audit.bodies)"
            case .bodyMissing(let bytes): "the request had a body of \(bytes) bytes, the record keeps none (see audit.bodies)"
            case .bodyCut(let bytes): "the record keeps only the first \(bytes) bytes of the body (see audit.max_body_bytes)"
            case .maskedField(let name): "a value in the header \(name) was taken out of the record"
            case .masked(let place): "a value in \(place) was taken out of the record"
            case .unsendable(let field): "the field \(field) can't be sent"
            }
        }
    }

    package let method: String
    /// Origin form: begins with `/`, or is `*`.
    package let target: String
    /// End-to-end fields in their order, without those that framing and connection decide.
    package let fields: [RecordedField]
    package let body: [UInt8]?
    package let host: String?
    package let obstacles: [Obstacle]

    /// Nil for what was no request: a malformed head, a tunnel.
    package init?(_ record: RecordView) {
        guard let method = record.method, Self.isToken(method), method != "CONNECT", let target = record.target,
            let origin = Self.originForm(target)
        else { return nil }
        self.method = method
        self.target = origin
        host = record.requestField("host")
        var obstacles: [Obstacle] = []
        var kept: [RecordedField] = []
        if record.requestFields == nil { obstacles.append(.noFields) }
        let named = Set((record.requestField("connection") ?? "").lowercased().split(separator: ",").map { $0.filter { $0 != " " } })
        for field in record.requestFields ?? [] where !Self.isOfConnection(field.name, named) {
            if !Self.isToken(field.name) || field.value.utf8.contains(where: { ($0 < 0x20 && $0 != 0x09) || $0 == 0x7F }) {
                obstacles.append(.unsendable(field: field.name))
                continue
            }
            if Self.isMasked(field.value) { obstacles.append(.maskedField(name: field.name)) }
            kept.append(field)
        }
        fields = kept
        body = record.requestBody
        if let body {
            if record.isRequestBodyCut { obstacles.append(.bodyCut(bytes: body.count)) }
            if Self.isMasked(String(decoding: body, as: UTF8.self)) { obstacles.append(.masked(place: "the body")) }
        } else if record.requestBytes > 0 {
            obstacles.append(.bodyMissing(bytes: record.requestBytes))
        }
        if Self.isMasked(origin) { obstacles.append(.masked(place: "the target")) }
        self.obstacles = obstacles
    }

    package static func isMasked(_ text: String) -> Bool {
        masked(text[...]) != nil
    }

    /// The first place where a value was taken out.
    static func masked(_ text: Substring) -> Range<Substring.Index>? {
        let bytes = text.utf8
        var index = bytes.startIndex
        while index < bytes.endIndex {
            let rest = text[index...]
            if rest.utf8.starts(with: RecordView.mask.utf8) { return index..<bytes.index(index, offsetBy: RecordView.mask.utf8.count) }
            if rest.utf8.starts(with: RecordView.markPrefix.utf8) {
                let start = bytes.index(index, offsetBy: RecordView.markPrefix.utf8.count)
                let digits = text[start...].utf8.prefix(RecordView.markDigits)
                if digits.count == RecordView.markDigits, digits.allSatisfy({ $0 &- 0x30 < 10 || $0 &- 0x61 < 6 }) {
                    return index..<digits.endIndex
                }
            }
            index = bytes.index(after: index)
        }
        return nil
    }

    private static func isToken(_ text: String) -> Bool { Array(text.utf8).withUnsafeBytes { CryoHTTP.isToken($0) } }

    /// What the next sender decides anew: framing, the connection, the host, and what names this exchange.
    private static func isOfConnection(_ name: String, _ named: Set<String>) -> Bool {
        let lowered = name.lowercased()
        switch lowered {
        case "host", "content-length", "expect", "via", "x-request-id": return true
        default: return Array(lowered.utf8).withUnsafeBytes { isHopByHop($0) } || named.contains(lowered)
        }
    }

    /// A proxy's client names scheme and host too; they are left out.
    private static func originForm(_ target: String) -> String? {
        if target.hasPrefix("/") || target == "*" { return target }
        for scheme in ["http://", "https://", "ws://", "wss://"] where target.lowercased().hasPrefix(scheme) {
            let rest = target.dropFirst(scheme.count)
            guard let end = rest.firstIndex(where: { $0 == "/" || $0 == "?" }) else { return "/" }
            return rest[end] == "/" ? String(rest[end...]) : "/" + rest[end...]
        }
        return nil
    }
}
