// A parsed audit record, lenient to members that older and newer versions lack or add.
// Domain: pure

import CryoJSON

/// One line of a request's or a response's head.
package struct RecordedField: Sendable, Equatable {
    package let name: String
    package let value: String

    package init(name: String, value: String) {
        self.name = name
        self.value = value
    }
}

/// One try against the upstream. Times are microseconds; those of its phases count from its start.
package struct RecordedAttempt: Sendable, Equatable {
    package var number = 0
    package var start: Int64 = 0
    package var duration: Int64 = 0
    package var status: Int?
    package var outcome = ""
    package var tokenVersion: Int64?
    package var refusedBy: String?
    package var isReused = false
    package var dns: Int64 = 0
    package var connect: Int64 = 0
    package var tls: Int64 = 0
    package var firstByte: Int64 = 0
}

package struct RecordedFailure: Sendable, Equatable {
    package var reason = ""
    package var kind = ""
    package var step = ""
    package var detail: String?
}

package struct RecordView: Sendable {
    /// What stands in the place of a value that was taken out; or `hmac:` and the digits of a keyed digest.
    package static let mask = "***"
    package static let markPrefix = "hmac:"
    package static let markDigits = 32

    /// Without its line end.
    package let line: [UInt8]
    private let members: [String: JSONSlice]

    /// Nil for what is no record: no JSON object, or one without an `id` (a file's header, a checkpoint).
    package init?(_ line: [UInt8]) {
        let isJSON = Padded.withPadding(line) { JSONScanner(bytesMax: max($0.count, 1)).validate($0) == .scanned }
        guard isJSON else { return nil }
        var members: [String: JSONSlice] = [:]
        line.withUnsafeBytes { bytes in
            let root = JSONCursor.root(bytes)
            guard root.kind == .object else { return }
            var cursor = JSONCursor(bytes, inside: root)
            let reader = JSONValueReader(bytes)
            while let (key, value) = cursor.member() { members[String(decoding: reader.stringBytes(key), as: UTF8.self)] = value }
        }
        guard members["id"]?.kind == .string else { return nil }
        self.line = line
        self.members = members
    }

    // MARK: Members by name

    /// A string's content, a number's or a bool's text; nil where it is missing, null, or a container.
    package func text(_ name: String) -> String? { members[name].flatMap { text($0) } }

    package func integer(_ name: String) -> Int64? { members[name].flatMap { integer($0) } }

    package func isTrue(_ name: String) -> Bool {
        guard let slice = members[name] else { return false }
        return line.withUnsafeBytes { JSONValueReader($0).bool(slice) == true }
    }

    /// A value as it stands in the line; nil where it is missing.
    package func raw(_ name: String) -> [UInt8]? { members[name].map { Array(line[$0.range]) } }

    /// The member whose value, or whose name, the byte at `offset` of the line belongs to.
    package func member(at offset: Int) -> String? {
        members.filter { offset < $0.value.range.upperBound }.min { $0.value.range.upperBound < $1.value.range.upperBound }?.key
    }

    private func text(_ slice: JSONSlice) -> String? {
        line.withUnsafeBytes { bytes in
            switch slice.kind {
            case .string: String(decoding: JSONValueReader(bytes).stringBytes(slice), as: UTF8.self)
            case .number, .bool: String(decoding: bytes[slice.range], as: UTF8.self)
            case .missing, .null, .array, .object: nil
            }
        }
    }

    private func integer(_ slice: JSONSlice) -> Int64? {
        line.withUnsafeBytes { slice.kind == .number ? JSONValueReader($0).integer(slice) : nil }
    }

    private func object(_ slice: JSONSlice?) -> [(name: String, value: JSONSlice)] {
        guard let slice, slice.kind == .object else { return [] }
        return line.withUnsafeBytes { bytes in
            var cursor = JSONCursor(bytes, inside: slice)
            var found: [(String, JSONSlice)] = []
            while let (key, value) = cursor.member() { found.append((text(key) ?? "", value)) }
            return found
        }
    }

    private func array(_ slice: JSONSlice?) -> [JSONSlice] {
        guard let slice, slice.kind == .array else { return [] }
        return line.withUnsafeBytes { bytes in
            var cursor = JSONCursor(bytes, inside: slice)
            var found: [JSONSlice] = []
            while let value = cursor.element() { found.append(value) }
            return found
        }
    }

    // MARK: What every record tells

    package var id: String { text("id") ?? "" }
    package var time: String { text("time") ?? "" }
    package var unixMicroseconds: Int64? { RecordTime.microseconds(time.utf8) }
    package var requestID: String? { text("request_id") }
    package var client: String { text("client") ?? "" }
    package var route: String? { text("route") }
    package var upstream: String? { text("upstream") }
    package var method: String? { text("method") }
    package var target: String? { text("target") }
    /// What the client got; 0 where nothing was sent.
    package var status: Int { Int(clamping: integer("status") ?? 0) }
    package var requestBytes: Int64 { integer("request_bytes") ?? 0 }
    package var responseBytes: Int64 { integer("response_bytes") ?? 0 }
    package var durationMicroseconds: Int64 { integer("duration_us") ?? 0 }
    package var session: String? { text("session") }
    package var businessCode: String? { text("business_code") }

    /// In the order of the line.
    package var steps: [(step: String, outcome: String)] {
        object(members["steps"]).compactMap { member in text(member.value).map { (member.name, $0) } }
    }

    package var failure: RecordedFailure? {
        guard members["failure"]?.kind == .object else { return nil }
        var failure = RecordedFailure()
        for (name, value) in object(members["failure"]) {
            switch name {
            case "reason": failure.reason = text(value) ?? ""
            case "kind": failure.kind = text(value) ?? ""
            case "step": failure.step = text(value) ?? ""
            case "detail": failure.detail = text(value)
            default: break
            }
        }
        return failure
    }

    package var attempts: [RecordedAttempt] {
        array(members["attempts"]).map { slice in
            var attempt = RecordedAttempt()
            for (name, value) in object(slice) {
                let number = integer(value)
                switch name {
                case "number": attempt.number = Int(clamping: number ?? 0)
                case "start_us": attempt.start = number ?? 0
                case "duration_us": attempt.duration = number ?? 0
                case "status": attempt.status = number.map { Int(clamping: $0) }
                case "outcome": attempt.outcome = text(value) ?? ""
                case "token_version": attempt.tokenVersion = number
                case "token_refused_by": attempt.refusedBy = text(value)
                case "reused": attempt.isReused = text(value) == "true"
                case "dns_us": attempt.dns = number ?? 0
                case "connect_us": attempt.connect = number ?? 0
                case "tls_us": attempt.tls = number ?? 0
                case "first_byte_us": attempt.firstByte = number ?? 0
                default: break
                }
            }
            return attempt
        }
    }

    // MARK: What some records keep

    package var requestFields: [RecordedField]? { fields("request_headers") }
    package var responseFields: [RecordedField]? { fields("response_headers") }
    package var requestBody: [UInt8]? { body("request_body") }
    package var responseBody: [UInt8]? { body("response_body") }
    /// The body went on after what is kept of it.
    package var isRequestBodyCut: Bool { isTrue("request_body_truncated") }
    package var isResponseBodyCut: Bool { isTrue("response_body_truncated") }

    package func requestField(_ name: String) -> String? { Self.value(of: name, in: requestFields) }
    package func responseField(_ name: String) -> String? { Self.value(of: name, in: responseFields) }

    private static func value(of name: String, in fields: [RecordedField]?) -> String? {
        let lowered = name.lowercased()
        return fields?.first { $0.name.lowercased() == lowered }?.value
    }

    private func body(_ name: String) -> [UInt8]? {
        guard let slice = members[name], slice.kind == .string else { return nil }
        return line.withUnsafeBytes { JSONValueReader($0).stringBytes(slice) }
    }

    /// Pairs of name and value, or an object of them.
    private func fields(_ name: String) -> [RecordedField]? {
        guard let slice = members[name] else { return nil }
        switch slice.kind {
        case .array:
            return array(slice).compactMap { pair in
                let parts = array(pair)
                guard parts.count == 2, let name = text(parts[0]), let value = text(parts[1]) else { return nil }
                return RecordedField(name: name, value: value)
            }
        case .object:
            return object(slice).compactMap { member in text(member.value).map { RecordedField(name: member.name, value: $0) } }
        case .missing, .null, .bool, .number, .string: return nil
        }
    }
}

/// Bytes followed by the padding a scanner reads.
enum Padded {
    static func withPadding<Result>(_ bytes: [UInt8], _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        var padded = bytes
        padded.reserveCapacity(bytes.count + JSONScanner.padding)
        padded.append(contentsOf: repeatElement(0x20, count: JSONScanner.padding))
        return padded.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[..<bytes.count])) }
    }
}
