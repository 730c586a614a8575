// Where a recorded request body goes beyond the replay buffer's first part: memory, since the program holds the body anyway.
// Domain: worker

import CryoPipeline

final class SpillMemory {
    private var bytes: [UInt8] = []

    static func open() -> SpillFile {
        let memory = SpillMemory()
        return SpillFile(
            append: { piece in
                memory.bytes.append(contentsOf: piece)
                return true
            },
            read: { offset, target in memory.read(at: offset, into: target) },
            close: { memory.bytes = [] })
    }

    private func read(at offset: UInt64, into target: UnsafeMutableRawBufferPointer) -> Int {
        guard offset < UInt64(bytes.count) else { return 0 }
        let start = Int(offset)
        let count = min(target.count, bytes.count - start)
        bytes.withUnsafeBytes { target.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[start..<start + count])) }
        return count
    }
}
