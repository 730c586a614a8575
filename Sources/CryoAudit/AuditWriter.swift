// Takes finished audit lines from any worker and writes them in batches on one queue.
// Domain: shared (append: one lock, one copy) | cold (everything on the queue)

import CryoIO
package import CryoPipeline
import CryoSync
import Dispatch

/// A line is in the file some 20 ms after `append`, sooner when much is waiting. While the disk takes nothing, traffic
/// goes on: lines are dropped, counted, and said once a minute.
package final class AuditWriter: AuditSink, Sendable {
    /// Bytes that may wait for the disk; a line beyond is dropped.
    package static let pendingBytesMax = 4 << 20
    /// So much waiting is written at once.
    static let eagerBytes = 256 << 10
    static let delayMilliseconds = 20
    static let warningIntervalNanoseconds: UInt64 = 60_000_000_000
    static let tickMilliseconds = 1_000

    private struct Pending {
        var bytes: [UInt8] = []
        var lines = 0
        /// Lines refused because the bound was reached, since the last batch.
        var overflow: UInt64 = 0
        /// A drain is on its way and will take what is appended now.
        var isScheduled = false
        var isEager = false
        var isClosed = false
    }

    private let path: String
    private let warn: @Sendable (String) -> Void
    private let system: AuditSystem
    private let queue: DispatchQueue
    private let pending = Mutex(Pending())
    private let output: Mutex<Output>
    private let writtenCount = Atomic<UInt64>(0)
    private let droppedCount = Atomic<UInt64>(0)
    private let isFailing = Atomic<Bool>(false)

    /// Only touched on the queue; the lock is never contended and only there to prove it.
    private struct Output: ~Copyable {
        /// nil after `close`.
        var sink: AuditOutput?
        /// The memory of the last batch, used again for the next.
        var spare: [UInt8] = []
        var unreported: UInt64 = 0
        var warnedAt: UInt64?
        var isTicking = false
    }

    /// Creates the file with 0600 if there is none. `warn` is called on the writer's queue.
    package convenience init(path: String, settings: AuditSinkSettings, warn: @escaping @Sendable (String) -> Void) throws(AuditError) {
        try self.init(path: path, settings: settings, warn: warn, system: AuditSystem())
    }

    init(
        path: String, settings: AuditSinkSettings, warn: @escaping @Sendable (String) -> Void, system: AuditSystem
    ) throws(AuditError) {
        self.path = path
        self.system = system
        self.warn = warn
        queue = DispatchQueue(label: "cryonet.audit")
        output = Mutex(Output(sink: try AuditOutput(path: path, settings: settings, system: system, warn: warn)))
    }

    /// Lines that are in the file.
    package var written: UInt64 { writtenCount.load(ordering: .relaxed) }
    /// Lines that never will be.
    package var dropped: UInt64 { droppedCount.load(ordering: .relaxed) }

    /// The last batch went into the file whole.
    package var isWritable: Bool { !isFailing.load(ordering: .relaxed) }

    package func append(_ line: UnsafeRawBufferPointer) -> AuditOutcome {
        var wake: Int?
        let outcome = pending.withLock { pending -> AuditOutcome in
            guard !pending.isClosed, pending.bytes.count + line.count < Self.pendingBytesMax else {
                pending.overflow += 1
                return .dropped
            }
            pending.bytes.append(contentsOf: line)
            pending.bytes.append(0x0A)
            pending.lines += 1
            if !pending.isScheduled {
                pending.isScheduled = true
                wake = Self.delayMilliseconds
            } else if !pending.isEager, pending.bytes.count >= Self.eagerBytes {
                pending.isEager = true
                wake = 0
            }
            return .written
        }
        if outcome == .dropped { droppedCount.add(1, ordering: .relaxed) }
        if let wake { schedule(milliseconds: wake) }
        return outcome
    }

    /// Returns when every line appended before is in the file, or dropped.
    package func flush() { queue.sync { drain() } }

    /// For a file that was moved away: what is waiting goes to the old one, what comes later to a new one. When the new
    /// one can't be opened, the old one is kept and that is said.
    package func reopen() {
        queue.sync {
            drain()
            var failure: SystemError?
            output.withLock { output in
                do throws(SystemError) { try output.sink?.reopen() } catch { failure = error }
            }
            if let failure { warn("the audit file \(path) can't be opened anew, the old one is still written: \(failure)") }
        }
    }

    /// Goes on by other rules in the same file: the old ones end properly, what is waiting goes where they say. When the new ones can't
    /// be followed, nothing is written any more, and the caller has to close.
    package func replaceSettings(_ settings: AuditSinkSettings) throws(AuditError) {
        var failure: AuditError?
        queue.sync {
            drain()
            output.withLock { output in
                output.sink?.end()
                output.sink = nil
                do throws(AuditError) {
                    output.sink = try AuditOutput(path: path, settings: settings, system: system, warn: warn)
                } catch {
                    failure = error
                }
            }
        }
        if let failure { throw failure }
    }

    /// Writes what is waiting and closes the file. Lines appended later are dropped. May be called again.
    package func close() {
        queue.sync {
            pending.withLock { $0.isClosed = true }
            drain()
            let unreported = output.withLock { output -> UInt64 in
                output.sink?.end()
                output.sink = nil
                let unreported = output.unreported
                output.unreported = 0
                return unreported
            }
            if unreported > 0 { warn("the audit file \(path): \(unreported) more lines were dropped, \(dropped) in all") }
        }
    }

    // MARK: On the queue

    private func schedule(milliseconds: Int) {
        if milliseconds == 0 {
            queue.async { self.drain() }
        } else {
            queue.asyncAfter(deadline: .now() + .milliseconds(milliseconds)) { self.drain() }
        }
    }

    private func drain() {
        let due = output.withLock { output -> String? in
            var batch: [UInt8] = []
            swap(&batch, &output.spare)
            let (lines, overflow) = pending.withLock { pending -> (Int, UInt64) in
                swap(&batch, &pending.bytes)
                defer {
                    pending.lines = 0
                    pending.overflow = 0
                    pending.isScheduled = false
                    pending.isEager = false
                }
                return (pending.lines, pending.overflow)
            }
            output.unreported += overflow
            let failure = batch.isEmpty && overflow == 0 ? nil : write(batch, lines: lines, overflow: overflow, to: &output)
            batch.removeAll(keepingCapacity: true)
            swap(&batch, &output.spare)
            return warning(failure, &output)
        }
        if let due { warn(due) }
    }

    private func write(_ batch: [UInt8], lines: Int, overflow: UInt64, to output: inout Output) -> SystemError? {
        guard let outcome = batch.withUnsafeBytes({ output.sink?.write($0, lines: lines, lost: overflow) }) else {
            droppedCount.add(UInt64(lines), ordering: .relaxed)
            return nil
        }
        let lost = UInt64(lines - outcome.written)
        writtenCount.add(UInt64(outcome.written), ordering: .relaxed)
        droppedCount.add(lost, ordering: .relaxed)
        output.unreported += lost
        isFailing.store(lost > 0, ordering: .relaxed)
        if !output.isTicking, output.sink?.awaitsTick ?? false {
            output.isTicking = true
            scheduleTick()
        }
        return outcome.failure
    }

    private func scheduleTick() {
        queue.asyncAfter(deadline: .now() + .milliseconds(Self.tickMilliseconds)) { [weak self] in self?.tick() }
    }

    private func tick() {
        let goesOn = output.withLock { output -> Bool in
            output.sink?.tick()
            output.isTicking = output.sink?.awaitsTick ?? false
            return output.isTicking
        }
        if goesOn { scheduleTick() }
    }

    /// The text of a warning that is due. What is not said now is counted in the next.
    private func warning(_ failure: SystemError?, _ output: inout Output) -> String? {
        guard output.sink != nil, failure != nil || output.unreported > 0 else { return nil }
        let now = system.monotonic()
        if let last = output.warnedAt, now &- last < Self.warningIntervalNanoseconds { return nil }
        output.warnedAt = now
        let count = output.unreported
        output.unreported = 0
        let cause = failure.map { String(describing: $0) } ?? "more than \(Self.pendingBytesMax) bytes were waiting for the disk"
        return "the audit file \(path): \(cause); \(count) lines dropped, \(dropped) in all; traffic goes on"
    }
}
