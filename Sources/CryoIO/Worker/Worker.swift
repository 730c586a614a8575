// A worker: one serial queue with one dispatch source on one epoll descriptor, drained in batches (design §4).
// Owns its endpoints, its deadlines, its clock and its shared read buffer.
// Domain: worker

import CEpoll
package import CryoSync
package import Dispatch
import Glibc

/// Confined to `queue`, except `submit`, `connectionCount` and `index`.
// SAFETY: every mutable stored property but `inbox` and `connectionCount` (which synchronize themselves) is touched on
// `queue` only; `assertOnQueue` checks it where work enters.
package final class Worker: @unchecked Sendable {
    /// Events taken from the kernel by one call.
    private static let eventsPerWaitMax = 256
    /// Batches per wake-up; then Dispatch may run others, and wakes us again because the descriptor is still readable.
    private static let batchesMax = 64
    /// How long a wake-up waits for more when there is nothing left. Between requests that follow each other closely the worker so
    /// stays in `epoll_wait` itself, and saves the way through Dispatch and its manager thread.
    private static let lingerMilliseconds: Int32 = 2

    package let index: Int
    package let queue: DispatchQueue
    /// Client connections on this worker, for the acceptor's choice.
    package let connectionCount = Atomic<Int>(0)

    /// Monotonic time, read once per batch.
    package private(set) var nanoseconds: UInt64
    /// Wall-clock time, read once per batch.
    package private(set) var unixMicroseconds: Int64
    /// For reads whose bytes are used up before the next event. Not for keeping.
    package let scratch: UnsafeMutableRawBufferPointer

    var endpoints = EndpointTable()
    var deferred: [Endpoint] = []
    private var deadlines = DeadlineHeap()
    private var armedTimer: UInt64 = 0
    private var randomState: UInt64

    private let descriptors: KernelObjects
    private let epoll: Int32
    private let timer: Int32
    private let wakeup: Int32
    private let events: UnsafeMutablePointer<epoll_event>
    private var source: (any DispatchSourceRead)?
    /// Entered from `start` until Dispatch has let go of the source.
    private let running = DispatchGroup()
    private let inbox = Mutex(Inbox())

    /// Work submitted by others.
    private struct Inbox {
        var work: [@Sendable () -> Void] = []
        var isClosed = false
    }

    private static let timerName: UInt64 = .max
    private static let wakeupName: UInt64 = .max - 1

    /// Makes the kernel objects. Throws the errno of the call that failed.
    package init(index: Int) throws(SystemError) {
        descriptors = try KernelObjects()
        epoll = descriptors.epoll
        timer = descriptors.timer
        wakeup = descriptors.wakeup
        self.index = index
        queue = DispatchQueue(label: "cryonet.worker.\(index)")
        nanoseconds = Clock.monotonicNanoseconds()
        unixMicroseconds = Clock.unixMicroseconds()
        scratch = .allocate(byteCount: 65_536 + 64, alignment: 64)
        events = .allocate(capacity: Self.eventsPerWaitMax)
        var seed: UInt64 = 0
        // Without chance of the kernel's the workers must not draw the same identifiers.
        if getrandom(&seed, 8, 0) != 8 { seed = nanoseconds &* 0x9E37_79B9_7F4A_7C15 &+ UInt64(index) << 32 }
        randomState = seed
        if cryo_epoll_control(epoll, EPOLL_CTL_ADD, timer, UInt32(CRYO_EPOLLIN), Self.timerName) < 0
            || cryo_epoll_control(epoll, EPOLL_CTL_ADD, wakeup, UInt32(CRYO_EPOLLIN), Self.wakeupName) < 0
        {
            throw SystemError("epoll_ctl")
        }
    }

    deinit {
        scratch.deallocate()
        events.deallocate()
        source?.cancel()
    }

    /// Begins to take events.
    package nonisolated func start() {
        let source = DispatchSource.makeReadSource(fileDescriptor: epoll, queue: queue)
        // Weak, as an event may be on its way to a worker that nobody holds any more.
        source.setEventHandler { @Sendable [weak self] in self?.drain() }
        running.enter()
        source.setCancelHandler { @Sendable [descriptors, running] in
            withExtendedLifetime(descriptors) {}
            running.leave()
        }
        self.source = source
        source.activate()
    }

    /// Ends the event flow for good, after the present batch. What was submitted and has not run never will. The owners of
    /// endpoints withdraw them before: an endpoint and its worker hold each other.
    package func stop() {
        queue.async { @Sendable [self] in
            source?.cancel()
            let dropped = inbox.withLock { inbox in
                let work = inbox.work
                inbox = Inbox(isClosed: true)
                return work
            }
            withExtendedLifetime(dropped) {}
        }
    }

    /// Waits for the end that `stop` asked for. Not to be called on a worker.
    package nonisolated func waitUntilStopped(_ timeout: DispatchTimeInterval) { _ = running.wait(timeout: .now() + timeout) }

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
        var one: UInt64 = 1
        while write(wakeup, &one, 8) < 0 {
            if errno == EINTR { continue }
            // EAGAIN: the counter is full, so the worker is about to look. Otherwise nobody would call it before the inbox was empty
            // again, which is never: Dispatch does.
            if errno != EAGAIN { queue.async { @Sendable [weak self] in self?.serveWithoutEvent { $0.runSubmitted() } } }
            return
        }
    }

    // MARK: Endpoints

    package func enrol(_ endpoint: Endpoint) { endpoints.insert(endpoint) }

    package func withdraw(_ endpoint: Endpoint) { endpoints.remove(endpoint) }

    /// Every enrolled endpoint, for draining and counting. `body` may enrol and withdraw: it walks a snapshot.
    package func forEachEndpoint(_ body: (Endpoint) -> Void) {
        let snapshot = endpoints
        snapshot.forEach(body)
    }

    /// Watches `descriptor` under the endpoint's name. False when the kernel refuses.
    package func watch(_ descriptor: Int32, _ events: UInt32, for endpoint: Endpoint) -> Bool {
        cryo_epoll_control(epoll, EPOLL_CTL_ADD, descriptor, events, endpoint.id.rawValue) == 0
    }

    package func rewatch(_ descriptor: Int32, _ events: UInt32, for endpoint: Endpoint) -> Bool {
        cryo_epoll_control(epoll, EPOLL_CTL_MOD, descriptor, events, endpoint.id.rawValue) == 0
    }

    package func unwatch(_ descriptor: Int32) {
        _ = cryo_epoll_control(epoll, EPOLL_CTL_DEL, descriptor, 0, 0)
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

    private func drain() {
        var batches = 0
        var lingers = false
        while batches < Self.batchesMax {
            let count = epoll_wait(epoll, events, Int32(Self.eventsPerWaitMax), lingers ? Self.lingerMilliseconds : 0)
            if count <= 0 {
                if lingers || batches == 0 { break }
                // The timer is in the same epoll: what is due meanwhile ends the wait.
                armTimer()
                lingers = true
                continue
            }
            lingers = false
            readClocks()
            for index in 0..<Int(count) { dispatch(&events[index]) }
            fireDeadlines()
            endBatch()
            batches += 1
        }
        armTimer()
    }

    private func readClocks() {
        nanoseconds = Clock.monotonicNanoseconds()
        unixMicroseconds = Clock.unixMicroseconds()
    }

    private func runSubmitted() {
        let work = inbox.withLock { inbox in
            let work = inbox.work
            inbox.work = []
            return work
        }
        for item in work { item() }
    }

    /// A batch that no event of the kernel began.
    private func serveWithoutEvent(_ work: (Worker) -> Void) {
        readClocks()
        work(self)
        fireDeadlines()
        endBatch()
        armTimer()
    }

    private func dispatch(_ event: inout epoll_event) {
        switch cryo_epoll_event_data(&event) {
        case Self.timerName:
            var expirations: UInt64 = 0
            _ = read(timer, &expirations, 8)
            armedTimer = 0
        case Self.wakeupName:
            var count: UInt64 = 0
            _ = read(wakeup, &count, 8)
            runSubmitted()
        case let name:
            endpoints.find(EndpointID(rawValue: name))?.ready(event.events)
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
    /// is cheaper than a system call for each change.
    private func armTimer() {
        guard let earliest = deadlines.earliest, armedTimer == 0 || earliest < armedTimer else { return }
        armedTimer = earliest
        if cryo_timerfd_arm(timer, earliest) == 0 { return }
        // The kernel has no timer for us: Dispatch has one.
        let delay = Int(clamping: earliest &- min(earliest, nanoseconds))
        queue.asyncAfter(deadline: .now() + .nanoseconds(delay)) { @Sendable [weak self] in
            self?.serveWithoutEvent { $0.armedTimer = 0 }
        }
    }
}

/// The three descriptors of a worker. Held by the worker and by its source, which must not lose them before it is cancelled;
/// closed with the last of the two.
private final class KernelObjects: Sendable {
    let epoll = epoll_create1(Int32(CRYO_EPOLL_CLOEXEC))
    let timer = cryo_timerfd()
    let wakeup = cryo_eventfd()

    init() throws(SystemError) {
        // They all have their value here, so a throw runs `deinit`.
        if epoll < 0 || timer < 0 || wakeup < 0 { throw SystemError("epoll_create1, timerfd_create or eventfd") }
    }

    deinit {
        for descriptor in [wakeup, timer, epoll] where descriptor >= 0 { close(descriptor) }
    }
}
