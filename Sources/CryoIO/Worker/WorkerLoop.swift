// The loop of a worker and what it waits on: an epoll descriptor with a timer and a wake-up in it.
// Domain: worker

import CEpoll
import Dispatch
import Glibc

/// What Dispatch runs on the worker's queue when there are events: it has the worker serve batch after batch while they keep coming, and
/// gives the thread back when they pause (decision 0010). It holds the worker only while that serves, so that one nobody holds any more goes.
// SAFETY: `run` alone touches `events`, on the worker's queue.
final class WorkerLoop: @unchecked Sendable {
    /// Events taken from the kernel by one call.
    private static let eventsPerWaitMax = 256
    /// How long a pause may be. A longer one costs its end the way through Dispatch's manager thread, some 20 µs.
    private static let pauseMillisecondsMax: Int32 = 1_000

    private let kernel: WorkerKernel
    private weak let worker: Worker?
    private let events: UnsafeMutableBufferPointer<epoll_event>

    init(_ kernel: WorkerKernel, _ worker: Worker) {
        self.kernel = kernel
        self.worker = worker
        events = .allocate(capacity: Self.eventsPerWaitMax)
    }

    deinit { events.deallocate() }

    func run() {
        var pause = Pause.atMost(milliseconds: 0)
        while true {
            // An interrupted wait is a batch without events.
            let count: Int32
            switch pause {
            case .endless:
                count = wait(Self.pauseMillisecondsMax)
                // The next event makes `epoll` readable, and Dispatch calls again.
                if count == 0 { return }
            case .atMost(let milliseconds): count = wait(milliseconds)
            case .over: return
            }
            pause = worker?.serve(UnsafeMutableBufferPointer(rebasing: events[..<Int(max(0, count))])) ?? .over
        }
    }

    private func wait(_ milliseconds: Int32) -> Int32 {
        epoll_wait(kernel.epoll, events.baseAddress, Int32(Self.eventsPerWaitMax), milliseconds)
    }
}

/// How long a worker may wait for its next event.
enum Pause {
    /// Whatever is to happen is an event.
    case endless
    /// Something is due then that makes no event.
    case atMost(milliseconds: Int32)
    /// There is nothing to wait for any more.
    case over
}

/// The three descriptors of a worker. Held by the worker, its loop and its source, which must not lose them before it is cancelled; closed
/// with the last of them.
final class WorkerKernel: Sendable {
    static let timerName: UInt64 = .max
    static let wakeupName: UInt64 = .max - 1

    let epoll = epoll_create1(Int32(CRYO_EPOLL_CLOEXEC))
    private let timer = cryo_timerfd()
    private let wakeup = cryo_eventfd()

    init() throws(SystemError) {
        // They all have their value here, so a throw runs `deinit`.
        if epoll < 0 || timer < 0 || wakeup < 0 { throw SystemError("epoll_create1, timerfd_create or eventfd") }
        if cryo_epoll_control(epoll, EPOLL_CTL_ADD, timer, UInt32(CRYO_EPOLLIN), Self.timerName) < 0
            || cryo_epoll_control(epoll, EPOLL_CTL_ADD, wakeup, UInt32(CRYO_EPOLLIN), Self.wakeupName) < 0
        {
            throw SystemError("epoll_ctl")
        }
    }

    deinit {
        for descriptor in [wakeup, timer, epoll] where descriptor >= 0 { close(descriptor) }
    }

    /// Makes `epoll` readable. False when the kernel would not.
    @discardableResult
    func wakeUp() -> Bool {
        var one: UInt64 = 1
        while write(wakeup, &one, 8) < 0 {
            if errno == EINTR { continue }
            // EAGAIN: the counter is full, so the worker is about to look.
            return errno == EAGAIN
        }
        return true
    }

    func takeWakeUp() {
        var count: UInt64 = 0
        _ = read(wakeup, &count, 8)
    }

    /// False when the kernel has no timer for us.
    func arm(_ nanoseconds: UInt64) -> Bool { cryo_timerfd_arm(timer, nanoseconds) == 0 }

    func takeTimer() {
        var expirations: UInt64 = 0
        _ = read(timer, &expirations, 8)
    }

    /// What a wait may last where there is no timer; rounded up, as a wait that ends early finds nothing to do.
    func pause(until deadline: UInt64?) -> Pause {
        guard let deadline else { return .endless }
        let now = Clock.monotonicNanoseconds()
        return .atMost(milliseconds: deadline <= now ? 0 : Int32(clamping: (deadline - now) / 1_000_000 + 1))
    }
}
