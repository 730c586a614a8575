// Takes finished audit lines from any worker and writes them in batches on one queue.
// Domain: shared (append: one lock, one copy) | cold (everything on the queue)

import CryoIO
import CryoJSON
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
    /// How often what a disk did not take is offered again, where nothing may be lost.
    static let retryMilliseconds = 100
    /// How long a reload waits for a disk that neither takes nor refuses anything, and how long the end of the gateway does. What was asked
    /// is done when the disk goes on.
    package static let patienceMilliseconds = 2_000
    package static let lastPatienceMilliseconds = 10_000

    private struct Pending: ~Copyable {
        var bytes = TextBuffer()
        var lines = 0
        /// Lines refused because the bound was reached, since the last batch.
        var overflow: UInt64 = 0
        /// A drain is on its way and will take what is appended now.
        var isScheduled = false
        var isEager = false
        var isClosed = false
        /// Who waits for a line in `bytes`.
        var waiters: [@Sendable (Bool) -> Void] = []
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
        var spare = TextBuffer()
        var unreported: UInt64 = 0
        var warnedAt: UInt64?
        var isTicking = false
        var settings: AuditSinkSettings
        /// With `on_full: block`, whole lines that the disk did not take yet.
        var retained = TextBuffer()
        var retainedLines = 0
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
        output = Mutex(
            Output(sink: try AuditOutput(path: path, settings: settings, system: system, warn: warn), settings: settings))
    }

    /// Lines that are in the file.
    package var written: UInt64 { writtenCount.load(ordering: .relaxed) }
    /// Lines that never will be.
    package var dropped: UInt64 { droppedCount.load(ordering: .relaxed) }

    /// The last batch went into the file whole, and not too much waits for the next.
    package var isWritable: Bool {
        !isFailing.load(ordering: .relaxed) && pending.withLock { $0.bytes.count < Self.pendingBytesMax / 2 && !$0.isClosed }
    }

    /// A line with a waiter is written at once. Whoever comes while that batch is written waits for the next: many are confirmed by one.
    package func append(_ line: UnsafeRawBufferPointer, confirm: (@Sendable (Bool) -> Void)?) -> AuditOutcome {
        var wake: Int?
        let outcome = pending.withLock { pending -> AuditOutcome in
            guard !pending.isClosed, pending.bytes.count + line.count < Self.pendingBytesMax else {
                pending.overflow += 1
                return .dropped
            }
            pending.bytes.append(line)
            pending.bytes.append("\n")
            pending.lines += 1
            // With its line, under one lock: a batch may be taken at any moment, and its waiters hear of that batch only.
            if let confirm { pending.waiters.append(confirm) }
            if confirm != nil, !pending.isEager {
                (pending.isScheduled, pending.isEager) = (true, true)
                wake = 0
            } else if !pending.isScheduled {
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
        let answer = patiently { [self] () -> SystemError? in
            drain()
            return output.withLock { output in
                do throws(SystemError) { try output.sink?.reopen() } catch { return error }
                return nil
            }
        } late: { [self] in
            if let failure = $0 { warn(reopening: failure) }
        }
        switch answer {
        case .some(let failure?): warn(reopening: failure)
        case .some(nil): break
        case nil: warn("the audit file \(path): its disk hangs; it is opened anew once that goes on")
        }
    }

    private func warn(reopening failure: SystemError) {
        warn("the audit file \(path) can't be opened anew, the old one is still written: \(failure)")
    }

    /// Goes on by other rules in the same file: the old ones end properly. When the new ones can't be followed, the old ones hold on.
    package func replaceSettings(_ settings: AuditSinkSettings) throws(AuditError) {
        let answer = patiently { [self] () -> AuditError? in
            drain()
            return output.withLock { replaceSettings(settings, of: &$0) }
        } late: { [self] in
            if let failure = $0 { warn("\(failure); the old settings hold on") }
        }
        switch answer {
        case .some(let failure?): throw failure
        case .some(nil): break
        case nil: warn("the audit file \(path): its disk hangs; the new settings are taken once that goes on")
        }
    }

    private func replaceSettings(_ settings: AuditSinkSettings, of output: inout Output) -> AuditError? {
        output.sink?.end()
        output.sink = nil
        do throws(AuditError) {
            output.sink = try AuditOutput(path: path, settings: settings, system: system, warn: warn)
            output.settings = settings
            return nil
        } catch {
            output.sink = try? AuditOutput(path: path, settings: output.settings, system: system, warn: warn)
            return error
        }
    }

    /// Writes what is waiting and closes the file. Lines appended later are dropped. May be called again.
    package func close(patienceMilliseconds: Int = AuditWriter.lastPatienceMilliseconds) {
        pending.withLock { $0.isClosed = true }
        let answer: Void? = patiently(patienceMilliseconds, { [self] in end() }, late: {})
        if answer == nil { warn("the audit file \(path): its disk hangs; what waits for it is lost if it does so till the end") }
    }

    /// Does work on the queue, behind what is written there, and waits for it within bounds. nil: a disk that hangs holds the queue up; the
    /// work is done once it goes on, and `late` gets what came of it.
    private func patiently<Outcome: Sendable>(
        _ milliseconds: Int? = nil, _ work: @escaping @Sendable () -> Outcome, late: @escaping @Sendable (Outcome) -> Void
    ) -> Outcome? {
        let done = DispatchSemaphore(value: 0)
        let state = SharedBox<(outcome: Outcome?, isLate: Bool)>((nil, false))
        queue.async {
            let outcome = work()
            let isLate = state.value.withLock { state in
                state.outcome = outcome
                return state.isLate
            }
            if isLate { late(outcome) } else { done.signal() }
        }
        _ = done.wait(timeout: .now() + .milliseconds(milliseconds ?? system.patienceMilliseconds))
        return state.value.withLock { state in
            state.isLate = true
            return state.outcome
        }
    }

    // MARK: On the queue

    private func end() {
        drain()
        let unreported = output.withLock { output -> UInt64 in
            droppedCount.add(UInt64(output.retainedLines), ordering: .relaxed)
            output.unreported += UInt64(output.retainedLines)
            output.sink?.end()
            output.sink = nil
            let unreported = output.unreported
            output.unreported = 0
            return unreported
        }
        if unreported > 0 { warn("the audit file \(path): \(unreported) more lines were dropped, \(dropped) in all") }
    }

    private func schedule(milliseconds: Int) {
        if milliseconds == 0 {
            queue.async { self.drain() }
        } else {
            queue.asyncAfter(deadline: .now() + .milliseconds(milliseconds)) { self.drain() }
        }
    }

    private func drain() {
        var waiters: [@Sendable (Bool) -> Void] = []
        var isWhole = false
        let due = output.withLock { output -> String? in
            var batch = TextBuffer()
            swap(&batch, &output.spare)
            let (lines, overflow) = pending.withLock { pending -> (Int, UInt64) in
                swap(&batch, &pending.bytes)
                swap(&waiters, &pending.waiters)
                defer {
                    pending.lines = 0
                    pending.overflow = 0
                    pending.isScheduled = false
                    pending.isEager = false
                }
                return (pending.lines, pending.overflow)
            }
            output.unreported += overflow
            let outcome = writeAll(&batch, lines: lines, overflow: overflow, &output)
            isWhole = outcome.failure == nil && overflow == 0 && output.retainedLines == 0 && output.sink != nil
            batch.removeAll()
            swap(&batch, &output.spare)
            return warning(outcome.failure ?? outcome.trouble, &output)
        }
        if let due { warn(due) }
        for waiter in waiters { waiter(isWhole) }
    }

    /// What was retained goes first.
    private func writeAll(_ batch: inout TextBuffer, lines: Int, overflow: UInt64, _ output: inout Output) -> AuditOutput.Outcome {
        var lines = lines
        if output.retainedLines > 0 {
            batch.withBytes { output.retained.append($0) }
            swap(&batch, &output.retained)
            lines += output.retainedLines
            output.retained = TextBuffer()
            output.retainedLines = 0
        }
        return batch.isEmpty && overflow == 0 ? AuditOutput.Outcome() : write(batch, lines: lines, overflow: overflow, to: &output)
    }

    private func write(_ batch: borrowing TextBuffer, lines: Int, overflow: UInt64, to output: inout Output) -> AuditOutput.Outcome {
        let retains = output.settings.onFull == .block
        guard let outcome = batch.withBytes({ output.sink?.write($0, lines: lines, lost: overflow, retains: retains) }) else {
            droppedCount.add(UInt64(lines), ordering: .relaxed)
            return AuditOutput.Outcome()
        }
        let unwritten = lines - outcome.written
        writtenCount.add(UInt64(outcome.written), ordering: .relaxed)
        isFailing.store(unwritten > 0 || outcome.failure != nil, ordering: .relaxed)
        if unwritten > 0, retains {
            retain(batch, after: outcome.written, count: unwritten, &output)
        } else {
            droppedCount.add(UInt64(unwritten), ordering: .relaxed)
            output.unreported += UInt64(unwritten)
        }
        if !output.isTicking, output.sink?.awaitsTick ?? false {
            output.isTicking = true
            scheduleTick()
        }
        return outcome
    }

    private func retain(_ batch: borrowing TextBuffer, after written: Int, count: Int, _ output: inout Output) {
        output.retained.removeAll()
        batch.withBytes { batch in
            var rest = batch
            for _ in 0..<written { rest = UnsafeRawBufferPointer(rebasing: rest[((rest.firstLineEnd ?? rest.count - 1) + 1)...]) }
            output.retained.append(rest)
        }
        output.retainedLines = count
        pending.withLock { $0.isScheduled = true }
        schedule(milliseconds: Self.retryMilliseconds)
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
        let course =
            switch output.settings.onFull {
            case .drop: "traffic goes on"
            case .block: "exchanges wait"
            case .refuse: "exchanges are refused"
            }
        return "the audit file \(path): \(cause); \(count) lines dropped, \(dropped) in all; \(course)"
    }
}

/// What two threads tell each other.
private final class SharedBox<Value: Sendable>: Sendable {
    let value: Mutex<Value>

    init(_ value: Value) { self.value = Mutex(value) }
}
