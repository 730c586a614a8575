// Owns the bytes a decoder has produced so far and the bound they may not pass.
// Domain: pure

/// Grows by doubling, but its capacity never passes `bytesMax` + `padding` (the allocator may round up a little).
/// While it grows, the old and the new storage exist together for the length of one copy.
struct BoundedOutput {
    private(set) var bytes: [UInt8] = []
    private let bytesMax: Int
    private let padding: Int

    init(bytesMax: Int, padding: Int) {
        self.bytesMax = max(0, bytesMax)
        self.padding = max(0, padding)
    }

    /// False when the bound would be passed; nothing is allocated or appended then.
    mutating func append(_ chunk: UnsafeRawBufferPointer) -> Bool {
        guard chunk.count <= bytesMax - bytes.count else { return false }
        let needed = Self.sum(bytes.count + chunk.count, padding)
        if bytes.capacity < needed {
            let doubled = Self.sum(bytes.capacity, bytes.capacity)
            bytes.reserveCapacity(max(needed, min(doubled, Self.sum(bytesMax, padding))))
        }
        bytes.append(contentsOf: chunk)
        return true
    }

    /// The bytes, with `padding` bytes of readable capacity behind them even when there are none.
    consuming func finished() -> [UInt8] {
        if bytes.capacity < bytes.count + padding { bytes.reserveCapacity(bytes.count + padding) }
        return bytes
    }

    private static func sum(_ first: Int, _ second: Int) -> Int {
        let (sum, overflows) = first.addingReportingOverflow(second)
        return overflows ? Int.max : sum
    }
}
