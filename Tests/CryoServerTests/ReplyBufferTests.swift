// The buffer of a reply: what was appended comes out once and in order, and large memory is given back.
// Domain: cold

import Testing

@testable import CryoServer

@Suite("The reply buffer")
struct ReplyBufferTests {
    @Test("what is appended comes out once and in order, however it is taken", arguments: [1, 7, 2_047, 2_048, 2_049, 70_000])
    func order(step: Int) {
        var buffer = ReplyBuffer()
        var expected: [UInt8] = []
        var taken: [UInt8] = []
        for count in [0, 1, 0, 20, 2_047, 1, 4_096, 300, 0, 40_000, 3] {
            let piece = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ count) }
            piece.withUnsafeBytes { buffer.append($0) }
            expected += piece
            taken += take(min(step, buffer.count), from: &buffer)
        }
        while !buffer.isEmpty { taken += take(min(step, buffer.count), from: &buffer) }
        #expect(taken == expected)
    }

    @Test("a chunk is its size in hexadecimal, its bytes and a line end", arguments: [1, 15, 16, 255, 4_096, 16_384])
    func chunk(count: Int) {
        var buffer = ReplyBuffer()
        let piece = [UInt8](repeating: 0x61, count: count)
        piece.withUnsafeBytes { buffer.appendChunk($0) }
        let size = Array((String(count, radix: 16) + "\r\n").utf8)
        let whole = take(buffer.count, from: &buffer)
        #expect(whole == size + piece + [0x0D, 0x0A])
        piece.withUnsafeBytes { buffer.appendSizeLine(of: $0) }
        let line = take(buffer.count, from: &buffer)
        #expect(line == size)
    }

    @Test("memory above the bound is given back once it has gone out, smaller memory is kept")
    func capacity() {
        let limit = ConnectionBounds.spareBufferBytesMax
        for (count, isKept) in [(limit, true), (limit + 1, false)] {
            var buffer = ReplyBuffer()
            let piece = [UInt8](repeating: 0, count: count)
            piece.withUnsafeBytes { buffer.append($0) }
            _ = take(count - 1, from: &buffer)
            let before = buffer.capacity
            _ = take(1, from: &buffer)
            let after = buffer.capacity
            #expect(before >= count && after == (isKept ? before : 0))
        }
    }

    private func take(_ count: Int, from buffer: inout ReplyBuffer) -> [UInt8] {
        let bytes = buffer.withPending { Array($0.prefix(count)) }
        buffer.consume(count)
        return bytes
    }
}
