// The taps on event streams and JSON lines: what they find, whatever the pieces are.
// Domain: cold

import CryoHTTP
import Testing

@Suite("Stream taps")
struct StreamTapTests {
    @Test("events end at a blank line; data lines are joined, comments and unknown fields ignored")
    func fields() {
        let events = events(of: ": hello\nid: 7\nevent: added\nretry: 1500\ndata: one\ndata:two\ndata:  three\nother: x\n\n")
        #expect(events.count == 1)
        #expect(events.first?.content == latin("one\ntwo\n three"))
        #expect(events.first?.type == latin("added"))
        #expect(events.first?.id == latin("7"))
        #expect(events.first?.retryMilliseconds == 1500)
        #expect(events.first?.isCut == false)
    }

    @Test("LF, CRLF and a lone CR end lines, also mixed", arguments: ["\n", "\r\n", "\r"])
    func lineEnds(end: String) {
        let events = events(of: ["data: a", "data: b", "", "id: 1", "", ""].joined(separator: end))
        #expect(events.map(\.content) == [latin("a\nb"), []])
        #expect(events.last?.id == latin("1"))
    }

    @Test("an event needs one of the four fields; a field without a colon has an empty value")
    func presence() {
        #expect(events(of: "\n\n: only a comment\n\nother: 1\n\nretry: soon\n\nid: a\u{0}b\n\n").isEmpty)
        #expect(events(of: "data\n\n").map(\.content) == [[]])
        #expect(events(of: "data\ndata\n\n").map(\.content) == [latin("\n")])
        #expect(events(of: "event: x\n\nid\n\nretry: 5\n\n").count == 3)
    }

    @Test("one byte order mark at the very beginning is skipped, half a mark is not")
    func mark() {
        #expect(events(of: [0xEF, 0xBB, 0xBF] + latin("data: x\n\n")).map(\.content) == [latin("x")])
        #expect(events(of: [0xEF, 0xBB] + latin("data: x\n\ndata: y\n\n")).map(\.content) == [latin("y")])
        #expect(events(of: latin("data: a\n\n") + [0xEF, 0xBB, 0xBF] + latin("data: b\n\n")).map(\.content) == [latin("a")])
    }

    @Test("every split finds the same events")
    func splits() {
        let stream = [0xEF, 0xBB, 0xBF] + latin("data: a\r\ndata: b\r\n\r\n: c\rid: 9\r\revent: x\n\ndata: open")
        let whole = events(of: stream)
        #expect(whole.count == 3)
        for cut in 1..<stream.count {
            var tap = EventStreamTap()
            #expect(events(of: Array(stream[..<cut]), &tap) + events(of: Array(stream[cut...]), &tap) == whole, "cut at \(cut)")
            let isIncomplete = tap.isIncomplete
            #expect(isIncomplete)
        }
    }

    @Test("lines taken whole and lines taken byte by byte are the same, wherever a stream is cut", arguments: [0, 5])
    func wholeLines(contentBytesMax: Int) {
        let stream = Self.variousLines
        let whole = pieces(of: stream, [stream.count], contentBytesMax)
        #expect(whole.events.count == 13)
        for cut in 1..<stream.count {
            #expect(pieces(of: stream, [cut, stream.count - cut], contentBytesMax) == whole, "cut at \(cut)")
        }
        for bytes in 1...40 {
            let counts = Array(repeating: bytes, count: stream.count / bytes + 1)
            #expect(pieces(of: stream, counts, contentBytesMax) == whole, "pieces of \(bytes)")
        }
    }

    @Test("a line ends at CR or LF only, wherever it stands and whatever else is in it")
    func lineEndsAnywhere() {
        for count in 0...72 {
            for other: UInt8 in [0x00, 0x09, 0x0C, 0x0E, 0x7F, 0x8A, 0x8D, 0xFF] {
                for end: [UInt8] in [[0x0A], [0x0D], [0x0D, 0x0A]] {
                    var value = [UInt8](repeating: 0x61, count: count)
                    if count > 0 { value[count * 7 % 73 % count] = other }
                    let found = events(of: latin("data:-") + value + end + latin("data") + end + end)
                    #expect(found.map(\.content) == [latin("-") + value + [0x0A]], "\(count), \(other), \(end)")
                }
            }
        }
    }

