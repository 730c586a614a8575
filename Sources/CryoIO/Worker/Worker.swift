// A worker: one serial queue with one dispatch source on one epoll descriptor, served batch by batch (design §4, decision 0010).
// Owns its endpoints, its deadlines, its clock and its shared read buffer.
// Domain: worker

import CEpoll
package import CryoSync
package import Dispatch
import Glibc

/// Confined to `queue` once it has started, except `submit`, `stop`, `connectionCount` and `index`.
// SAFETY: every mutable stored property but `inbox`, `isStopping` and `connectionCount` (which synchronize themselves) is touched on `queue`
// only, or before `start`; `assertOnQueue` checks it.
package final class Worker: @unchecked Sendable {
    /// A worker nobody could wake is told again after this.
    private static let wakeUpRetry = DispatchTimeInterval.milliseconds(1)

    package let index: Int
    private let queue: DispatchQueue
    /// Client connections on this worker, for the acceptor's choice.
    package let connectionCount = Atomic<Int>(0)

    /// Monotonic time, read once per batch.
    package private(set) var nanoseconds: UInt64
    /// Wall-clock time, read once per batch, when it is first asked for: most batches have no use for it.
    package var unixMicroseconds: Int64 {
        if wallClock == 0 { wallClock = Clock.unixMicroseconds() }
        return wallClock
    }
    private var wallClock: Int64 = 0
    /// For reads whose bytes are used up before the next event. Not for keeping.
    package let scratch: UnsafeMutableRawBufferPointer

    var endpoints = EndpointTable()
    var deferred = DeferredEndpoints()
    private var isServing = false
    private var deadlines = DeadlineHeap()
    private var armedTimer: UInt64 = 0
    private var randomState: UInt64

    private let kernel: WorkerKernel
    private var source: (any DispatchSourceRead)?
    /// Entered from `start` until Dispatch has let go of the source.
    private let running = DispatchGroup()
    private let isStopping = Atomic<Bool>(false)
    private let inbox = Mutex(Inbox())

    /// Work submitted by others.
    private struct Inbox {
        var work: [@Sendable () -> Void] = []
        var isClosed = false
    }

    /// Makes the kernel objects. Throws the errno of the call that failed.
    package init(index: Int) throws(SystemError) {
        kernel = try WorkerKernel()
        self.index = index
        queue = DispatchQueue(label: "cryonet.worker.\(index)")
        nanoseconds = Clock.monotonicNanoseconds()
        scratch = .allocate(byteCount: 65_536 + 64, alignment: 64)
        var seed: UInt64 = 0
        // Without chance of the kernel's the workers must not draw the same identifiers.
        if getrandom(&seed, 8, 0) != 8 { seed = nanoseconds &* 0x9E37_79B9_7F4A_7C15 &+ UInt64(index) << 32 }
        randomState = seed
    }

    deinit {
        scratch.deallocate()
        source?.cancel()
        // The loop finds its worker gone and ends.
        kernel.wakeUp()
    }

    /// Begins to take events. Once.
    package nonisolated func start() {
        let source = DispatchSource.makeReadSource(fileDescriptor: kernel.epoll, queue: queue)
        let loop = WorkerLoop(kernel, self)
        source.setEventHandler { @Sendable in loop.run() }
        running.enter()
        source.setCancelHandler { @Sendable [kernel, running] in
            withExtendedLifetime(kernel) {}
            running.leave()
        }
        self.source = source
        source.activate()
    }

    /// Ends the event flow for good, after the present batch. What was submitted and has not run never will. The owners of
    /// endpoints withdraw them before: an endpoint and its worker hold each other.
    package nonisolated func stop() {
        isStopping.store(true, ordering: .releasing)
        source?.cancel()
        let dropped = inbox.withLock { inbox in
            let work = inbox.work
            inbox = Inbox(isClosed: true)
            return work
        }
        withExtendedLifetime(dropped) {}
        wakeUp()
    }

    /// Waits for the end that `stop` asked for; false when it has not come in time. Not to be called on a worker.
    @discardableResult
    package nonisolated func waitUntilStopped(_ timeout: DispatchTimeInterval) -> Bool {
        running.wait(timeout: .now() + timeout) == .success
    }

    package func assertOnQueue() { dispatchPrecondition(condition: .onQueue(queue)) }

    // MARK: From other threads

    /// Runs `work` on this worker after the present batch. The only way work crosses workers.
    package nonisolated func submit(_ work: @escaping @Sendable () -> Void) {
        let wasEmpty = inbox.withLock { inbox in
            guard !inbox.isClosed else { return false }
            inbox.work.append(work)
            return inbox.work.count == 1
        }
        if wasEmpty { wakeUp() }
    }

    private nonisolated func wakeUp() {
        if kernel.wakeUp() { return }
        // Otherwise nobody would call it before the inbox was empty again, which is never.
        DispatchQueue.global().asyncAfter(deadline: .now() + Self.wakeUpRetry) { @Sendable [weak self] in self?.wakeUp() }
    }

    // MARK: Endpoints

    package func enrol(_ endpoint: Endpoint) { endpoints.insert(endpoint) }

    package func withdraw(_ endpoint: Endpoint) {
        endpoints.remove(endpoint)
        if !isServing { releaseWithdrawn() }
    }

    /// Every enrolled endpoint, for draining and counting. `body` may enrol and withdraw: it walks a snapshot.
    package func forEachEndpoint(_ body: (Endpoint) -> Void) {
        for endpoint in endpoints.all { body(endpoint) }
    }

    /// Watches `descriptor` under the endpoint's name. False when the kernel refuses.
    package func watch(_ descriptor: Int32, _ events: UInt32, for endpoint: Endpoint) -> Bool {
        cryo_epoll_control(kernel.epoll, EPOLL_CTL_ADD, descriptor, events, endpoint.id.rawValue) == 0
    }

    package func rewatch(_ descriptor: Int32, _ events: UInt32, for endpoint: Endpoint) -> Bool {
        cryo_epoll_control(kernel.epoll, EPOLL_CTL_MOD, descriptor, events, endpoint.id.rawValue) == 0
    }

    package func unwatch(_ descriptor: Int32) {
        _ = cryo_epoll_control(kernel.epoll, EPOLL_CTL_DEL, descriptor, 0, 0)
    }

    // MARK: Chance

    /// SplitMix64: enough for identifiers and jitter, not for keys.
    package func random() -> UInt64 {
        randomState &+= 0x9E37_79B9_7F4A_7C15
        var mixed = randomState
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    // MARK: The loop

    /// Serves one batch of events.
    func serve(_ events: UnsafeMutableBufferPointer<epoll_event>) -> Pause {
        if isStopping.load(ordering: .acquiring) { return .over }
        nanoseconds = Clock.monotonicNanoseconds()
        wallClock = 0
        isServing = true
        for event in events { dispatch(event) }
        fireDeadlines()
        endBatch()
        isServing = false
        if isStopping.load(ordering: .acquiring) { return .over }
        return armTimer() ? .endless : kernel.pause(until: deadlines.earliest)
    }

    private func runSubmitted() {
        let work = inbox.withLock { inbox in
            let work = inbox.work
            inbox.work = []
            return work
        }
        for item in work { item() }
    }

    private func dispatch(_ event: epoll_event) {
        switch cryo_epoll_event_data(event) {
        case WorkerKernel.timerName:
            kernel.takeTimer()
            armedTimer = 0
        case WorkerKernel.wakeupName:
            kernel.takeWakeUp()
            runSubmitted()
        case let name:
            // SAFETY: found in this batch, it is there until the batch has ended.
            endpoints.find(EndpointID(rawValue: name))?._withUnsafeGuaranteedRef { $0.ready(event.events) }
        }
    }

    // MARK: Deadlines

    func pushDeadline(_ entry: DeadlineEntry) {
        deadlines.push(entry)
        if deadlines.count > 2 * endpoints.count + 1024 { deadlines.compact { isCurrent($0) } }
    }

    private func fireDeadlines() {
        while let earliest = deadlines.earliest, earliest <= nanoseconds {
            guard let entry = deadlines.popEarliest() else { return }
            fire(entry)
        }
    }

    /// Sets the timer to the earliest deadline. A timer set too early is left: it fires, finds nothing and is set again, which
    /// is cheaper than a system call for each change. False when the kernel refuses.
    private func armTimer() -> Bool {
        guard let earliest = deadlines.earliest, armedTimer == 0 || earliest < armedTimer else { return true }
        armedTimer = kernel.arm(earliest) ? earliest : 0
        return armedTimer != 0
    }
}
