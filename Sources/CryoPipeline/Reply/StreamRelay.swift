// What goes by of one stream: how many events, how far apart, and the id of the last.
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

    private(set) var bytesCount: UInt64 = 0
    private(set) var eventsCount: UInt64 = 0
    private(set) var firstEventAt: UInt64 = 0
    private(set) var lastEventAt: UInt64 = 0
    private(set) var largestGap: UInt64 = 0
    /// The id a browser would send after what has been seen so far (WHATWG HTML §9.2.6); empty: none.
    private(set) var lastEventID: [UInt8] = []

    private var events = EventStreamTap(contentBytesMax: 0)
    private var lines = LineStreamTap(recordBytesMax: 2)

    /// nil: the type is no stream's.
    init?(_ type: MediaType, coding: [UInt8]) {
        switch type {
        case .eventStream: kind = .eventStream
        case .ndjson: kind = .lines
        case .jsonSequence: kind = .sequence
        case .none, .json, .text, .other: return nil
        }
        self.coding = coding
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

    /// Looks at bytes that have arrived; the number of events that ended in them.
    func watch(_ bytes: UnsafeRawBufferPointer, at now: UInt64) -> UInt64 {
        bytesCount &+= UInt64(bytes.count)
        guard isRead else { return 0 }
        let before = eventsCount
        switch kind {
        case .eventStream: watchEvents(bytes, at: now)
        case .lines: watchLines(bytes, at: now)
        case .sequence: for byte in bytes where byte == Self.recordSeparator { note(at: now) }
        }
        return eventsCount &- before
    }

    /// The last line of a stream that ended without a line end is a record all the same (ledger SS4); an event without its blank line is none.
    func end(at now: UInt64) -> UInt64 {
        guard isRead, kind == .lines, lines.finish() != nil else { return 0 }
        note(at: now)
        return 1
    }

    private static let recordSeparator: UInt8 = 0x1E

    private func watchEvents(_ bytes: UnsafeRawBufferPointer, at now: UInt64) {
        var index = 0
        while index < bytes.count {
            let (consumed, event) = events.next(UnsafeRawBufferPointer(rebasing: bytes[index...]))
            index += consumed
            guard let event else { continue }
            note(at: now)
            if let id = event.id { lastEventID = id }
        }
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
    }
}

/// What is counted of a route's streams.
package enum StreamCount: Int, Sendable, CaseIterable {
    case opened, closed, events
}
