// What happens inside an exchange, told while somebody listens: the eleven callbacks of the seeds' event monitor, retry and refresh.
// Domain: worker

import CryoHTTP
import CryoJSON

/// One happening. The seeds' name stands beside each (ledger EM1); a request of theirs is an exchange here.
enum MonitorEvent {
    /// didCreateURLRequest.
    case requestCreated
    /// didAdaptURLRequest: what the upstream gets beside what the client sent, names only. Not told when nothing changes (EM4).
    case requestAdapted(FieldSection)
    /// requestDidResume: an attempt begins, or goes on after a pause.
    case resumed
    /// requestDidSuspend: the client takes nothing at present.
    case suspended
    /// requestDidTransition.
    case transitioned(from: ExchangeMachine.State, to: ExchangeMachine.State)
    /// didSendBytes, to the upstream.
    case bytesSent(Int)
    /// didReceiveHTTPResponse.
    case responseReceived
    /// didReceiveData, from the upstream.
    case dataReceived(Int)
    /// didWriteData, to the client.
    case dataWritten(Int)
    /// The first is number 1.
    case retrying(number: UInt32, delayMilliseconds: UInt64)
    case refreshing(isLeader: Bool)
    /// requestDidCancel. Exactly one of this and `finished` ends the events of an exchange.
    case cancelled
    /// requestDidFinish.
    case finished

    var name: StaticString {
        switch self {
        case .requestCreated: "request_created"
        case .requestAdapted: "request_adapted"
        case .resumed: "resumed"
        case .suspended: "suspended"
        case .transitioned: "transitioned"
        case .bytesSent: "bytes_sent"
        case .responseReceived: "response_received"
        case .dataReceived: "data_received"
        case .dataWritten: "data_written"
        case .retrying: "retrying"
        case .refreshing: "refreshing"
        case .cancelled: "cancelled"
        case .finished: "finished"
        }
    }
}

extension Exchange {
    /// One relaxed load when nobody listens.
    @inline(__always)
    func tell(_ event: @autoclosure () -> MonitorEvent) {
        guard let events = plan.feed?.events, events.isWatched else { return }
        write(event(), to: events)
    }

    func tellTransition() {
        guard let events = plan.feed?.events, events.isWatched, machine.state != toldState else { return }
        write(.transitioned(from: toldState, to: machine.state), to: events)
        toldState = machine.state
    }

    /// Exactly one of these ends an exchange's events (ledger B-ST19).
    func tellEnd() { tell(machine.outcomes.reply == .clientGone || statusSent == 499 ? .cancelled : .finished) }

    private func write(_ event: MonitorEvent, to ring: RecordRing) {
        var writer = JSONWriter()
        writer.beginObject()
        writer.field("event", event.name)
        id.withUnsafeBytes { writer.field("exchange", bytes: $0) }
        writer.field("at_us", Int64(clamping: microseconds(from: context.startNanoseconds, to: now)))
        switch event {
        case .requestCreated: appendRequest(&writer)
        case .requestAdapted(let fields):
            let changes = changedNames(fields)
            if changes.added.isEmpty, changes.removed.isEmpty { return }
            append("added", changes.added, &writer)
            append("removed", changes.removed, &writer)
        case .resumed, .suspended, .cancelled: writer.field("attempt", Int64(records.count))
        case .transitioned(let from, let to):
            writer.field("from", from.name)
            writer.field("to", to.name)
        case .bytesSent(let count), .dataReceived(let count), .dataWritten(let count): writer.field("bytes", Int64(count))
        case .responseReceived:
            writer.field("attempt", Int64(records.count))
            writer.field("status", Int64(response?.status ?? 0))
        case .retrying(let number, let delay):
            writer.field("number", Int64(number))
            writer.field("delay_ms", Int64(clamping: delay))
        case .refreshing(let isLeader):
            writer.field("token", route?.credentials?.settings.name ?? "")
            writer.field("leads", isLeader)
        case .finished:
            writer.field("status", Int64(statusSent))
            if let failure { writer.field("reason", failure.reason.rawValue) } else { writer.nullField("reason") }
        }
        writer.endObject()
        var line = writer.bytes
        plan.redactor.scrub(&line)
        line.withUnsafeBytes { ring.append($0) }
    }

    private func appendRequest(_ writer: inout JSONWriter) {
        guard let head else { return }
        head.fields.bytes.withUnsafeBytes { bytes in
            writer.field("method", bytes: UnsafeRawBufferPointer(rebasing: bytes[head.method]))
            let target = plan.redactor.redactTarget(UnsafeRawBufferPointer(rebasing: bytes[head.target]))
            target.withUnsafeBytes { writer.field("target", bytes: $0) }
        }
    }

    private func append(_ key: StaticString, _ names: [[UInt8]], _ writer: inout JSONWriter) {
        writer.key(key)
        writer.beginArray()
        for name in names { name.withUnsafeBytes { writer.string(bytes: $0) } }
        writer.endArray()
    }

    /// Names in lower case that only one side has.
    private func changedNames(_ adapted: FieldSection) -> (added: [[UInt8]], removed: [[UInt8]]) {
        func names(_ fields: FieldSection?) -> [[UInt8]] {
            guard let fields else { return [] }
            return fields.lines.indices.filter { !fields.lines[$0].isRemoved }.map { index in
                fields.withName(at: index) { $0.map { $0 &- 0x41 < 26 ? $0 | 0x20 : $0 } }
            }
        }
        let (before, after) = (names(head?.fields), names(adapted))
        let (had, has) = (Set(before), Set(after))
        return (after.filter { !had.contains($0) }, before.filter { !has.contains($0) })
    }
}

extension ExchangeMachine.State {
    var name: StaticString {
        switch self {
        case .created: "created"
        case .awaitingToken: "awaiting_token"
        case .forwarding: "forwarding"
        case .holding: "holding"
        case .awaitingRefresh: "awaiting_refresh"
        case .backingOff: "backing_off"
        case .streaming: "streaming"
        case .done: "done"
        }
    }
}
