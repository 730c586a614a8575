// Step inject: the trace an exchange belongs to, for the upstream and for the record; and the times for the client.
// Domain: worker

import CryoHTTP
import CryoJSON

/// The trace of one exchange.
struct ExchangeTrace {
    /// With the parent that the upstream sees.
    var context: TraceContext
    /// The client's own id; nil where it sent none.
    var callerID: [UInt8]?

    /// 16 digits for each number; never zeros only (Trace Context §3.2.2).
    static func id(_ numbers: UInt64...) -> [UInt8] {
        var digits = numbers.flatMap { Hexadecimal.digits(of: $0) }
        if numbers.allSatisfy({ $0 == 0 }) { digits[digits.count - 1] = 0x31 }
        return digits
    }
}

extension Exchange {
    /// Takes the client's trace over, or begins one, as the configuration says. Once, for all attempts.
    func adoptTrace(_ head: RequestHead) {
        let mode = plan.tracing.traceparent
        // Several lines are no trace (§2.2.1).
        let isOnce = head.fields.count(of: "traceparent") == 1 && !head.fields.listContains("connection", token: "traceparent")
        let given = isOnce ? head.fields.withValue(of: "traceparent") { TraceContext($0) }.flatMap { $0 } : nil
        switch mode {
        case .pass: if let given { trace = ExchangeTrace(context: given, callerID: given.parentID) }
        case .join, .make:
            let ownID = ExchangeTrace.id(context.scheduler.random())
            if var joined = given {
                let callerID = joined.parentID
                joined.parentID = ownID
                trace = ExchangeTrace(context: joined, callerID: callerID)
            } else if case .make = mode {
                let traceID = ExchangeTrace.id(context.scheduler.random(), context.scheduler.random())
                trace = ExchangeTrace(context: TraceContext(traceID: traceID, parentID: ownID, flags: [0x30, 0x31]), callerID: nil)
            }
        }
    }

    /// What the upstream is told of it.
    func setTrace(_ fields: inout FieldSection) {
        if case .pass = plan.tracing.traceparent { return }
        // A state without its trace means nothing (§3.3).
        if trace?.callerID == nil { fields.remove("tracestate") }
        fields.remove("traceparent")
        if let trace { fields.append("traceparent", trace.context.bytes) }
    }

    /// Nothing where there is no trace.
    func appendTrace(_ writer: inout JSONWriter) {
        guard let trace else { return }
        writer.key("trace")
        writer.beginObject()
        trace.context.traceID.withUnsafeBytes { writer.field("id", bytes: $0) }
        trace.context.parentID.withUnsafeBytes { writer.field("span", bytes: $0) }
        if let callerID = trace.callerID, callerID != trace.context.parentID {
            callerID.withUnsafeBytes { writer.field("parent", bytes: $0) }
        }
        writer.endObject()
    }

    /// `Server-Timing` (W3C) beside what the upstream says in its own: how long the gateway took until this head, and how long of that
    /// it waited for the upstream.
    func appendTiming(_ fields: inout FieldSection) {
        guard plan.tracing.tellsTiming, !isTunnel else { return }
        let total = now > context.startNanoseconds ? now - context.startNanoseconds : 0
        let waited = records.reduce(0 as UInt64) { sum, record in
            let end = record.endedAt > 0 ? record.endedAt : now
            return sum + (end > record.startedAt ? end - record.startedAt : 0)
        }
        var value: [UInt8] = []
        func append(_ name: StaticString, _ nanoseconds: UInt64) {
            if !value.isEmpty { value.append(contentsOf: [0x2C, 0x20]) }
            value.append(contentsOf: name.rawBytes)
            value.append(contentsOf: ";dur=".utf8)
            value.appendDecimal(nanoseconds / 1_000_000)
            value.append(0x2E)
            value.append(0x30 + UInt8(nanoseconds / 100_000 % 10))
        }
        append("gateway", total > waited ? total - waited : 0)
        if !records.isEmpty { append("upstream", waited) }
        fields.append("Server-Timing", value)
    }
}
