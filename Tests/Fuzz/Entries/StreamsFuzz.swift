// Fuzz entry: the taps on event streams (WHATWG HTML §9.2.6) and on JSON lines.
// Domain: pure

import CryoHTTP

func fuzzStreams(_ bytes: UnsafeRawBufferPointer) throws(Broken) {
    let whole = tapped(bytes, pieceBytes: max(bytes.count, 1))
    for pieceBytes in [1, 2, 7] {
        try claim(tapped(bytes, pieceBytes: pieceBytes) == whole, "pieces of \(pieceBytes) give the same events and records")
    }
    try claimClearPlaces(bytes, whole)
    let plain = plainlyRead(bytes)
    try claim(whole.events.map(Plain.init) == plain, "a plain parser finds the same events")
    try claim(whole.records == lines(bytes), "a plain parser finds the same records")
    let spent = whole.events.reduce(UInt64(0)) { $0 + $1.bytes }
    try claim(spent <= UInt64(bytes.count), "events take no more bytes than there are")
}

/// The gateway puts comments, and an event of its own, where the tap says that none is touched. At the very beginning it drops the mark.
private func claimClearPlaces(_ bytes: UnsafeRawBufferPointer, _ whole: Tapped) throws(Broken) {
    var tap = EventStreamTap()
    var places: [Int] = []
    for index in 0..<min(bytes.count, 4096) where places.count < 16 {
        if index > 0, tap.isClear { places.append(index) }
        _ = tap.next(UnsafeRawBufferPointer(rebasing: bytes[index..<index + 1]))
    }
    for place in places {
        let changed = Array(bytes[..<place]) + Array(":\n\n".utf8) + Array(bytes[place...])
        let events = changed.withUnsafeBytes { tapped($0, pieceBytes: changed.count).events }
        try claim(events.map(Plain.init) == whole.events.map(Plain.init), "a comment at \(place) changes no event")
    }
}

private struct Tapped: Equatable {
    var events: [StreamEvent] = []
    var isIncomplete = false
    var isBetweenEvents = false
    var records: [[UInt8]] = []
}

private func tapped(_ bytes: UnsafeRawBufferPointer, pieceBytes: Int) -> Tapped {
    var result = Tapped()
    var events = EventStreamTap()
    var records = LineStreamTap()
    var start = 0
    while start < bytes.count {
        let piece = UnsafeRawBufferPointer(rebasing: bytes[start..<min(start + pieceBytes, bytes.count)])
        var index = 0
        while index < piece.count {
            let (consumed, hasEnded) = events.next(UnsafeRawBufferPointer(rebasing: piece[index...]))
            index += consumed
            if hasEnded { result.events.append(events.event) }
        }
        index = 0
        while index < piece.count {
            let (consumed, record) = records.next(UnsafeRawBufferPointer(rebasing: piece[index...]))
            index += consumed
            if let record { result.records.append(record.bytes) }
        }
        start += piece.count
    }
    result.isIncomplete = events.isIncomplete
    result.isBetweenEvents = events.isBetweenEvents
    if let last = records.finish() { result.records.append(last.bytes) }
    return result
}

private struct Plain: Equatable {
    var content: [UInt8] = []
    var type: [UInt8] = []
    var id: [UInt8]?
    var retry: UInt64?

    init() {}

    init(_ event: StreamEvent) {
        content = event.content
        type = event.type
        id = event.id
        retry = event.retryMilliseconds
    }
}

/// The whole stream at once, line by line, as the specification tells it.
private func plainlyRead(_ bytes: UnsafeRawBufferPointer) -> [Plain] {
    var text = Array(bytes)
    if text.starts(with: [0xEF, 0xBB, 0xBF]) { text.removeFirst(3) }
    var events: [Plain] = []
    var event = Plain()
    var hasFields = false
    var parts: [[UInt8]] = []
    for line in endedLines(text) {
        if line.isEmpty {
            event.content = Array(parts.joined(separator: [0x0A]).prefix(EventStreamTap.contentBytesMax))
            if hasFields { events.append(event) }
            event = Plain()
            hasFields = false
            parts = []
            continue
        }
        let colon = line.firstIndex(of: 0x3A) ?? line.count
        var value = Array(line[min(colon + 1, line.count)...])
        if value.first == 0x20 { value.removeFirst() }
        switch String(decoding: line[..<colon], as: UTF8.self) {
        case "data":
            parts.append(value)
            hasFields = true
        case "event":
            event.type = Array(value.prefix(EventStreamTap.nameBytesMax))
            hasFields = true
        case "id" where !value.contains(0):
            event.id = Array(value.prefix(EventStreamTap.nameBytesMax))
            hasFields = true
        case "retry":
            let digits = String(decoding: value, as: UTF8.self)
            guard !digits.isEmpty, value.allSatisfy({ (0x30...0x39).contains($0) }), let number = UInt64(digits) else { continue }
            event.retry = number
            hasFields = true
        default: break
        }
    }
    return events
}

/// The lines that have an end.
private func endedLines(_ text: [UInt8]) -> [[UInt8]] {
    var lines: [[UInt8]] = []
    var line: [UInt8] = []
    var index = 0
    while index < text.count {
        if text[index] == 0x0D || text[index] == 0x0A {
            if text[index] == 0x0D, index + 1 < text.count, text[index + 1] == 0x0A { index += 1 }
            lines.append(line)
            line = []
        } else {
            line.append(text[index])
        }
        index += 1
    }
    return lines
}

private func lines(_ bytes: UnsafeRawBufferPointer) -> [[UInt8]] {
    bytes.split(separator: 0x0A).map { $0.last == 0x0D ? Array($0.dropLast()) : Array($0) }.filter { !$0.isEmpty }
}
