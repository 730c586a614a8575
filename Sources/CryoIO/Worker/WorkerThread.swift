// The thread of a worker and what it waits on: an epoll descriptor with a timer and a wake-up in it.
// Domain: worker

import CEpoll
import Dispatch
import Glibc

/// Waits for events and has the worker serve them. It holds the worker only while that serves, so that one nobody holds any more goes, and
/// its thread with it.
final class WorkerThread: Sendable {
    /// Events taken from the kernel by one call.
    private static let eventsPerWaitMax = 256

    private let kernel: WorkerKernel
    private weak let worker: Worker?
    private let name: String
    private let running: DispatchGroup

    init(named name: String, _ kernel: WorkerKernel, _ worker: Worker, _ running: DispatchGroup) {
        self.name = name
        self.kernel = kernel
        self.worker = worker
        self.running = running
    }

    /// Leaves `running` at its end; not when it throws.
    func start() throws(SystemError) {
        // SAFETY: the thread takes over this reference, if it comes to be.
        let context = Unmanaged.passRetained(self)
        let code = Self.create(context.toOpaque())
        if code == 0 { return }
        context.release()
        throw SystemError("pthread_create", code: code)
    }

    /// Signals are taken by Dispatch from a descriptor: a thread that could take one, ignored as they are otherwise, would lose it.
    private static func create(_ context: UnsafeMutableRawPointer) -> Int32 {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        var blocked = sigset_t()
        var before = sigset_t()
        sigfillset(&blocked)
        for ownFault in [SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT] { sigdelset(&blocked, ownFault) }
        pthread_sigmask(SIG_SETMASK, &blocked, &before)
        var thread = pthread_t()
        let code = pthread_create(&thread, &attributes, runWorkerThread, context)
        pthread_sigmask(SIG_SETMASK, &before, nil)
        pthread_attr_destroy(&attributes)
        return code
    }

    fileprivate func run() {
        defer { running.leave() }
        cryo_name_thread(name)
        worker?.begin()
        let events = UnsafeMutableBufferPointer<epoll_event>.allocate(capacity: Self.eventsPerWaitMax)
        defer { events.deallocate() }
        var patience: Int32 = -1
        while true {
            // An interrupted wait is a batch without events.
            let count = max(0, epoll_wait(kernel.epoll, events.baseAddress, Int32(Self.eventsPerWaitMax), patience))
            guard let next = worker?.serve(UnsafeMutableBufferPointer(rebasing: events[..<Int(count)])) else { return }
            patience = next
        }
    }
}

private func runWorkerThread(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    // SAFETY: `start` gave this reference to the thread.
    if let context { Unmanaged<WorkerThread>.fromOpaque(context).takeRetainedValue().run() }
    return nil
}

/// The three descriptors of a worker. Held by the worker and by its thread; closed with the last of the two.
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
    func patience(until deadline: UInt64?) -> Int32 {
        guard let deadline else { return -1 }
        let now = Clock.monotonicNanoseconds()
        return deadline <= now ? 0 : Int32(clamping: (deadline - now) / 1_000_000 + 1)
    }
}
