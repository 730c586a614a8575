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

    /// Makes ready for the next one. What is empty already is not written to: that would ask who else holds its memory.
    fileprivate mutating func clear() {
        if !content.isEmpty { content.removeAll(keepingCapacity: true) }
        if !type.isEmpty { type.removeAll(keepingCapacity: true) }
        if id != nil { id = nil }
        retryMilliseconds = nil
        bytes = 0
        hasContent = false
        isCut = false
    }
}

/// A parser that is fed whatever pieces arrive and says where events end. Splits never change what it finds. It takes LF, CRLF and a lone
/// CR for the end of a line, skips one byte order mark at the very beginning, and keeps at most `contentBytesMax` of an event.
///
/// An event counts when it has a `data`, `event`, `id` or `retry` line (the seeds' rule; a browser would only report those with `data`).
///
/// Lines that lie in one piece are taken whole (`takeLines`), all others byte by byte (`takeByte`); both come to the same fields.
@usableFromInline
package struct EventStreamTap: ~Copyable, Sendable {
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
    private static let lineFeed: StaticString = "\n"
    /// So many bytes of a name can be packed; every known name is shorter.
    private static let packedBytes = 7
    /// The bytes of the name so far, packed behind a 1 that tells leading NULs; longer ones than any known are just counted.
    private var name = Self.nameStart
    private var nameBytes = 0
    private var skipsLineFeed = false
    private var hasFields = false
    private var hasEnded = false
    private var retry: UInt64? = 0
    private var retryDigits = 0
    private var lineID: [UInt8] = []
    private var isLineIDValid = true

    /// The event that `next` has found, until it is called again; in between as much of one as has come.
    package private(set) var event = StreamEvent()
    /// Whole events so far.
    package private(set) var eventsCount: UInt64 = 0
    private let keptBytesMax: Int

    /// `contentBytesMax` 0: who only counts events needs no copy of what is in them, and gets neither content nor type.
    package init(contentBytesMax: Int = Self.contentBytesMax) { keptBytesMax = contentBytesMax }

    /// Whether the stream is between two events, where a comment can be put in without touching one.
    package var isBetweenEvents: Bool {
        if case .mark(let matched) = phase { return matched == 0 }
        return isAtLineStart && (hasEnded || event.bytes == 0)
    }

    /// Whether lines may be put in here, a blank one too, without touching an event: as between two events, but also behind a comment.
    package var isClear: Bool {
        if case .mark(let matched) = phase { return matched == 0 }
        return isAtLineStart && !hasFields
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

    private var isAtLineStart: Bool {
        if case .name = phase { return nameBytes == 0 }
        return false
    }

    /// Takes bytes up to the end of the next event, which is in `event` then. False: all of them are consumed and none has ended.
    package mutating func next(_ bytes: UnsafeRawBufferPointer) -> (consumed: Int, hasEnded: Bool) {
        if hasEnded {
            event.clear()
            hasEnded = false
        }
        var index = 0
        while index < bytes.count, !hasEnded {
            if isAtLineStart, !skipsLineFeed {
                index = takeLines(bytes, from: index)
                if hasEnded || index == bytes.count { break }
            }
            index += takeByte(UnsafeRawBufferPointer(rebasing: bytes[index...]))
        }
        return (index, hasEnded)
    }

    // MARK: Whole lines

    /// Takes the lines that begin at `start` and whose ends are there, up to the end of an event. Where the first one begins that is left
    /// to `takeByte`.
    private mutating func takeLines(_ bytes: UnsafeRawBufferPointer, from start: Int) -> Int {
        var index = start
        while index < bytes.count {
            let end = firstLineEnd(bytes, from: index, to: bytes.count)
            if end == bytes.count { break }
            event.bytes += UInt64(end + 1 - index)
            let line = index..<end
            index = end + 1
            skipsLineFeed = bytes[end] == 0x0D
            if line.isEmpty {
                endBlankLine()
                if hasEnded { break }
            } else {
                takeLine(UnsafeRawBufferPointer(rebasing: bytes[line]))
            }
            guard skipsLineFeed else { continue }
            // Whether one follows may be known only with the next piece.
            if index == bytes.count { break }
            if bytes[index] == 0x0A { index += skipLineFeed() }
            skipsLineFeed = false
        }
        return index
    }

    /// One line with something in it, without its end.
    @inline(__always)
    private mutating func takeLine(_ line: UnsafeRawBufferPointer) {
        var name = Self.nameStart
        var colon = 0
        while colon < line.count, line[colon] != 0x3A {
            if colon == Self.packedBytes { return }
            name = name << 8 | UInt64(line[colon])
            colon += 1
        }
        openField(name)
        var value = colon + 1
        if value < line.count, line[value] == 0x20 { value += 1 }
        if value < line.count { appendValue(UnsafeRawBufferPointer(rebasing: line[value...])) }
        closeField()
    }

    // MARK: Bytes

    /// Takes the first byte, or all those of a value that begins with it. How many that were: 0 where it only tells that something is over.
    private mutating func takeByte(_ bytes: UnsafeRawBufferPointer) -> Int {
        let byte = bytes[0]
        if skipsLineFeed {
            skipsLineFeed = false
            return byte == 0x0A ? skipLineFeed() : 0
        }
        if case .mark(let matched) = phase { return takeMark(byte, matched) }
        if byte == 0x0A || byte == 0x0D {
            event.bytes += 1
            skipsLineFeed = byte == 0x0D
            if isAtLineStart { endBlankLine() } else { endLine() }
            return 1
        }
        if case .value = phase { return takeValue(bytes) }
        event.bytes += 1
        takeName(byte)
        return 1
    }

    /// The second half of the end of a line inside an event, or of the blank line that has ended one already, which is not counted.
    private mutating func skipLineFeed() -> Int {
        if event.bytes > 0 { event.bytes += 1 }
        return 1
    }

    /// 0: this byte is not part of the mark, and neither were the ones before it.
    private mutating func takeMark(_ byte: UInt8, _ matched: Int) -> Int {
        let mark: StaticString = "\u{FEFF}"
        guard byte == mark.utf8Start[matched] else {
            phase = .name
            // Bytes of half a mark begin a name that nobody knows.
            nameBytes = matched
            name = matched == 0 ? Self.nameStart : .max
            event.bytes = UInt64(matched)
            return 0
        }
        phase = matched == 2 ? .name : .mark(matched + 1)
        return 1
    }

    private mutating func takeName(_ byte: UInt8) {
        if case .space = phase {
            phase = .value
            if byte != 0x20 { withUnsafeBytes(of: byte) { appendValue($0) } }
            return
        }
        if byte == 0x3A {
            openField(name)
            phase = .space
            return
        }
        nameBytes += 1
        name = nameBytes <= Self.packedBytes ? name << 8 | UInt64(byte) : .max
    }

    /// How many bytes were the value's: all up to the end of its line.
    private mutating func takeValue(_ bytes: UnsafeRawBufferPointer) -> Int {
        let end = firstLineEnd(bytes, from: 0, to: bytes.count)
        event.bytes += UInt64(end)
        appendValue(UnsafeRawBufferPointer(rebasing: bytes[..<end]))
        return end
    }

    private mutating func endLine() {
        // A line without a colon is a field without a value.
        if case .name = phase { openField(name) }
        closeField()
        phase = .name
        name = Self.nameStart
        nameBytes = 0
    }

    // MARK: Fields

    @inline(__always)
    private mutating func openField(_ name: UInt64) {
        switch name {
        case 0x01_6461_7461:  // data
            field = .content
            if event.hasContent { appendContent(Self.lineFeed.rawBytes) }
            event.hasContent = true
            hasFields = true
        case 0x0165_7665_6E74:  // event
            field = .type
            if !event.type.isEmpty { event.type.removeAll(keepingCapacity: true) }
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

    @inline(__always)
    private mutating func appendValue(_ bytes: UnsafeRawBufferPointer) {
        switch field {
        case .content: appendContent(bytes)
        case .type: if keptBytesMax > 0, !Self.append(bytes, to: &event.type, bytesMax: Self.nameBytesMax) { event.isCut = true }
        case .id:
            // An id with a NUL is none.
            if bytes.contains(0) { isLineIDValid = false }
            if !Self.append(bytes, to: &lineID, bytesMax: Self.nameBytesMax) { event.isCut = true }
        case .retry: appendRetry(bytes)
        case .ignored: break
        }
    }

    @inline(__always)
    private mutating func appendContent(_ bytes: UnsafeRawBufferPointer) {
        if keptBytesMax == 0 || !Self.append(bytes, to: &event.content, bytesMax: keptBytesMax) { event.isCut = true }
    }

    private mutating func appendRetry(_ bytes: UnsafeRawBufferPointer) {
        for byte in bytes {
            guard let value = retry, byte &- 0x30 < 10 else { return retry = nil }
            let (tenfold, overflows) = value.multipliedReportingOverflow(by: 10)
            let (sum, overflowsToo) = tenfold.addingReportingOverflow(UInt64(byte - 0x30))
            retry = overflows || overflowsToo ? nil : sum
            retryDigits += 1
        }
    }

    /// False: there was no room for all of them.
    private static func append(_ bytes: UnsafeRawBufferPointer, to value: inout [UInt8], bytesMax: Int) -> Bool {
        let room = bytesMax - value.count
        value.append(contentsOf: bytes.prefix(room))
        return bytes.count <= room
    }

    @inline(__always)
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

    /// The blank line ends an event that has fields; what had none was no event.
    private mutating func endBlankLine() {
        guard hasFields else { return event.clear() }
        hasFields = false
        hasEnded = true
        eventsCount += 1
    }
}
