// Reads the body of a response off a connection by its framing (RFC 9112 §6).
// Domain: pure

@usableFromInline
package struct ResponseBodyReader: Sendable {
    package enum Step: Sendable {
        /// These bytes of the body; with the last ones it is whole.
        case data(Range<Int>, used: Int, isLast: Bool)
        /// Nothing of the body was in what was used.
        case more(used: Int)
        case end(used: Int)
        case malformed
    }

    @usableFromInline package private(set) var framing = BodyFraming.none
    private var remaining: UInt64 = 0
    private var decoder = ChunkedDecoder()

    package init() {}

    package mutating func begin(_ framing: BodyFraming) {
        if self.framing == .chunked { decoder = ChunkedDecoder() }
        self.framing = framing
        if case .length(let length) = framing { remaining = length }
    }

    /// There is no byte of a body to come.
    @inlinable package var isEmpty: Bool { framing == .none || framing == .length(0) }

    package mutating func read(_ bytes: UnsafeRawBufferPointer) -> Step {
        switch framing {
        case .none: return .more(used: bytes.count)
        case .untilClose: return .data(0..<bytes.count, used: bytes.count, isLast: false)
        case .length:
            let count = Int(min(remaining, UInt64(bytes.count)))
            remaining -= UInt64(count)
            return .data(0..<count, used: count, isLast: remaining == 0)
        case .chunked:
            switch decoder.decode(bytes) {
            case .needsMore(let consumed): return .more(used: consumed)
            case .data(let range, let consumed): return .data(range, used: consumed, isLast: false)
            case .end(let consumed): return .end(used: consumed)
            case .malformed: return .malformed
            }
        }
    }
}
