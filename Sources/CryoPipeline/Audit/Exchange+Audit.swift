// Step audit: one JSON line per exchange, redacted, handed to the sink. `audit-record.schema.json` tells its shape.
// Domain: worker

import CryoHTTP
import CryoJSON

extension Exchange {
    /// nil: no audit is written. The record is made for the admin side as well.
    func writeAudit() -> AuditOutcome? {
        guard let rules = plan.auditRules else { return nil }
        let scratch = environment.scratch
        var writer = scratch.takeWriter()
        writer.reserveCapacity(1024)
        writer.beginObject()
        appendIdentity(&writer, scratch)
        appendTrace(&writer)
        writer.member(#""steps":"#)
        let steps = outcomes
        scratch.text(of: steps) { Self.append(steps, &$0) }.withUnsafeBytes { writer.raw($0) }
        appendAttempts(&writer)
        appendResult(&writer)
        appendStream(&writer)
        appendContent(&writer, rules)
        writer.endObject()
        let outcome: AuditOutcome?
        if writer.withBytes({ plan.redactor.finds(in: $0) }) {
            var line = writer.bytes
            plan.redactor.scrub(&line)
            outcome = line.withUnsafeBytes { handOver($0) }
        } else {
            outcome = writer.withBytes { handOver($0) }
        }
        scratch.keep(writer)
        return outcome
    }

    private func handOver(_ line: UnsafeRawBufferPointer) -> AuditOutcome? {
        plan.feed?.exchanges.append(line, id: id)
        return plan.auditSink?.append(line)
    }

    /// The version of the record's shape. Members are added to it, never renamed.
    package static let auditVersion: Int64 = 1

    private func appendIdentity(_ writer: inout JSONWriter, _ scratch: AuditScratch) {
        writer.member(#""v":"#)
        writer.integer(Self.auditVersion)
        writer.member(#""time":"#)
        writer.plain(scratch.time(context.startUnixMicroseconds))
        writer.member(#""id":"#)
        exchangeID.withBytes { writer.plain($0) }
        if !clientRequestID.isEmpty { clientRequestID.withUnsafeBytes { writer.field("request_id", bytes: $0) } }
        writer.member(#""client":"#)
        writer.plain(context.client)
        appendClientIdentity(&writer)
        writer.member(#""route":"#)
        if let route { route.name.withUnsafeBytes { writer.string(bytes: $0) } } else { writer.null() }
        writer.member(#""policy":"#)
        if let policy = route?.policy { writer.string(policy.settings.name) } else { writer.null() }
        writer.member(#""upstream":"#)
        if let upstream { writer.string(upstream.settings.name) } else { writer.null() }
        guard let head else {
            writer.nullField("method")
            writer.nullField("target")
            return
        }
        head.fields.bytes.withUnsafeBytes { bytes in
            writer.member(#""method":"#)
            writer.string(bytes: UnsafeRawBufferPointer(rebasing: bytes[head.method]))
            writer.member(#""target":"#)
            let target = UnsafeRawBufferPointer(rebasing: bytes[head.target])
            if plan.redactor.needsTargetRedaction(target) {
                plan.redactor.redactTarget(target).withUnsafeBytes { writer.string(bytes: $0) }
            } else {
                writer.string(bytes: target)
            }
        }
    }

    /// Who the client has proved to be, besides where it came from.
    private func appendClientIdentity(_ writer: inout JSONWriter) {
        let hasKey = plan.clientKey != nil && route != nil
        guard context.identity != nil || hasKey else { return }
        writer.member(#""identity":"#)
        writer.beginObject()
        switch context.identity {
        case .certificate(let subject): subject.withUnsafeBytes { writer.field("certificate", bytes: $0) }
        case .user(let id): writer.field("uid", Int64(id))
        case nil: break
        }
        if hasKey { writer.field("key", "listen.client_key") }
        writer.endObject()
    }

    private static func append(_ outcomes: StepOutcomes, _ writer: inout JSONWriter) {
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
        writer.member(#""attempts":"#)
        writer.beginArray()
        for (index, record) in records.enumerated() {
            writer.beginObject()
            writer.member(#""number":"#)
            writer.integer(Int64(index + 1))
            writer.member(#""start_us":"#)
            writer.integer(microseconds(from: context.startNanoseconds, to: record.startedAt))
            writer.member(#""duration_us":"#)
            writer.integer(microseconds(from: record.startedAt, to: max(record.endedAt, record.startedAt)))
            writer.member(#""status":"#)
            if record.status > 0 { writer.integer(Int64(record.status)) } else { writer.null() }
            writer.member(#""outcome":"#)
            writer.string(record.outcome)
            writer.member(#""token_version":"#)
            writer.integer(Int64(record.tokenVersion))
            if record.isTokenUnwritten { writer.field("token_unwritten", true) }
            if record.isSigned { writer.field("signed", true) }
            if let refusedBy = record.refusedBy { writer.field("token_refused_by", refusedBy) }
            append(record, &writer)
            writer.endObject()
        }
        writer.endArray()
    }

    private func append(_ record: AttemptRecord, _ writer: inout JSONWriter) {
        writer.member(#""reused":"#)
        writer.bool(record.timing.reusedConnection)
        writer.member(#""dns_us":"#)
        writer.integer(Int64(record.timing.dns))
        writer.member(#""connect_us":"#)
        writer.integer(Int64(record.timing.connect))
        writer.member(#""tls_us":"#)
        writer.integer(Int64(record.timing.tls))
        writer.member(#""first_byte_us":"#)
        writer.integer(Int64(record.timing.firstByte))
        writer.member(#""request_bytes":"#)
        writer.integer(record.requestBytes)
        writer.member(#""response_bytes":"#)
        writer.integer(record.responseBytes)
    }

    private func microseconds(from start: UInt64, to end: UInt64) -> Int64 { end > start ? Int64((end - start) / 1000) : 0 }

    private func appendResult(_ writer: inout JSONWriter) {
        writer.member(#""status":"#)
        writer.integer(Int64(statusSent))
        writer.member(#""request_bytes":"#)
        writer.integer(body?.bytesReceived ?? 0)
        writer.member(#""response_bytes":"#)
        writer.integer(bytesSent)
        writer.member(#""duration_us":"#)
        writer.integer(microseconds(from: context.startNanoseconds, to: now))
        if let revision {
            writer.member(#""session":"#)
            writer.plain(environment.scratch.text(of: revision))
        }
        if let echo, echo.hasFound { writer.field("secret_echoed", true) }
        if let rule = firedRule { writer.field("rule", rule) }
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
