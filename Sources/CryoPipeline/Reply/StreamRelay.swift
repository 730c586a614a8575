// What goes by of one stream: how many events, how far apart, and where a new attempt would have to go on.
// Domain: worker

import CryoHTTP

/// Confined to the exchange whose answer it is. Only answers that are streams have one.
final class StreamRelay {
    /// The raw value is the word of the audit.
    enum Kind: String {
        case eventStream = "event_stream"
        case lines = "ndjson"
        case sequence = "json_seq"
    }

    let kind: Kind
    /// The content coding that hides what is inside; such a stream is passed on unread. Empty: none.
    let coding: [UInt8]
    /// What is added to this stream, or done about its end.
    let care: StreamCare

    // For the record.
    private(set) var bytesCount: UInt64 = 0
    private(set) var eventsCount: UInt64 = 0
    private(set) var firstEventAt: UInt64 = 0
    private(set) var lastEventAt: UInt64 = 0
    private(set) var largestGap: UInt64 = 0
    var heartbeatsCount: UInt64 = 0
    var resumesCount: UInt64 = 0
    var hasErrorEvent = false
    /// The id a browser would send after what has been seen so far (WHATWG HTML §9.2.6); empty: none.
    private(set) var lastEventID: [UInt8] = []

    // For an attempt that goes on.
    /// Milliseconds the stream itself wants a client to wait before it connects again.
    private(set) var retryMilliseconds: UInt64?
    /// Nothing has come yet, or the last event had an id. One without would come a second time.
    private(set) var isLastEventNamed = true
    /// An event has come since the last loss.
    var hasAdvanced = false

    // What the client has.
    /// The client takes nothing more at present.
    var isPaused = false
    var hold = StreamHold()

    private var events = EventStreamTap(contentBytesMax: 0)
    private var lines = LineStreamTap(recordBytesMax: 2)

    /// nil: the type is no stream's.
    init?(_ type: MediaType, coding: [UInt8], care: StreamCare) {
        switch type {
        case .eventStream: kind = .eventStream
        case .ndjson: kind = .lines
        case .jsonSequence: kind = .sequence
        case .none, .json, .text, .other: return nil
        }
        self.coding = coding
        self.care = kind == .eventStream && coding.isEmpty ? care : StreamCare()
    }

    var isRead: Bool { coding.isEmpty }

    /// Whether the stream, if it ends here, cuts an event off.
    var isIncomplete: Bool {
        switch kind {
        case .eventStream: events.isIncomplete
        case .lines: lines.isInRecord
        case .sequence: false
        }
    }

    /// Whether the client has no part of an event, so that something of ours can be put in.
    var isClear: Bool { care.holdsEvents ? !hold.isPassing : events.isClear }

    /// Looks at bytes that have arrived. `events` have ended in them, and what lies behind `border` is a part of another to be held back.
    func watch(_ bytes: UnsafeRawBufferPointer, at now: UInt64) -> (events: UInt64, border: Int) {
        bytesCount &+= UInt64(bytes.count)
        guard isRead else { return (0, bytes.count) }
        let before = eventsCount
        var border = bytes.count
        switch kind {
        case .eventStream: border = watchEvents(bytes, at: now)
        case .lines: watchLines(bytes, at: now)
        case .sequence: for byte in bytes where byte == Self.recordSeparator { note(at: now) }
        }
        return (eventsCount &- before, border)
    }

    /// The last line of a stream that ended without a line end is a record all the same (ledger SS4); an event without its blank line is none.
    func end(at now: UInt64) -> UInt64 {
        guard isRead, kind == .lines, lines.finish() != nil else { return 0 }
        note(at: now)
        return 1
    }

    /// The attempt is lost; another may follow. What came of an event that is not whole is nothing.
    func restart() {
        events = EventStreamTap(contentBytesMax: 0)
        hasAdvanced = false
        hold.restart()
    }

    private static let recordSeparator: UInt8 = 0x1E

    private func watchEvents(_ bytes: UnsafeRawBufferPointer, at now: UInt64) -> Int {
        var index = 0
        var border = 0
        while index < bytes.count {
            let (consumed, hasEnded) = events.next(UnsafeRawBufferPointer(rebasing: bytes[index...]))
            index += consumed
            guard hasEnded else { continue }
            border = index
            note(at: now)
            if let id = events.event.id {
                lastEventID = id
                isLastEventNamed = !id.isEmpty
            } else if events.event.hasContent {
                isLastEventNamed = false
            }
            if let milliseconds = events.event.retryMilliseconds { retryMilliseconds = milliseconds }
        }
        // Of interest only to who holds events back.
        return care.holdsEvents && !events.isClear ? border : bytes.count
    }

    private func watchLines(_ bytes: UnsafeRawBufferPointer, at now: UInt64) {
        var index = 0
        while index < bytes.count {
            let (consumed, record) = lines.next(UnsafeRawBufferPointer(rebasing: bytes[index...]))
            index += consumed
            if record != nil { note(at: now) }
        }
    }

    private func note(at now: UInt64) {
        if eventsCount == 0 {
            firstEventAt = now
        } else if now > lastEventAt {
            largestGap = max(largestGap, now - lastEventAt)
        }
        lastEventAt = now
        eventsCount &+= 1
        hasAdvanced = true
    }
}

/// What a route asks for, as far as this stream can have it.
struct StreamCare {
    /// 0: none.
    var heartbeatNanoseconds: UInt64 = 0
    var onLoss = StreamSettings.Loss.cut

    /// Who wants to say something after a loss, or go on, must not have given out a part of an event: there is no way to take it back. A
    /// blank line would make an event of the half, and any line in front of it would be a part of that event.
    var holdsEvents: Bool { onLoss != .cut }
}

/// What is counted of a route's streams.
package enum StreamCount: Int, Sendable, CaseIterable {
    case opened, closed, events, heartbeats, reconnects, resumed
}
