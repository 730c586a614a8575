// Renders a failure as application/problem+json (RFC 9457) with the members of design §6.
// Domain: pure

import CryoJSON

/// The upstream's body as kept for a failure.
package struct HeldBody {
    /// At least `JSONScanner.padding` bytes of capacity lie beyond `count`.
    package var bytes: [UInt8] = []
    /// The true length is greater than what was kept.
    package var isTruncated = false

    package init() {}
}

package enum FailureBody {
    /// More of an upstream's body is cut off in `responseData`.
    package static let responseDataBytesMax = 65_536

    struct Facts {
        var exchangeID: [UInt8]
        var requestID: [UInt8]
        var route: [UInt8]?
        var attempts: UInt32
    }

    static func render(_ failure: Failure, facts: Facts, held: HeldBody?, scanner: JSONScanner) -> [UInt8] {
        let row = FailureTable.row(failure.reason)
        var writer = JSONWriter()
        writer.reserveCapacity(768 + (held?.bytes.count ?? 0))
        writer.beginObject()
        writer.field("type", "urn:cryonet:failure:" + failure.reason.rawValue)
        writer.field("title", row.title)
        writer.field("status", Int64(failure.status))
        failure.message.withUnsafeBytes { writer.field("detail", bytes: $0) }
        writer.field("instance", "/exchanges/" + String(decoding: facts.exchangeID, as: UTF8.self))
        writer.field("kind", failure.kind.rawValue)
        failure.message.withUnsafeBytes { writer.field("message", bytes: $0) }
        if let status = failure.upstreamStatus { writer.field("statusCode", Int64(status)) } else { writer.nullField("statusCode") }
        if let code = failure.businessCode {
            code.withUnsafeBytes { writer.rawField("businessCode", $0) }
        } else {
            writer.nullField("businessCode")
        }
        if let revision = failure.revision {
            revision.text.withUnsafeBytes { writer.field("authenticationRevision", bytes: $0) }
        } else {
            writer.nullField("authenticationRevision")
        }
        appendResponseData(held, scanner: scanner, to: &writer)
        if let underlying = failure.underlying {
            writer.field("underlyingError", underlying)
        } else {
            writer.nullField("underlyingError")
        }
        writer.field("reason", failure.reason.rawValue)
        writer.field("step", row.step.rawValue)
        writer.field("origin", row.origin.rawValue)
        writer.field("retryable", failure.isRetryable)
        writer.field("attempts", Int64(facts.attempts))
        writer.field("domain", failure.domain)
        writer.field("code", Int64(failure.code))
        if let name = failure.codeName { writer.field("codeName", name) }
        facts.requestID.withUnsafeBytes { writer.field("requestId", bytes: $0) }
        if let route = facts.route {
            route.withUnsafeBytes { writer.field("route", bytes: $0) }
        } else {
            writer.nullField("route")
        }
        writer.endObject()
        return writer.bytes
    }

    /// The message and nothing else (`failure_format: message`).
    static func renderMessage(_ failure: Failure) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        failure.message.withUnsafeBytes { writer.field("message", bytes: $0) }
        writer.endObject()
        return writer.bytes
    }

    /// As JSON when it is JSON, else as a string, else base64 with `responseDataEncoding`; cut at the bound.
    private static func appendResponseData(_ held: HeldBody?, scanner: JSONScanner, to writer: inout JSONWriter) {
        guard let held, !held.bytes.isEmpty else { return writer.nullField("responseData") }
        let isCut = held.isTruncated || held.bytes.count > responseDataBytesMax
        let kept = isCut ? Array(held.bytes.prefix(responseDataBytesMax)) : held.bytes
        var padded = kept
        padded.reserveCapacity(kept.count + JSONScanner.padding)
        padded.append(contentsOf: repeatElement(0, count: JSONScanner.padding))
        padded.withUnsafeBytes { buffer in
            let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<kept.count])
            // A byte order mark may stand before a JSON text, never within one (RFC 8259 §8.1).
            let isMarked = bytes.count > 3 && bytes[0] == 0xEF && bytes[1] == 0xBB && bytes[2] == 0xBF
            let value = UnsafeRawBufferPointer(rebasing: bytes[(isMarked ? 3 : 0)...])
            if !isCut, scanner.validate(value) == .scanned {
                writer.rawField("responseData", value)
                return
            }
            let text = isCut ? UnsafeRawBufferPointer(rebasing: bytes[..<utf8Boundary(bytes)]) : bytes
            if isUTF8(text) {
                writer.field("responseData", bytes: text)
            } else {
                Base64.encode(bytes).withUnsafeBytes { writer.field("responseData", bytes: $0) }
                writer.field("responseDataEncoding", "base64")
            }
        }
        if isCut { writer.field("responseDataTruncated", true) }
    }

    /// The longest prefix that does not end inside a UTF-8 sequence.
    static func utf8Boundary(_ bytes: UnsafeRawBufferPointer) -> Int {
        var end = bytes.count
        var back = 0
        while end > 0, back < 4, bytes[end - 1] & 0xC0 == 0x80 {
            end -= 1
            back += 1
        }
        guard end > 0, bytes[end - 1] >= 0xC0 else { return bytes.count }
        let lead = bytes[end - 1]
        let needed = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2
        return back + 1 == needed ? bytes.count : end - 1
    }

    static func isUTF8(_ bytes: UnsafeRawBufferPointer) -> Bool { String(validating: bytes, as: UTF8.self) != nil }
}

package enum Base64 {
    /// RFC 4648 §4, with padding.
    package static func encode(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
        let alphabet: StaticString = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        var index = 0
        while index < bytes.count {
            let first = UInt32(bytes[index])
            let second = index + 1 < bytes.count ? UInt32(bytes[index + 1]) : 0
            let third = index + 2 < bytes.count ? UInt32(bytes[index + 2]) : 0
            let group = first << 16 | second << 8 | third
            text.append(alphabet.utf8Start[Int(group >> 18)])
            text.append(alphabet.utf8Start[Int(group >> 12 & 63)])
            text.append(index + 1 < bytes.count ? alphabet.utf8Start[Int(group >> 6 & 63)] : 0x3D)
            text.append(index + 2 < bytes.count ? alphabet.utf8Start[Int(group & 63)] : 0x3D)
            index += 3
        }
        return text
    }
}
