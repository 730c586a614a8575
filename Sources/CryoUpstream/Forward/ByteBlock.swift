// A growing block of raw bytes that is filled, emptied and filled again.
// Domain: pure

import CryoHTTP
import Glibc

/// Owned by one transfer. Never shrinks by itself.
struct ByteBlock: ~Copyable {
    private(set) var base: UnsafeMutableRawPointer?
    private(set) var count = 0
    private(set) var capacity = 0

    deinit { free(base) }

    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: count) }

    /// Room for `size` bytes in all; false when memory is short.
    mutating func reserve(_ size: Int) -> Bool {
        if size <= capacity { return true }
        var wanted = max(capacity, 2048)
        while wanted < size { wanted *= 2 }
        guard let grown = realloc(base, wanted) else { return false }
        base = grown
        capacity = wanted
        return true
    }

    mutating func append(_ source: UnsafeRawBufferPointer) -> Bool {
        guard reserve(count + source.count), let base else { return false }
        if let start = source.baseAddress { memcpy(base + count, start, source.count) }
        count += source.count
        return true
    }

    mutating func append(_ byte: UInt8) -> Bool {
        guard reserve(count + 1), let base else { return false }
        base.storeBytes(of: byte, toByteOffset: count, as: UInt8.self)
        count += 1
        return true
    }

    /// Appends what `write` writes, which is at most `bytesMax` bytes.
    mutating func appendHead(bytesMax: Int, _ write: (inout HeadWriter) -> Void) -> Bool {
        guard reserve(count + bytesMax), let base else { return false }
        var writer = HeadWriter(UnsafeMutableRawBufferPointer(start: base + count, count: bytesMax))
        write(&writer)
        count += writer.count
        return true
    }

    mutating func removeAll() { count = 0 }

    /// `size` bytes behind the end have been written into the capacity.
    mutating func extend(by size: Int) { count = min(count + size, capacity) }

    /// Gives back a block that one large body made grow.
    mutating func shrink(above limit: Int) {
        count = 0
        guard capacity > limit else { return }
        free(base)
        base = nil
        capacity = 0
    }
}
