// Step audit: one JSON line per exchange, redacted, handed to the sink. `audit-record.schema.json` tells its shape.
// Domain: worker

import CryoHTTP
import CryoJSON

extension Exchange {
    /// nil: no audit is written. The record is made for the admin side as well.
    ///
    /// What every record has is written in pieces of the source, commas and all; only what a few have goes through keys and fields.
    func writeAudit(confirm: (@Sendable (Bool) -> Void)? = nil) -> AuditOutcome? {
        guard let rules = plan.auditRules else { return nil }
        let scratch = environment.scratch
        var writer = scratch.takeWriter()
        writer.reserveCapacity(1024)
        appendIdentity(&writer, scratch)
        appendTrace(&writer)
        scratch.append(outcomes, to: &writer)
        appendAttempts(&writer)
        appendResult(&writer, scratch)
        appendStream(&writer)
        appendContent(&writer, rules)
        writer.text("}")
        let outcome: AuditOutcome?
        // Numbers and our own words hold nobody's secret.
        if writer.withForeignBytes({ plan.redactor.holdsSecret($0) }) {
            var line = writer.bytes
            plan.redactor.scrub(&line)
            outcome = line.withUnsafeBytes { handOver($0, confirm) }
        } else {
            outcome = writer.withBytes { handOver($0, confirm) }
        }
        scratch.keep(writer)
        return outcome
    }

    private func handOver(_ line: UnsafeRawBufferPointer, _ confirm: (@Sendable (Bool) -> Void)?) -> AuditOutcome? {
        if let feed = plan.feed { exchangeID.withBytes { feed.exchanges.append(line, id: $0) } }
        return plan.auditSink?.append(line, confirm: confirm)
    }

    /// The version of the record's shape. Members are added to it, never renamed.
    package static let auditVersion: Int64 = 1

    private func appendIdentity(_ writer: inout JSONWriter, _ scratch: AuditScratch) {
        writer.member(#"{"v":"#, UInt64(Self.auditVersion))
        writer.text(#","time":""#)
        scratch.append(time: context.startUnixMicroseconds, to: &writer)
        exchangeID.withBytes { writer.member(#"","id":""#, plain: $0) }
        if !clientRequestID.isEmpty { clientRequestID.withUnsafeBytes { writer.member(#","request_id":"#, bytes: $0) } }
        context.client.withUnsafeBytes { writer.member(#","client":""#, plain: $0) }
        appendClientIdentity(&writer)
        if let route {
            writer.text(route.auditNames)
        } else {
            writer.text(AuditName.members(route: nil, policy: nil, upstream: upstream?.settings.name))
        }
        guard let head else { return writer.text(#","method":null,"target":null"#) }
        head.fields.bytes.withUnsafeBytes { bytes in
            writer.member(#","method":"#, bytes: UnsafeRawBufferPointer(rebasing: bytes[head.method]))
            let target = UnsafeRawBufferPointer(rebasing: bytes[head.target])
            if plan.redactor.needsTargetRedaction(target) {
                plan.redactor.redactTarget(target).withUnsafeBytes { writer.member(#","target":"#, bytes: $0) }
            } else {
                writer.member(#","target":"#, bytes: target)
            }
        }
    }

    /// Who the client has proved to be, besides where it came from.
    private func appendClientIdentity(_ writer: inout JSONWriter) {
        let hasKey = plan.clientKey != nil && route != nil
        guard context.identity != nil || hasKey else { return }
        writer.key("identity")
        writer.beginObject()
        switch context.identity {
        case .certificate(let subject): subject.withUnsafeBytes { writer.field("certificate", bytes: $0) }
        case .user(let id): writer.field("uid", Int64(id))
        case nil: break
        }
        if hasKey { writer.field("key", "listen.client_key") }
        writer.endObject()
    }

    private func appendAttempts(_ writer: inout JSONWriter) {
        writer.text(#","attempts":["#)
        for index in records.indices {
            if index > 0 { writer.text(",") }
            append(records[index], UInt64(index + 1), &writer)
        }
        writer.text("]")
    }

    private func append(_ record: borrowing AttemptRecord, _ number: UInt64, _ writer: inout JSONWriter) {
        writer.member(#"{"number":"#, number)
        writer.member(#","start_us":"#, microseconds(from: context.startNanoseconds, to: record.startedAt))
        writer.member(#","duration_us":"#, microseconds(from: record.startedAt, to: record.endedAt))
        if record.status > 0 { writer.member(#","status":"#, UInt64(record.status)) } else { writer.text(#","status":null"#) }
        writer.member(#","outcome":""#, plain: record.outcome.rawBytes)
        writer.member(#","token_version":"#, record.tokenVersion)
        if record.isTokenUnwritten { writer.field("token_unwritten", true) }
        if record.isSigned { writer.field("signed", true) }
        if let refusedBy = record.refusedBy { writer.field("token_refused_by", refusedBy) }
        writer.member(#","reused":"#, record.timing.reusedConnection)
        writer.member(#","dns_us":"#, UInt64(record.timing.dns))
        writer.member(#","connect_us":"#, UInt64(record.timing.connect))
        writer.member(#","tls_us":"#, UInt64(record.timing.tls))
        writer.member(#","first_byte_us":"#, UInt64(record.timing.firstByte))
        writer.member(#","request_bytes":"#, record.requestBytes)
        writer.member(#","response_bytes":"#, record.responseBytes)
        writer.text("}")
    }

    func microseconds(from start: UInt64, to end: UInt64) -> UInt64 { end > start ? (end - start) / 1000 : 0 }

    private func appendResult(_ writer: inout JSONWriter, _ scratch: AuditScratch) {
        writer.member(#","status":"#, UInt64(statusSent))
        writer.member(#","request_bytes":"#, body?.bytesReceived ?? 0)
        writer.member(#","response_bytes":"#, bytesSent)
        writer.member(#","duration_us":"#, microseconds(from: context.startNanoseconds, to: now))
        if let revision { scratch.append(revision, to: &writer) }
        if let echo, echo.hasFound { writer.field("secret_echoed", true) }
        if let rule = firedRule { writer.field("rule", rule) }
        guard let failure else { return writer.text(#","failure":null,"business_code":null"#) }
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

    /// The key of the configuration that made the exchange end as it did; nil where nothing but the upstream did.
    private var firedRule: StaticString? {
        guard let failure else { return nil }
        switch failure.reason {
        case .businessRejected: return codeRule == nil ? "policy.success" : "policy.failure.codes"
        case .responseNotJSON: return "policy.non_json"
        case .responseTooLarge: return "policy.oversize"
        case .secretEchoed: return "secrets.echo"
        case .refreshRejected, .refreshFailed, .refreshWindowExceeded, .bodyNotReplayable:
            return business == nil ? "token.refresh.on_status" : "token.refresh.on_business_codes"
        default: return nil
        }
    }
}
