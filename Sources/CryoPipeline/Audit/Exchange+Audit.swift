// Step audit: one JSON line per exchange, redacted, handed to the sink.
// Domain: worker

import CryoHTTP
import CryoJSON

extension Exchange {
    /// nil: no audit is written. The record is made for the admin side as well.
    func writeAudit() -> AuditOutcome? {
        guard let settings = plan.audit else { return nil }
        var writer = JSONWriter()
        writer.reserveCapacity(1024)
        writer.beginObject()
        appendIdentity(&writer)
        appendTrace(&writer)
        appendSteps(&writer)
        appendAttempts(&writer)
        appendResult(&writer)
        appendStream(&writer)
        appendBodies(&writer, settings)
        writer.endObject()
        var line = writer.bytes
        plan.redactor.scrub(&line)
        return line.withUnsafeBytes { bytes in
            plan.feed?.exchanges.append(bytes, id: id)
            return plan.auditSink?.append(bytes)
        }
    }

    private func appendIdentity(_ writer: inout JSONWriter) {
        RFC3339.text(unixMicroseconds: context.startUnixMicroseconds).withUnsafeBytes { writer.field("time", bytes: $0) }
        id.withUnsafeBytes { writer.field("id", bytes: $0) }
        if !requestID.isEmpty, requestID != id { requestID.withUnsafeBytes { writer.field("request_id", bytes: $0) } }
        context.client.withUnsafeBytes { writer.field("client", bytes: $0) }
        if let route = match?.route {
            route.name.withUnsafeBytes { writer.field("route", bytes: $0) }
        } else {
            writer.nullField("route")
        }
        if let upstream { writer.field("upstream", upstream.settings.name) } else { writer.nullField("upstream") }
        guard let head else {
            writer.nullField("method")
            writer.nullField("target")
            return
        }
        head.fields.bytes.withUnsafeBytes { bytes in
            writer.field("method", bytes: UnsafeRawBufferPointer(rebasing: bytes[head.method]))
            let target = plan.redactor.redactTarget(UnsafeRawBufferPointer(rebasing: bytes[head.target]))
            target.withUnsafeBytes { writer.field("target", bytes: $0) }
        }
    }

    private func appendSteps(_ writer: inout JSONWriter) {
        let outcomes = self.outcomes
        writer.key("steps")
        writer.beginObject()
        func append(_ step: StaticString, _ outcome: String?) {
            // A step the exchange never came to is left out.
            if let outcome { writer.field(step, outcome) }
        }
        append("accept", outcomes.accept?.rawValue)
        append("read", outcomes.read?.rawValue)
        append("route", outcomes.route?.rawValue)
        append("inject", outcomes.inject?.rawValue)
        append("forward", outcomes.forward?.rawValue)
        append("refresh", outcomes.refresh?.rawValue)
        append("retry", outcomes.retry?.rawValue)
        append("normalize", outcomes.normalize?.rawValue)
        append("reply", outcomes.reply?.rawValue)
        writer.field("audit", "written")
        writer.endObject()
    }

    private func appendAttempts(_ writer: inout JSONWriter) {
        writer.key("attempts")
        writer.beginArray()
        for (index, record) in records.enumerated() {
            writer.beginObject()
            writer.field("number", Int64(index + 1))
            writer.field("start_us", microseconds(from: context.startNanoseconds, to: record.startedAt))
            writer.field("duration_us", microseconds(from: record.startedAt, to: max(record.endedAt, record.startedAt)))
            if record.status > 0 { writer.field("status", Int64(record.status)) } else { writer.nullField("status") }
            writer.field("outcome", record.outcome)
            writer.field("token_version", Int64(record.tokenVersion))
            if record.isSigned { writer.field("signed", true) }
            if let refusedBy = record.refusedBy { writer.field("token_refused_by", refusedBy) }
            writer.field("reused", record.timing.reusedConnection)
            writer.field("dns_us", Int64(record.timing.dns))
            writer.field("connect_us", Int64(record.timing.connect))
            writer.field("tls_us", Int64(record.timing.tls))
            writer.field("first_byte_us", Int64(record.timing.firstByte))
            writer.endObject()
        }
        writer.endArray()
    }

    private func microseconds(from start: UInt64, to end: UInt64) -> Int64 { end > start ? Int64((end - start) / 1000) : 0 }

