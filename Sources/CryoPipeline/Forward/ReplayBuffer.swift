// Keeps a request body so that it can be sent again byte for byte, within bounds (design §7).
// Domain: worker

/// A file the pipeline may spill into, opened by an adapter. Unlinked from the start; closing frees it.
package struct SpillFile {
    package let append: (UnsafeRawBufferPointer) -> Bool
    /// Reads at an offset; the number of bytes read, 0 at the end, negative on failure.
    package let read: (UInt64, UnsafeMutableRawBufferPointer) -> Int
    package let close: () -> Void

    package init(
        append: @escaping (UnsafeRawBufferPointer) -> Bool, read: @escaping (UInt64, UnsafeMutableRawBufferPointer) -> Int,
        close: @escaping () -> Void
    ) {
        self.append = append
        self.read = read
        self.close = close
    }
}

/// Recording: bytes [0, memoryMax) are in memory, the rest in the spill file. When the body outgrows the bound it turns to
/// streaming: what was recorded is still read to its end, then bytes pass through a short queue, and it can't be rewound.
package final class ReplayBuffer {
    package static let memoryBytesMax = 256 << 10
    package static let fileBytesMax = 8 << 20
    /// More than this waiting for the upstream pauses the client; less than the second lets it go on.
    package static let waitingBytesMax: UInt64 = 256 << 10
    package static let waitingBytesLow: UInt64 = 64 << 10

    private var memory: [UInt8] = []
    private var spill: SpillFile?
    private let openSpill: () -> SpillFile?
    /// Bytes recorded in memory and file.
    private var recorded: UInt64 = 0
    /// Streamed bytes not read yet, and where they begin in `queue`.
    private var queue: [UInt8] = []
    private var queueStart = 0
    private var cursor: UInt64 = 0
    private var received: UInt64 = 0
    private var isRecording: Bool
    private(set) var isComplete = false
    private var hasFailed = false

    /// `records` false: the body streams through and is never replayable.
    package init(records: Bool, openSpill: @escaping () -> SpillFile?) {
        isRecording = records
        self.openSpill = openSpill
    }

    deinit { spill?.close() }

    package var bytesReceived: UInt64 { received }
    package var waitingBytes: UInt64 { received - cursor }
    package var isReplayable: Bool { (isRecording || received == 0) && !hasFailed }

    /// Takes bytes; `.pause` when more than the bound waits for the upstream. It has the first `sent` of them already: then none waited
    /// before.
    package func append(_ bytes: UnsafeRawBufferPointer, sent: Int = 0) -> Flow {
        assert(sent == 0 || waitingBytes == 0)
        received += UInt64(bytes.count)
        if isRecording { record(bytes, sent: sent) } else { queue.append(contentsOf: bytes[sent...]) }
        cursor += UInt64(sent)
        return waitingBytes > Self.waitingBytesMax ? .pause : .more
    }

    package func complete() { isComplete = true }

    package func read(into target: UnsafeMutableRawBufferPointer) -> RequestBodyRead {
        if hasFailed { return .failed }
        if cursor == received { return isComplete ? .end : .wait }
        let count: Int
        if cursor < UInt64(memory.count) {
            count = copy(memory, from: Int(cursor), into: target)
        } else if cursor < recorded {
            let bound = UnsafeMutableRawBufferPointer(rebasing: target[..<min(target.count, Int(recorded - cursor))])
            count = spill?.read(cursor - UInt64(memory.count), bound) ?? -1
            if count <= 0 {
                hasFailed = true
                return .failed
            }
        } else {
            count = copy(queue, from: queueStart, into: target)
            queueStart += count
            if queueStart == queue.count {
                queue.removeAll(keepingCapacity: true)
                queueStart = 0
            } else if queueStart >= Self.memoryBytesMax {
                queue.removeFirst(queueStart)
                queueStart = 0
            }
        }
        cursor += UInt64(count)
        return .bytes(count)
    }

    /// Starts over from the first byte; false when they are gone.
    package func rewind() -> Bool {
        guard isReplayable else { return cursor == 0 }
        cursor = 0
        return true
    }

    private func record(_ bytes: UnsafeRawBufferPointer, sent: Int) {
        let room = Self.memoryBytesMax - memory.count
        let head = min(max(0, room), bytes.count)
        if spill == nil, head > 0 { memory.append(contentsOf: bytes[..<head]) }
        let rest = UnsafeRawBufferPointer(rebasing: bytes[(spill == nil ? head : 0)...])
        recorded += UInt64(bytes.count - rest.count)
        if rest.isEmpty { return }
        if received > UInt64(Self.fileBytesMax) || !spillOver(rest) {
            isRecording = false
            queue.append(contentsOf: rest[max(0, sent - (bytes.count - rest.count))...])
        } else {
            recorded += UInt64(rest.count)
        }
    }

    private func spillOver(_ bytes: UnsafeRawBufferPointer) -> Bool {
        if spill == nil { spill = openSpill() }
        return spill?.append(bytes) ?? false
    }

    private func copy(_ source: [UInt8], from start: Int, into target: UnsafeMutableRawBufferPointer) -> Int {
        let count = min(target.count, source.count - start)
        source.withUnsafeBytes { target.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[start..<start + count])) }
        return count
    }
}