    /// Every kind of line, and every end of one in turn.
    private static let variousLines: [UInt8] = {
        let lines = [
            ": comment", "", "data: one", "data:two", "data:  three", "data", "", "id: 7", "event: added", "retry: 1500", "data: x: y", "",
            "id: a\u{0}b", "", "id", "data", "", "data: \u{9}tabs\u{9}and\u{1}controls", "", "", "", "retry: soon", "",
            "retry: 18446744073709551615", "", "retry: 18446744073709551616", "", "retry: 99999999999999999999999", "id: 8", "", "retry:",
            "data:", "", "event", "", "event: first", "event: second", "event:", "data: z", "", "other: 1", "unknownlongname: 2",
            "datas: 3",
            "\u{0}data: 4", "Data: 5", " data: 6", "longest", "longest:", ":", "", "id:9", "id:\u{0}", "data: kept", "",
            "data: " + String(repeating: "long ", count: 20), "event: " + String(repeating: "t", count: 40), "",
            "id: " + String(repeating: "i", count: 1_030), "", "event:a", "", "retry:  5", "retry: 5 ", "", "data: open",
        ]
        let ends: [[UInt8]] = [[0x0A], [0x0D, 0x0A], [0x0D], [0x0A], [0x0D, 0x0A]]
        return [0xEF, 0xBB, 0xBF]
            + lines.indices.flatMap { index in
                // A CR before the LF of a blank line would be the end of one line only.
                let end = ends[index % ends.count]
                return latin(lines[index]) + (end == [0x0D] && lines.dropFirst(index + 1).first == "" ? [0x0D, 0x0A] : end)
            }
    }()

    private struct Found: Equatable {
        var events: [StreamEvent] = []
        var states: [Bool] = []
    }

    /// Fed pieces of these sizes.
    private func pieces(of stream: [UInt8], _ counts: [Int], _ contentBytesMax: Int) -> Found {
        var tap = EventStreamTap(contentBytesMax: contentBytesMax)
        var found = Found()
        var rest = stream[...]
        for count in counts {
            found.events += events(of: Array(rest.prefix(count)), &tap)
            rest = rest.dropFirst(count)
        }
        found.states = [tap.isIncomplete, tap.isBetweenEvents, tap.isClear]
        return found
    }

    @Test("a comment may be put in between two events only")
    func boundaries() {
        var tap = EventStreamTap()
        var isNowBetween = tap.isBetweenEvents
        #expect(isNowBetween)
        for (piece, isBetween, isIncomplete) in [
            ("data: x", false, true), ("\n", false, true), ("\n", true, false), ("da", false, true), ("ta: y\r\n\r", true, false),
            ("\n", true, false),
            (": comment", false, false), ("\n", false, false), ("\n", true, false),
        ] {
            _ = events(of: latin(piece), &tap)
            isNowBetween = tap.isBetweenEvents
            let isNowIncomplete = tap.isIncomplete
            #expect(isNowBetween == isBetween, "after \(piece.debugDescription)")
            #expect(isNowIncomplete == isIncomplete, "after \(piece.debugDescription)")
        }
    }

    @Test("lines may be put in wherever no field of an event waits for its end, and change nothing there")
    func clearPlaces() {
        var tap = EventStreamTap()
        var isNowClear = tap.isClear
        #expect(isNowClear)
        for (piece, isClear) in [
            ("data: x", false), ("\n", false), ("\n", true), ("d", false), ("\n", true), (": c", false), ("\r", true), ("\n", true),
            ("id", false),
            ("\r\n", false), ("\r", true), ("\n", true), ("retry: x\n", true), ("retry: 1\n", false), ("\n", true),
        ] {
            _ = events(of: latin(piece), &tap)
            isNowClear = tap.isClear
            #expect(isNowClear == isClear, "after \(piece.debugDescription)")
        }
        let stream = latin(": c\ndata: a\r\n\r\nother\n: d\r\rdata: b\rid: 1\nevent: x\n\n\nretry: 7\n\n")
        let whole = events(of: stream)
        for cut in 0...stream.count {
            var tap = EventStreamTap()
            let before = events(of: Array(stream[..<cut]), &tap)
            guard tap.isClear else { continue }
            let after = events(of: latin(":\n\n") + stream[cut...], &tap)
            #expect((before + after).map(\.withoutSize) == whole.map(\.withoutSize), "cut at \(cut)")
        }
    }

