// Reply bytes on their way to the client that the socket has not taken yet.
// Domain: worker

import CryoHTTP

/// One block of memory that is filled behind `end` and drained from `start`.
struct ReplyBuffer: ~Copyable {
    private static let capacityMin = 2048

    private var block = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    private var start = 0
    private var end = 0

    deinit { block.deallocate() }

    var count: Int { end - start }
    var isEmpty: Bool { end == start }
    var capacity: Int { block.count }

    mutating func append(_ more: UnsafeRawBufferPointer) {
        if !more.isEmpty { append(bytesMax: more.count) { $0.append(more) } }
    }

    /// Appends what `write` writes, which is at most `bytesMax` bytes: more than none.
    @inline(__always)
    mutating func append(bytesMax: Int, _ write: (inout HeadWriter) -> Void) {
        if bytesMax > block.count - end { grow(by: bytesMax) }
        var writer = HeadWriter(UnsafeMutableRawBufferPointer(rebasing: block[end..<end + bytesMax]))
        write(&writer)
        end += writer.count
    }

    /// For a chunk whose bytes go out by themselves.
    mutating func appendSizeLine(of piece: UnsafeRawBufferPointer) {
        append(bytesMax: ChunkedEncoder.sizeLineBytesMax) { ChunkedEncoder.appendSizeLine(piece.count, to: &$0) }
    }

    /// Appends `piece`, which is not empty, as one chunk.
    mutating func appendChunk(_ piece: UnsafeRawBufferPointer) {
        append(bytesMax: ChunkedEncoder.frameBytesMax + piece.count) { writer in
            ChunkedEncoder.appendSizeLine(piece.count, to: &writer)
            writer.append(piece)
            writer.appendLineEnd()
        }
    }

    private mutating func grow(by more: Int) {
        var capacity = max(block.count, Self.capacityMin)
        while capacity < end + more { capacity *= 2 }
        let grown = UnsafeMutableRawBufferPointer.allocate(byteCount: capacity, alignment: 16)
        grown.copyMemory(from: UnsafeRawBufferPointer(rebasing: block[..<end]))
        block.deallocate()
        block = grown
    }

    func withPending<R>(_ body: (UnsafeRawBufferPointer) -> R) -> R { body(UnsafeRawBufferPointer(rebasing: block[start..<end])) }

    /// The first `count` pending bytes have gone out.
    mutating func consume(_ count: Int) {
        start += count
        if start == end { removeAll() }
    }

    /// Drops what is pending. Large memory is given back: it was needed for one slow client.
    mutating func removeAll() {
        start = 0
        end = 0
        guard block.count > ConnectionBounds.spareBufferBytesMax else { return }
        block.deallocate()
        block = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    }
}
