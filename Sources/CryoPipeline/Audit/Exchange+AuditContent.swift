// Step audit: the headers and bodies that a record has, as far as the level asks for them.
// Domain: worker

import CryoHTTP
import CryoJSON

extension Exchange {
    func appendContent(_ writer: inout JSONWriter, _ settings: AuditRules) {
        switch settings.level {
        case .off, .basic: return
        case .headers: break
        case .bodies: if settings.bodies == .off || (settings.bodies == .failures && failure == nil) { return }
        }
        appendFields("request_headers", head?.fields, &writer)
        appendFields("response_headers", response?.fields, &writer)
        guard settings.level == .bodies else { return }
        append(Self.requestKeys, auditedRequestBody.bytes, digested(&auditedRequestBody), settings, &writer)
        if held.bytes.isEmpty {
            append(Self.responseKeys, auditedResponseBody.bytes, digested(&auditedResponseBody), settings, &writer)
        } else {
            let body = readableBody()
            append(Self.responseKeys, body.bytes, digested(body, settings.bodyBytesMax), settings, &writer)
        }
    }

    private struct BodyKeys {
        let body: StaticString
        let truncated: StaticString
        let length: StaticString
        let digest: StaticString
    }

    private static let requestKeys = BodyKeys(
        body: "request_body", truncated: "request_body_truncated", length: "request_body_length", digest: "request_body_sha256")
    private static let responseKeys = BodyKeys(
        body: "response_body", truncated: "response_body_truncated", length: "response_body_length", digest: "response_body_sha256")

    /// What is known of a body that is not there whole; nil: it is.
    private struct Whole {
        var length: UInt64?
        var digest: [UInt8]?
    }

    private func digested(_ body: inout AuditedBody) -> Whole? {
        body.isCut ? Whole(length: body.count, digest: body.takeDigest()) : nil
    }

    /// A held body is one piece. Of one that was not received whole neither length nor digest is known.
    private func digested(_ body: HeldBody, _ bytesMax: Int) -> Whole? {
        if body.isTruncated { return Whole() }
        guard body.bytes.count > bytesMax else { return nil }
        let digest = environment.makeDigest()
        body.bytes.withUnsafeBytes { digest?.update($0) }
        return Whole(length: UInt64(body.bytes.count), digest: digest?.finish())
    }

    private func append(
        _ keys: BodyKeys, _ body: [UInt8], _ whole: Whole?, _ settings: AuditRules, _ writer: inout JSONWriter
    ) {
        if body.isEmpty { return }
        let redacted = body.withUnsafeBytes { plan.redactor.redactBody($0) }
        let cut = redacted.withUnsafeBytes { bytes in
            FailureBody.utf8Boundary(UnsafeRawBufferPointer(rebasing: bytes[..<min(bytes.count, settings.bodyBytesMax)]))
        }
        var shown = Array(redacted[..<cut])
        plan.redactor.scrubCut(&shown)
        writer.key(keys.body)
        shown.withUnsafeBytes { writer.string(bytes: $0) }
        guard cut < redacted.count || whole != nil else { return }
        writer.field(keys.truncated, true)
        if let length = whole?.length {
            writer.key(keys.length)
            writer.integer(length)
        }
        if let digest = whole?.digest, !digest.isEmpty {
            writer.key(keys.digest)
            writer.plain(Hexadecimal.digits(of: digest))
        }
    }

    private func appendFields(_ key: StaticString, _ fields: FieldSection?, _ writer: inout JSONWriter) {
        guard let fields else { return }
        writer.key(key)
        writer.beginArray()
        for index in fields.lines.indices where !fields.lines[index].isRemoved {
            writer.beginArray()
            fields.withName(at: index) { name in
                writer.string(bytes: name)
                fields.withValue(at: index) { value in
                    if let hidden = plan.redactor.redactedHeader(name, value) {
                        hidden.withUnsafeBytes { writer.string(bytes: $0) }
                    } else {
                        writer.string(bytes: value)
                    }
                }
            }
            writer.endArray()
        }
        writer.endArray()
    }
}
