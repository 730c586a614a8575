// Reads the events of a `text/event-stream` as they pass by, without holding the stream up (WHATWG HTML §9.2.6; ledger SS2, SS3).
// Domain: pure

/// One event of a stream.
package struct StreamEvent: Sendable, Equatable {
    /// The values of the `data` lines, joined by line feeds.
    package var content: [UInt8] = []
    /// The last `event` line; empty where there was none, which a browser takes for `message`.
    package var type: [UInt8] = []
    /// The last `id` line. nil: none in this event.
    package var id: [UInt8]?
    /// Milliseconds a client should wait before it connects again.
    package var retryMilliseconds: UInt64?
    /// Bytes of the stream the event took, its blank line included.
    package var bytes: UInt64 = 0
    /// It has a `data` line, so that a browser would report it.
    package var hasContent = false
    /// Content, type or id were longer than is kept; what is here is their beginning.
    package var isCut = false

    package init() {}
}

/// A parser that is fed whatever pieces arrive and says where events end. Splits never change what it finds. It takes LF, CRLF and a lone
/// CR for the end of a line, skips one byte order mark at the very beginning, and keeps at most `contentBytesMax` of an event.
///
/// An event counts when it has a `data`, `event`, `id` or `retry` line (the seeds' rule; a browser would only report those with `data`).
package struct EventStreamTap: Sendable {
    /// What is kept of one event's content, unless less is wanted.
    package static let contentBytesMax = 64 * 1024
    /// What is kept of a type and of an id.
    package static let nameBytesMax = 1024

    private enum Phase {
        /// Matching the byte order mark: so many of its bytes are there.
        case mark(Int)
        /// In a field's name.
        case name
        /// After the colon, where one space is dropped.
        case space
        case value
    }

    private enum Field {
        case content, type, id, retry, ignored
    }

    private var phase = Phase.mark(0)
    private var field = Field.ignored
    private static let nameStart: UInt64 = 1
    /// The bytes of the name so far, packed behind a 1 that tells leading NULs; longer ones than any known are just counted.
    private var name = Self.nameStart
    private var nameBytes = 0
    private var skipsLineFeed = false
    private var event = StreamEvent()
    private var hasFields = false
    private var hasContent = false
    private var retry: UInt64? = 0
    private var retryDigits = 0
    private var lineID: [UInt8] = []
    private var isLineIDValid = true

    /// Whole events so far.
    package private(set) var eventsCount: UInt64 = 0
    private let keptBytesMax: Int

    /// `contentBytesMax` 0: who only counts events needs no copy of them.
    package init(contentBytesMax: Int = Self.contentBytesMax) { keptBytesMax = contentBytesMax }

    /// Whether the stream is between two events, where a comment can be put in without touching one.
    package var isBetweenEvents: Bool {
        if case .mark(let matched) = phase { return matched == 0 }
        guard case .name = phase else { return false }
        return nameBytes == 0 && event.bytes == 0
    }

    /// Whether lines may be put in here, a blank one too, without touching an event: as between two events, but also behind a comment.
    package var isClear: Bool {
        guard case .name = phase else { return isBetweenEvents }
        return nameBytes == 0 && !hasFields
    }

    /// Whether a stream that ends here cuts an event off: its last line, or the blank line, is missing (ledger SS3).
    package var isIncomplete: Bool {
        if hasFields { return true }
        switch phase {
        case .mark: return false
        case .name: return nameBytes > 0
        case .space, .value:
            if case .ignored = field { return false }
            return true
        }
    }

    /// Takes bytes up to the end of the next event. `event` is nil when all of them are consumed and none has ended.
    package mutating func next(_ bytes: UnsafeRawBufferPointer) -> (consumed: Int, event: StreamEvent?) {
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            if skipsLineFeed {
                skipsLineFeed = false
                if byte == 0x0A {
                    index += 1
                    // The second half of the end of a line inside an event, or of the blank line that has ended one already.
                    if event.bytes > 0 { event.bytes += 1 }
                    continue
                }
            }
            if case .value = phase, byte != 0x0A, byte != 0x0D {
                index += takeValue(UnsafeRawBufferPointer(rebasing: bytes[index...]))
                continue
            }
            if case .mark(let matched) = phase, takeMark(byte, matched) {
                index += 1
                continue
            }
            index += 1
            event.bytes += 1
            guard byte == 0x0A || byte == 0x0D else {
                takeName(byte)
                continue
            }
            skipsLineFeed = byte == 0x0D
            if endLine() { return (index, takeEvent()) }
        }
        return (index, nil)
    }

    // MARK: Bytes

    /// False: this byte is not part of the mark, and neither were the ones before it.
    private mutating func takeMark(_ byte: UInt8, _ matched: Int) -> Bool {
        let mark: StaticString = "\u{FEFF}"
        guard byte == mark.utf8Start[matched] else {
            phase = .name
            // Bytes of half a mark begin a name that nobody knows.
            nameBytes = matched
            name = matched == 0 ? Self.nameStart : .max
            event.bytes = UInt64(matched)
            return false
        }
        phase = matched == 2 ? .name : .mark(matched + 1)
        return true
    }

    private mutating func takeName(_ byte: UInt8) {
        if case .space = phase {
            phase = .value
            if byte != 0x20 { withUnsafeBytes(of: byte) { appendValue($0) } }
            return
        }
        if byte == 0x3A {
            openField()
            phase = .space
            return
        }
        nameBytes += 1
        name = nameBytes <= 7 ? name << 8 | UInt64(byte) : .max
    }

    /// How many bytes were the value's: all up to the end of its line.
    private mutating func takeValue(_ bytes: UnsafeRawBufferPointer) -> Int {
        var end = 0
        while end < bytes.count, bytes[end] != 0x0A, bytes[end] != 0x0D { end += 1 }
        event.bytes += UInt64(end)
        appendValue(UnsafeRawBufferPointer(rebasing: bytes[..<end]))
        return end
    }

    // MARK: Fields

    private mutating func openField() {
        switch name {
        case 0x01_6461_7461:  // data
            field = .content
            if hasContent, !Self.append(CollectionOfOne(0x0A), to: &event.content, bytesMax: keptBytesMax) { event.isCut = true }
            hasContent = true
            hasFields = true
        case 0x0165_7665_6E74:  // event
            field = .type
            event.type.removeAll(keepingCapacity: true)
            hasFields = true
        case 0x01_6964:  // id
            field = .id
            lineID.removeAll(keepingCapacity: true)
            isLineIDValid = true
        case 0x0172_6574_7279:  // retry
            field = .retry
            retry = 0
            retryDigits = 0
        default: field = .ignored
        }
    }

    private mutating func appendValue(_ bytes: UnsafeRawBufferPointer) {
        switch field {
        case .content: if !Self.append(bytes, to: &event.content, bytesMax: keptBytesMax) { event.isCut = true }
        case .type: if !Self.append(bytes, to: &event.type, bytesMax: Self.nameBytesMax) { event.isCut = true }
        case .id:
            // An id with a NUL is none.
            if bytes.contains(0) { isLineIDValid = false }
            if !Self.append(bytes, to: &lineID, bytesMax: Self.nameBytesMax) { event.isCut = true }
        case .retry:
            for byte in bytes {
                guard let value = retry, byte &- 0x30 < 10 else { return retry = nil }
                let (tenfold, overflows) = value.multipliedReportingOverflow(by: 10)
                let (sum, overflowsToo) = tenfold.addingReportingOverflow(UInt64(byte - 0x30))
                retry = overflows || overflowsToo ? nil : sum
                retryDigits += 1
            }
        case .ignored: break
        }
    }

    /// False: there was no room for all of them.
    private static func append(_ bytes: some Collection<UInt8>, to value: inout [UInt8], bytesMax: Int) -> Bool {
        let room = bytesMax - value.count
        value.append(contentsOf: bytes.prefix(room))
        return bytes.count <= room
    }

    // MARK: Lines

    /// True: this line was the blank one that ends an event with fields.
    private mutating func endLine() -> Bool {
        if case .name = phase {
            if nameBytes == 0 {
                if hasFields { return true }
                event = StreamEvent()
                return false
            }
            // A line without a colon is a field without a value.
            openField()
        }
        closeField()
        phase = .name
        name = Self.nameStart
        nameBytes = 0
        return false
    }

    private mutating func closeField() {
        switch field {
        case .id where isLineIDValid:
            event.id = lineID
            hasFields = true
        case .retry where retryDigits > 0:
            guard let retry else { break }
            event.retryMilliseconds = retry
            hasFields = true
        default: break
        }
        field = .ignored
    }

    private mutating func takeEvent() -> StreamEvent {
        var whole = event
        whole.hasContent = hasContent
        event = StreamEvent()
        hasFields = false
        hasContent = false
        eventsCount += 1
        return whole
    }
}
