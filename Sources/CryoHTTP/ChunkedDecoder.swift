// Takes the chunked transfer coding apart (RFC 9112 §7.1) without copying the body.
// Domain: pure

package enum ChunkedStep: Sendable {
    /// All of the input was used; call again when more has arrived.
    case needsMore(consumed: Int)
    /// Body bytes, as a range of the input. Call again with the input from `consumed` on.
    case data(Range<Int>, consumed: Int)
    /// The body is whole; `trailers` is final. Bytes after `consumed` belong to the next message.
    case end(consumed: Int)
    /// The framing is broken: the connection cannot be used any more, and the body must not look whole to anyone.
    case malformed(StaticString)
}

/// A strict, incremental decoder: CRLF only, bare hexadecimal sizes, bounded extensions and trailers. Chunk extensions are dropped.
/// Trailers are parsed with the same rules as fields and must never be merged into them (RFC 9110 §6.5.1).
package struct ChunkedDecoder: Sendable {
    package static let sizeDigitsMax = 16
    package static let extensionBytesMax = 256
    package static let extensionsTotalBytesMax = 16384
    package static let trailerBytesMax = 8192
    package static let trailerLinesMax = 32

    /// Each case lists what may follow it; every case may go to `failed`.
    private enum Phase {
        /// Then `size`.
        case sizeStart
        /// Then `sizeExtension` or `sizeLineFeed`.
        case size
        /// Then `sizeLineFeed`.
        case sizeExtension
        /// Then `data`, or `trailer` after the last chunk.
        case sizeLineFeed
        /// Then `dataReturn`.
        case data
        /// Then `dataLineFeed`.
        case dataReturn
        /// Then `sizeStart`.
        case dataLineFeed
        /// Then `trailerLineFeed`.
        case trailer
        /// Then `trailer` or `done`.
        case trailerLineFeed
        /// Stays.
        case done
        /// Stays.
        case failed
    }

    /// Where in a chunk extension the next byte stands; each case lists what may follow it.
    private enum ExtensionPart {
        /// After a semicolon: blanks, then `rest`. A line end here is an extension without a name, which RFC 9112 §7.1.1 has not.
        case beforeName
        /// Then `beforeName` or `quoted`, or the line's end.
        case rest
        /// Then `quotedPair` or `rest`. A line end here is a quote without an end.
        case quoted
        /// Then `quoted`.
        case quotedPair
    }

    private var phase = Phase.sizeStart
    private var extensionPart = ExtensionPart.rest
    private var remaining: UInt64 = 0
    private var digits = 0
    private var extensionBytes = 0
    private var extensionsTotalBytes = 0
    private var trailerLineStart = 0
    private var failure: StaticString = ""
    /// The trailer fields; complete after `.end`.
    package private(set) var trailers = FieldSection()

    package init() {}

    package var isDone: Bool { phase == .done }

    package mutating func decode(_ input: UnsafeRawBufferPointer) -> ChunkedStep {
        var index = 0
        while index < input.count {
            switch phase {
            case .sizeStart:
                if let next = takePlainSizeLine(input, from: index) {
                    index = next
                    continue
                }
                takeFraming(input[index])
            case .data: return takeData(input, from: index)
            case .trailer, .trailerLineFeed: takeTrailer(input[index])
            case .done: return .end(consumed: index)
            case .failed: return .malformed(failure)
            default: takeFraming(input[index])
            }
            index += 1
        }
        switch phase {
        case .done: return .end(consumed: index)
        case .failed: return .malformed(failure)
        default: return .needsMore(consumed: index)
        }
    }

    /// A size line that is whole and nothing but digits, as nearly all are. Where the next byte is; nil: left to be read with care, which
    /// finds the same.
    @inline(__always)
    private mutating func takePlainSizeLine(_ input: UnsafeRawBufferPointer, from start: Int) -> Int? {
        // One digit less than allowed, so that every size is one that can be.
        let limit = min(input.count, start &+ Self.sizeDigitsMax &- 1)
        var size: UInt64 = 0
        var index = start
        while index < limit, let digit = hexadecimalValue(input[index]) {
            size = size &<< 4 | UInt64(digit)
            index &+= 1
        }
        guard index > start, input.count &- index >= 2, input[index] == 0x0D, input[index &+ 1] == 0x0A else { return nil }
        extensionBytes = 0
        remaining = size
        phase = size == 0 ? .trailer : .data
        return index &+ 2
    }

    /// What there is of the chunk, and the line end behind it where that is there too.
    @inline(__always)
    private mutating func takeData(_ input: UnsafeRawBufferPointer, from start: Int) -> ChunkedStep {
        let count = Int(truncatingIfNeeded: min(remaining, UInt64(truncatingIfNeeded: input.count &- start)))
        let end = start &+ count
        remaining &-= UInt64(truncatingIfNeeded: count)
        guard remaining == 0 else { return .data(start..<end, consumed: end) }
        if input.count &- end >= 2, input[end] == 0x0D, input[end &+ 1] == 0x0A {
            phase = .sizeStart
            return .data(start..<end, consumed: end &+ 2)
        }
        phase = .dataReturn
        return .data(start..<end, consumed: end)
    }

    private mutating func fail(_ reason: StaticString) {
        failure = reason
        phase = .failed
    }

    private mutating func takeFraming(_ byte: UInt8) {
        switch phase {
        case .sizeStart:
            remaining = 0
            digits = 0
            extensionBytes = 0
            if hexadecimalValue(byte) == nil { return fail("chunk size is not hexadecimal") }
            phase = .size
            takeSizeByte(byte)
        case .size: takeSizeByte(byte)
        case .sizeExtension: takeExtensionByte(byte)
        case .sizeLineFeed:
            if byte != 0x0A { return fail("bare carriage return in a chunk size line") }
            if remaining > UInt64(Int64.max) { return fail("chunk size is too large") }
            phase = remaining == 0 ? .trailer : .data
        case .dataReturn:
            if byte != 0x0D { return fail("chunk data is not followed by a line end") }
            phase = .dataLineFeed
        case .dataLineFeed:
            if byte != 0x0A { return fail("chunk data is not followed by a line end") }
            phase = .sizeStart
        default: fail("chunk framing out of step")
        }
    }

    private mutating func takeSizeByte(_ byte: UInt8) {
        if let value = hexadecimalValue(byte) {
            digits += 1
            if digits > Self.sizeDigitsMax { return fail("chunk size has too many digits") }
            remaining = remaining << 4 | UInt64(value)
        } else if byte == 0x0D {
            phase = .sizeLineFeed
        } else if byte == 0x3B {
            phase = .sizeExtension
            extensionPart = .rest
            takeExtensionByte(byte)
        } else {
            fail("chunk size is not hexadecimal")
        }
    }

    private mutating func takeExtensionByte(_ byte: UInt8) {
        if byte == 0x0D {
            if extensionPart != .rest { return fail("unfinished chunk extension") }
            phase = .sizeLineFeed
            return
        }
        guard byte &- 0x20 < 0x5F || byte == 0x09 else { return fail("invalid character in a chunk extension") }
        extensionBytes += 1
        extensionsTotalBytes += 1
        if extensionBytes > Self.extensionBytesMax { return fail("chunk extension is too long") }
        if extensionsTotalBytes > Self.extensionsTotalBytesMax { return fail("too many bytes in chunk extensions") }
        switch extensionPart {
        case .beforeName:
            if byte == 0x20 || byte == 0x09 { return }
            if !isTokenByte(byte) { return fail("chunk extension without a name") }
            extensionPart = .rest
        case .rest: extensionPart = byte == 0x3B ? .beforeName : byte == 0x22 ? .quoted : .rest
        case .quoted: extensionPart = byte == 0x22 ? .rest : byte == 0x5C ? .quotedPair : .quoted
        case .quotedPair: extensionPart = .quoted
        }
    }

    private mutating func takeTrailer(_ byte: UInt8) {
        if phase == .trailerLineFeed {
            if byte != 0x0A { return fail("bare carriage return in the trailers") }
            return endTrailerLine()
        }
        switch byte {
        case 0x0D: phase = .trailerLineFeed
        case 0x09, 0x20..<0x7F, 0x80...0xFF:
            if trailers.bytes.count >= Self.trailerBytesMax { return fail("trailers are too large") }
            trailers.appendByte(byte)
        default: fail("control character in the trailers")
        }
    }

    private mutating func endTrailerLine() {
        let line = trailerLineStart..<trailers.bytes.count
        if line.isEmpty {
            phase = .done
            return
        }
        if trailers.lines.count >= Self.trailerLinesMax { return fail("too many trailer lines") }
        switch trailers.bytes.withUnsafeBytes({ parseFieldLine($0, line) }) {
        case .line(var field):
            // Line ends are not kept.
            field.isWire = false
            trailers.add(field)
            trailerLineStart = line.upperBound
            phase = .trailer
        case .malformed(let reason): fail(reason)
        }
    }
}