    private func appendResult(_ writer: inout JSONWriter) {
        writer.field("status", Int64(statusSent))
        writer.field("request_bytes", Int64(body?.bytesReceived ?? 0))
        writer.field("response_bytes", Int64(bytesSent))
        writer.field("duration_us", microseconds(from: context.startNanoseconds, to: now))
        if let revision { revision.text.withUnsafeBytes { writer.field("session", bytes: $0) } }
        guard let failure else {
            writer.nullField("failure")
            writer.nullField("business_code")
            return
        }
        writer.key("failure")
        writer.beginObject()
        writer.field("reason", failure.reason.rawValue)
        writer.field("kind", failure.kind.rawValue)
        writer.field("step", failure.step.rawValue)
        if let detail = failure.underlying { writer.field("detail", detail) }
        writer.endObject()
        if let code = failure.businessCode {
            code.withUnsafeBytes { writer.rawField("business_code", $0) }
        } else {
            writer.nullField("business_code")
        }
    }

    private func appendBodies(_ writer: inout JSONWriter, _ settings: AuditSettings) {
        guard settings.bodies != .off, settings.bodies == .all || failure != nil else { return }
        appendFields("request_headers", head?.fields, &writer)
        appendFields("response_headers", response?.fields, &writer)
        append("request_body", "request_body_truncated", auditedRequestBody.bytes, isCut: auditedRequestBody.isCut, settings, &writer)
        if held.bytes.isEmpty {
            append(
                "response_body", "response_body_truncated", auditedResponseBody.bytes, isCut: auditedResponseBody.isCut, settings, &writer)
        } else {
            let body = readableBody()
            append("response_body", "response_body_truncated", body.bytes, isCut: body.isTruncated, settings, &writer)
        }
    }

    private func append(
        _ key: StaticString, _ truncatedKey: StaticString, _ body: [UInt8], isCut: Bool, _ settings: AuditSettings,
        _ writer: inout JSONWriter
    ) {
        if body.isEmpty { return }
        let redacted = body.withUnsafeBytes { plan.redactor.redactBody($0) }
        let cut = redacted.withUnsafeBytes { bytes in
            FailureBody.utf8Boundary(UnsafeRawBufferPointer(rebasing: bytes[..<min(bytes.count, settings.bodyBytesMax)]))
        }
        var shown = Array(redacted[..<cut])
        plan.redactor.scrubCut(&shown)
        writer.key(key)
        shown.withUnsafeBytes { writer.string(bytes: $0) }
        if cut < redacted.count || isCut { writer.field(truncatedKey, true) }
    }

    private func appendFields(_ key: StaticString, _ fields: FieldSection?, _ writer: inout JSONWriter) {
        guard let fields else { return }
        writer.key(key)
        writer.beginArray()
        for index in fields.lines.indices where !fields.lines[index].isRemoved {
            writer.beginArray()
            let isHidden = fields.withName(at: index) { name in
                writer.string(bytes: name)
                return plan.redactor.hidesHeader(name)
            }
            if isHidden { writer.string("***") } else { fields.withValue(at: index) { writer.string(bytes: $0) } }
            writer.endArray()
        }
        writer.endArray()
    }
}

package enum RFC3339 {
    /// `2026-11-30T07:00:00.123456Z`
    package static func text(unixMicroseconds: Int64) -> [UInt8] {
        let micros = UInt64(max(0, unixMicroseconds))
        let seconds = micros / 1_000_000
        let day = Int64(seconds / 86_400)
        let (year, month, dayOfMonth) = civil(day)
        let second = seconds % 86_400
        var text: [UInt8] = []
        text.reserveCapacity(27)
        func append(_ value: UInt64, _ digits: Int) {
            var divisor: UInt64 = 1
            for _ in 1..<digits { divisor *= 10 }
            while divisor > 0 {
                text.append(UInt8(0x30 + value / divisor % 10))
                divisor /= 10
            }
        }
        append(UInt64(year), 4)
        text.append(0x2D)
        append(UInt64(month), 2)
        text.append(0x2D)
        append(UInt64(dayOfMonth), 2)
        text.append(0x54)
        append(second / 3600, 2)
        text.append(0x3A)
        append(second / 60 % 60, 2)
        text.append(0x3A)
        append(second % 60, 2)
        text.append(0x2E)
        append(micros % 1_000_000, 6)
        text.append(0x5A)
        return text
    }

    /// Days since 1970-01-01 to a proleptic Gregorian date.
    private static func civil(_ days: Int64) -> (Int64, Int64, Int64) {
        let shifted = days + 719_468
        let era = shifted / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * marchMonth + 2) / 5 + 1)
    }
}
