// The newest records of one kind as JSON lines, in memory that is taken once: what the admin side lists and streams.
// Domain: shared

import CryoSync

/// Workers append, which costs a short lock and one copy; readers copy lines out and keep their own place. Nobody waits for a reader:
/// one that is too slow finds that the oldest records are gone, and how many they were.
// SAFETY: the memory is allocated in `init`, freed in `deinit`, and reached under the lock only.
package final class RecordRing: @unchecked Sendable {
    /// Readers that wait for new records, at most.
    package static let watchersMax = 32

    private struct Slot {
        var start = 0
        var length = 0
        var name: UInt64 = 0
    }

    private struct State {
        var slots: [Slot]
        /// Sequence numbers of the oldest record that is kept, and of the next that comes. Record `n` is in slot `n % slots.count`.
        var first: UInt64 = 0
        var next: UInt64 = 0
        /// Where the next record goes.
        var offset = 0
        var tooLarge: UInt64 = 0
        var watchers: [Watcher] = []
        var isClosed = false
    }

    /// A reader that wants to be woken once for whatever has come since it last looked.
    package final class Watcher: Sendable {
        private let isAwake = Atomic<Bool>(false)
        private let wakeUp: @Sendable () -> Void

        init(_ wakeUp: @escaping @Sendable () -> Void) { self.wakeUp = wakeUp }

        /// To be called before each look: what comes from now on wakes again.
        package func rest() { isAwake.store(false, ordering: .sequentiallyConsistent) }

        func wake() { if !isAwake.exchange(true, ordering: .sequentiallyConsistent) { wakeUp() } }
    }

    /// What a reader got.
    package struct Page: Sendable {
        package var lines: [[UInt8]] = []
        /// The sequence number of the first line. Lines follow each other without a gap.
        package var first: UInt64 = 0
        /// Records that were gone before they could be read.
        package var dropped: UInt64 = 0
        /// Nothing more will ever come.
        package var isClosed = false

        package var next: UInt64 { first + UInt64(lines.count) }
    }

    /// Whether anybody waits for records: whoever makes them only for that need not.
    package var isWatched: Bool { watched.load(ordering: .relaxed) }
    private let watched = Atomic<Bool>(false)
    package let countMax: Int
    package let bytesMax: Int
    private let memory: UnsafeMutableRawPointer
    private let state: Mutex<State>

    package init(countMax: Int, bytesMax: Int) {
        self.countMax = max(countMax, 1)
        self.bytesMax = max(bytesMax, 1)
        // Pages that were never written to take no memory of the machine.
        memory = .allocate(byteCount: self.bytesMax, alignment: 64)
        state = Mutex(State(slots: Array(repeating: Slot(), count: self.countMax)))
    }

    deinit { memory.deallocate() }

    // MARK: Writing

    /// Called on workers. A line that is longer than an eighth of the memory is left out: it would push out everything else.
    func append(_ line: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer) {
        guard let base = line.baseAddress, !line.isEmpty else { return }
        let name = Self.name(of: id)
        let watchers = state.withLock { state -> [Watcher] in
            guard line.count <= bytesMax / 8, !state.isClosed else {
                state.tooLarge += 1
                return []
            }
            makeRoom(for: line.count, &state)
            (memory + state.offset).copyMemory(from: base, byteCount: line.count)
            state.slots[Int(state.next % UInt64(countMax))] = Slot(start: state.offset, length: line.count, name: name)
            state.offset += line.count
            state.next += 1
            return state.watchers
        }
        for watcher in watchers { watcher.wake() }
    }

    func append(_ line: UnsafeRawBufferPointer, id: [UInt8] = []) { id.withUnsafeBytes { append(line, id: $0) } }

    /// Gives up the oldest records until the place of the next is free.
    private func makeRoom(for length: Int, _ state: inout State) {
        func oldest() -> Slot { state.slots[Int(state.first % UInt64(countMax))] }
        if state.offset + length > bytesMax {
            // The rest of the memory stays unused this time round; the records there are the oldest.
            while state.first < state.next, oldest().start >= state.offset { state.first += 1 }
            state.offset = 0
        }
        let end = state.offset + length
        while state.first < state.next {
            let slot = oldest()
            let isInTheWay = slot.start < end && slot.start + slot.length > state.offset
            guard isInTheWay || state.next - state.first == UInt64(countMax) else { break }
            state.first += 1
        }
    }

    /// No more records; readers get what is there and then the end.
    package func close() {
        let watchers = state.withLock { state -> [Watcher] in
            state.isClosed = true
            return state.watchers
        }
        for watcher in watchers { watcher.wake() }
    }

    // MARK: Reading

    /// The sequence numbers of what is kept.
    package var kept: Range<UInt64> { state.withLock { $0.first..<$0.next } }

    /// Records that were too large to be kept.
    package var skipped: UInt64 { state.withLock { $0.tooLarge } }

    /// Records from `sequence` on, oldest first, until there are that many or that many bytes (but at least one).
    package func read(from sequence: UInt64, countMax: Int, bytesMax: Int) -> Page {
        state.withLock { state in
            var page = Page()
            page.first = min(max(sequence, state.first), state.next)
            page.dropped = page.first > sequence ? page.first - sequence : 0
            page.isClosed = state.isClosed
            var bytes = 0
            var index = page.first
            while index < state.next, page.lines.count < countMax {
                let slot = state.slots[Int(index % UInt64(self.countMax))]
                bytes += slot.length
                if bytes > bytesMax, !page.lines.isEmpty { break }
                page.lines.append(copy(slot))
                index += 1
            }
            return page
        }
    }

    /// The record of that name, the newest if there are several.
    package func find(id: [UInt8]) -> (line: [UInt8], sequence: UInt64)? {
        let name = id.withUnsafeBytes { Self.name(of: $0) }
        return state.withLock { state in
            var index = state.next
            while index > state.first {
                index -= 1
                let slot = state.slots[Int(index % UInt64(countMax))]
                if slot.name == name { return (copy(slot), index) }
            }
            return nil
        }
    }

    private func copy(_ slot: Slot) -> [UInt8] {
        Array(UnsafeRawBufferPointer(start: memory + slot.start, count: slot.length))
    }

    /// As FNV-1a, but by eight bytes where there are so many. Names are drawn by chance, not chosen by anybody.
    private static func name(of id: UnsafeRawBufferPointer) -> UInt64 {
        var name: UInt64 = 0xCBF2_9CE4_8422_2325
        func take(_ piece: UInt64) { name = (name ^ piece ^ name >> 32) &* 0x100_0000_01B3 }
        var index = 0
        while index + 8 <= id.count {
            take(id.loadUnaligned(fromByteOffset: index, as: UInt64.self))
            index += 8
        }
        while index < id.count {
            take(UInt64(id[index]))
            index += 1
        }
        return name
    }

    // MARK: Watching

    /// `wake` is called on any thread, outside the lock; nil when too many watch already.
    package func watch(_ wake: @escaping @Sendable () -> Void) -> Watcher? {
        let watcher = Watcher(wake)
        return state.withLock { state in
            guard state.watchers.count < Self.watchersMax else { return nil }
            state.watchers.append(watcher)
            watched.store(true, ordering: .relaxed)
            return watcher
        }
    }

    package func unwatch(_ watcher: Watcher) {
        state.withLock { state in
            state.watchers.removeAll { $0 === watcher }
            watched.store(!state.watchers.isEmpty, ordering: .relaxed)
        }
    }
}
