// The replay buffer: memory, then a file, then streaming; byte for byte.
// Domain: cold

import Testing

@testable import CryoPipeline

/// Bytes that repeat at no power of two, so that a wrong offset shows.
private func pattern(_ range: Range<Int>) -> [UInt8] { range.map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 / 251) } }

private func fill(_ buffer: ReplayBuffer, to count: Int, from start: Int = 0, by step: Int = 65_521) {
    var offset = start
    while offset < count {
        let end = min(count, offset + step)
        _ = pattern(offset..<end).withUnsafeBytes { buffer.append($0) }
        offset = end
    }
}

private func drain(_ buffer: ReplayBuffer, by step: Int = 10_007) -> (bytes: [UInt8], last: RequestBodyRead) {
    var all: [UInt8] = []
    var target = [UInt8](repeating: 0, count: step)
    while true {
        let read = target.withUnsafeMutableBytes { buffer.read(into: $0) }
        guard case .bytes(let count) = read else { return (all, read) }
        all.append(contentsOf: target[..<count])
    }
}

@Suite("The replay buffer")
struct ReplayBufferTests {
    @Test("an empty body is replayable and ends at once")
    func empty() {
        let buffer = ReplayBuffer(records: false) { nil }
        #expect(buffer.isReplayable)
        #expect(drain(buffer).last == .wait)
        buffer.complete()
        #expect(drain(buffer).last == .end)
        #expect(buffer.rewind())
    }

    @Test("up to the bound a body stays in memory; one byte more goes to a file; both replay byte for byte")
    func memoryBound() {
        for (count, opened) in [(ReplayBuffer.memoryBytesMax, 0), (ReplayBuffer.memoryBytesMax + 1, 1)] {
            let files = SpillFiles()
            let buffer = ReplayBuffer(records: true) { files.make() }
            fill(buffer, to: count)
            buffer.complete()
            #expect(files.opened == opened)
            for _ in 0..<3 {
                let (bytes, last) = drain(buffer)
                #expect(bytes == pattern(0..<count) && last == .end)
                #expect(buffer.isReplayable && buffer.rewind())
            }
        }
    }

    @Test("up to the file's bound a body is replayable; one byte more streams on, whole, but only once")
    func fileBound() {
        let max = ReplayBuffer.fileBytesMax
        let files = SpillFiles()
        let kept = ReplayBuffer(records: true) { files.make() }
        fill(kept, to: max, by: 1 << 20)
        kept.complete()
        #expect(kept.isReplayable)
        #expect(drain(kept, by: 1 << 20).bytes == pattern(0..<max))
        #expect(kept.rewind())

        let streamed = ReplayBuffer(records: true) { files.make() }
        fill(streamed, to: max + 1, by: 1 << 20)
        streamed.complete()
        #expect(!streamed.isReplayable)
        let (bytes, last) = drain(streamed, by: 1 << 20)
        #expect(bytes == pattern(0..<max + 1) && last == .end)
        #expect(!streamed.rewind())
    }

    @Test("the file is closed when the buffer goes")
    func closes() {
        let files = SpillFiles()
        var buffer: ReplayBuffer? = ReplayBuffer(records: true) { files.make() }
        if let buffer { fill(buffer, to: 300_000) }
        #expect(files.open == 1)
        buffer = nil
        #expect(files.open == 0)
    }

    @Test("without a file the body streams on and is not replayable")
    func noFile() {
        let files = SpillFiles()
        files.fails = true
        let buffer = ReplayBuffer(records: true) { files.make() }
        fill(buffer, to: 600_000)
        buffer.complete()
        #expect(!buffer.isReplayable)
        #expect(drain(buffer).bytes == pattern(0..<600_000))
    }

    @Test("a file that fails in the middle loses no byte")
    func failingFile() {
        let files = SpillFiles()
        let buffer = ReplayBuffer(records: true) { files.make() }
        fill(buffer, to: 400_000)
        files.fails = true
        fill(buffer, to: 900_000, from: 400_000)
        buffer.complete()
        #expect(drain(buffer).bytes == pattern(0..<900_000))
        #expect(!buffer.isReplayable)
    }

    @Test("a file that can't be read fails the read")
    func unreadable() {
        let buffer = ReplayBuffer(records: true) { SpillFile(append: { _ in true }, read: { _, _ in -1 }, close: {}) }
        fill(buffer, to: 300_000)
        buffer.complete()
        let (bytes, last) = drain(buffer)
        #expect(bytes == pattern(0..<ReplayBuffer.memoryBytesMax) && last == .failed)
        #expect(!buffer.isReplayable)
    }

    @Test("the client pauses above the bound of waiting bytes, not at it, and what was read counts no more")
    func pauses() {
        let buffer = ReplayBuffer(records: false) { nil }
        let max = Int(ReplayBuffer.waitingBytesMax)
        func append(_ count: Int) -> Flow { [UInt8](repeating: 1, count: count).withUnsafeBytes { buffer.append($0) } }
        #expect(append(max) == .more)
        #expect(append(1) == .pause)
        #expect(buffer.waitingBytes == UInt64(max + 1) && buffer.bytesReceived == UInt64(max + 1))
        #expect(drain(buffer).last == .wait)
        #expect(buffer.waitingBytes == 0)
        #expect(append(1) == .more)
        #expect(!buffer.isReplayable && !buffer.rewind())
    }

    @Test("pieces of which a part has been sent already are whole together, and replay whole")
    func sentBefore() {
        var random = SeededRandom(seed: 12)
        for (records, size) in [(false, 900_000), (true, 900_000), (true, ReplayBuffer.fileBytesMax + 300_000)] {
            let files = SpillFiles()
            let buffer = ReplayBuffer(records: records) { files.make() }
            var all: [UInt8] = []
            while all.count < size {
                let piece = pattern(all.count..<min(size, all.count + Int.random(in: 1...200_000, using: &random)))
                let sent = [0, piece.count, Int.random(in: 0...piece.count, using: &random)].randomElement(using: &random) ?? 0
                _ = piece.withUnsafeBytes { buffer.append($0, sent: sent) }
                #expect(buffer.waitingBytes == UInt64(piece.count - sent))
                all += piece[..<sent] + drain(buffer).bytes
            }
            buffer.complete()
            #expect(all == pattern(0..<size) && drain(buffer).last == .end)
            #expect(buffer.isReplayable == (records && size <= ReplayBuffer.fileBytesMax) && buffer.rewind() == buffer.isReplayable)
            if buffer.isReplayable { #expect(drain(buffer).bytes == all) }
        }
    }

    @Test("reading and writing in any order keeps every byte")
    func interleaved() {
        var random = SeededRandom(seed: 11)
        for records in [true, false] {
            let files = SpillFiles()
            let buffer = ReplayBuffer(records: records) { files.make() }
            var written = 0
            var all: [UInt8] = []
            var target = [UInt8](repeating: 0, count: 50_000)
            while written < 700_000 {
                let count = Int.random(in: 1...40_000, using: &random)
                fill(buffer, to: written + count, from: written)
                written += count
                for _ in 0..<Int.random(in: 0...2, using: &random) {
                    let size = Int.random(in: 1...50_000, using: &random)
                    let read = target.withUnsafeMutableBytes { buffer.read(into: UnsafeMutableRawBufferPointer(rebasing: $0[..<size])) }
                    if case .bytes(let count) = read { all.append(contentsOf: target[..<count]) }
                }
            }
            buffer.complete()
            all += drain(buffer).bytes
            #expect(all == pattern(0..<written))
        }
    }
}