    @Test("who only counts keeps nothing of the content, and finds the same events and records")
    func countsOnly() {
        let stream = latin("data: a\nid: 1\n\nevent: e\n\ndata\n\n")
        var tap = EventStreamTap(contentBytesMax: 0)
        let events = events(of: stream, &tap)
        #expect(events.count == 3 && events.allSatisfy { $0.content.isEmpty } && events.map(\.hasContent) == [true, false, true])
        #expect(events.first?.id == latin("1"))
        var lines = LineStreamTap(recordBytesMax: 2)
        var count = 0
        latin("{}\r\n\r\n\n123\nx").withUnsafeBytes { bytes in
            var index = 0
            while index < bytes.count {
                let (consumed, record) = lines.next(UnsafeRawBufferPointer(rebasing: bytes[index...]))
                index += consumed
                if record != nil { count += 1 }
            }
        }
        #expect(count == 2 && lines.finish() != nil && lines.recordsCount == 3)
    }

    @Test("content is kept up to its bound, and one byte more is marked as cut")
    func bounds() {
        let limit = EventStreamTap.contentBytesMax
        let fits = events(of: latin("data: ") + [UInt8](repeating: 0x61, count: limit) + latin("\n\n"))
        #expect(fits.first?.content.count == limit && fits.first?.isCut == false)
        let tooLong = events(of: latin("data: ") + [UInt8](repeating: 0x61, count: limit) + latin("b\ndata: c\n\n"))
        #expect(tooLong.first?.content.count == limit && tooLong.first?.isCut == true)
        #expect(tooLong.first?.bytes == UInt64(6 + limit + 2 + 7 + 2))
        let name = EventStreamTap.nameBytesMax
        let long = events(of: latin("id: ") + [UInt8](repeating: 0x61, count: name + 1) + latin("\n\n"))
        #expect(long.first?.id?.count == name && long.first?.isCut == true)
    }

    @Test("records end at LF, with CR dropped; empty lines are none; the last needs no end")
    func records() {
        var tap = LineStreamTap()
        #expect(records(of: "{\"a\":1}\r\n\n\r\n{\"b\"", &tap) == ["{\"a\":1}"])
        #expect(tap.isInRecord)
        #expect(records(of: ":2}\n{\"c\":3}", &tap) == ["{\"b\":2}"])
        #expect(tap.finish().map { String(decoding: $0.bytes, as: UTF8.self) } == "{\"c\":3}")
        #expect(tap.recordsCount == 3 && tap.finish() == nil)
    }

    @Test("a record is kept up to its bound, and one byte more is marked as cut")
    func recordBounds() {
        let limit = LineStreamTap.recordBytesMax
        for (count, isCut) in [(limit, false), (limit + 1, true)] {
            var tap = LineStreamTap()
            let line = [UInt8](repeating: 0x61, count: count) + [0x0A]
            let record = line.withUnsafeBytes { tap.next($0).record }
            #expect(record?.bytes.count == limit && record?.isCut == isCut)
        }
    }

    private func events(of text: String) -> [StreamEvent] { events(of: latin(text)) }

    private func events(of bytes: [UInt8]) -> [StreamEvent] {
        var tap = EventStreamTap()
        return events(of: bytes, &tap)
    }

    private func events(of bytes: [UInt8], _ tap: inout EventStreamTap) -> [StreamEvent] {
        var events: [StreamEvent] = []
        bytes.withUnsafeBytes { bytes in
            var index = 0
            while index < bytes.count {
                let (consumed, hasEnded) = tap.next(UnsafeRawBufferPointer(rebasing: bytes[index...]))
                index += consumed
                if hasEnded { events.append(tap.event) }
            }
        }
        return events
    }

    private func records(of text: String, _ tap: inout LineStreamTap) -> [String] {
        var records: [String] = []
        latin(text).withUnsafeBytes { bytes in
            var index = 0
            while index < bytes.count {
                let (consumed, record) = tap.next(UnsafeRawBufferPointer(rebasing: bytes[index...]))
                index += consumed
                if let record { records.append(String(decoding: record.bytes, as: UTF8.self)) }
            }
        }
        return records
    }
}

extension StreamEvent {
    fileprivate var withoutSize: StreamEvent {
        var event = self
        event.bytes = 0
        return event
    }
}
