// Reply bytes on their way to the client that the socket has not taken yet.
// Domain: worker

import CryoHTTP

struct ReplyBuffer {
    private(set) var bytes: [UInt8] = []
    private var start = 0

    var count: Int { bytes.count - start }
    var isEmpty: Bool { bytes.count == start }
    var capacity: Int { bytes.capacity }

    mutating func append(_ more: UnsafeRawBufferPointer) { bytes.append(contentsOf: more) }

    /// Appends a head of at most `bytesMax` bytes.
    mutating func appendHead(bytesMax: Int, _ write: (inout HeadWriter) -> Void) { bytes.appendHead(bytesMax: bytesMax, write) }

    /// For the encoders, which append to an array.
    mutating func withBytes<R>(_ body: (inout [UInt8]) -> R) -> R { body(&bytes) }

    func withPending<R>(_ body: (UnsafeRawBufferPointer) -> R) -> R {
        bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[start...])) }
    }

    /// The first `count` pending bytes have gone out.
    mutating func consume(_ count: Int) {
        start += count
        if start == bytes.count { removeAll() }
    }

    /// Drops what is pending. Large memory is given back: it was needed for one slow client.
    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: bytes.capacity <= ConnectionBounds.spareBufferBytesMax)
        start = 0
    }
}
