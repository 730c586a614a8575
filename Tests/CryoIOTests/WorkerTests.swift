// Workers: work from other threads, deadlines, and events of endpoints that are gone.
// Domain: shared

import CryoSync
import Dispatch
import Glibc
import Testing

@testable import CryoIO

/// Records its events, in a place that outlives it.
private final class Probe: Endpoint {
    let events: Events
    let name: String

    init(worker: Worker, name: String, _ events: Events) {
        self.events = events
        self.name = name
        super.init(worker: worker)
    }

    override func ready(_ mask: UInt32) { events.note("\(name) ready") }
    override func deadlineReached(_ nanoseconds: UInt64) { events.note("\(name) deadline") }
    override func batchEnded() { events.note("\(name) batch") }
}

private final class Events: Sendable {
    private let entries = Mutex<[String]>([])
    let semaphore = DispatchSemaphore(value: 0)

    func note(_ entry: String) {
        entries.withLock { $0.append(entry) }
        semaphore.signal()
    }

    var all: [String] { entries.withLock { $0 } }
    func waitsForOne() -> Bool { semaphore.wait(timeout: .now() + .seconds(5)) == .success }
}

private func run(on worker: Worker, _ work: @escaping @Sendable () -> Void) {
    let done = DispatchSemaphore(value: 0)
    worker.submit {
        work()
        done.signal()
    }
    #expect(done.wait(timeout: .now() + .seconds(5)) == .success)
}

@Suite struct WorkerTests {
    private let worker: Worker
    private let events = Events()

    init() throws {
        worker = try Worker(index: 0)
        worker.start()
    }

    @Test("work submitted by several threads runs once each, on the worker")
    func submit() {
        let count = Atomic<Int>(0)
        let done = DispatchSemaphore(value: 0)
        DispatchQueue.concurrentPerform(iterations: 8) { _ in
            for _ in 0..<1000 {
                worker.submit { [worker] in
                    worker.assertOnQueue()
                    if count.wrappingAdd(1, ordering: .relaxed).newValue == 8000 { done.signal() }
                }
            }
        }
        #expect(done.wait(timeout: .now() + .seconds(10)) == .success)
        #expect(count.load(ordering: .relaxed) == 8000)
    }

    @Test("a deadline wakes its endpoint once, and a withdrawn one never")
    func deadlines() {
        run(on: worker) { [worker, events] in
            let kept = Probe(worker: worker, name: "kept", events)
            let gone = Probe(worker: worker, name: "gone", events)
            worker.enrol(kept)
            worker.enrol(gone)
            kept.wake(at: worker.nanoseconds + 2_000_000)
            kept.wake(at: worker.nanoseconds + 3_000_000)
            gone.wake(at: worker.nanoseconds + 1_000_000)
            worker.withdraw(gone)
            // Takes the slot of the withdrawn one; its deadline is not inherited.
            worker.enrol(Probe(worker: worker, name: "heir", events))
        }
        #expect(events.waitsForOne())
        run(on: worker) {}
        #expect(events.all == ["kept deadline"])
    }

    @Test("an event for a withdrawn endpoint does not reach the one in its slot")
    func staleEvents() throws {
        var pair: (Int32, Int32) = (0, 0)
        let made = withUnsafeMutablePointer(to: &pair) { pointer in
            pointer.withMemoryRebound(to: Int32.self, capacity: 2) { socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, $0) }
        }
        try #require(made == 0)
        let (mine, theirs) = pair
        run(on: worker) { [worker, events] in
            let first = Probe(worker: worker, name: "first", events)
            worker.enrol(first)
            #expect(worker.watch(mine, EventMask.readable, for: first))
            let old = first.id
            worker.withdraw(first)
            let second = Probe(worker: worker, name: "second", events)
            worker.enrol(second)
            #expect(second.id.slot == old.slot && second.id != old)
            _ = [UInt8(1)].withUnsafeBytes { Socket.write(theirs, $0) }
        }
        run(on: worker) { [worker] in worker.unwatch(mine) }
        run(on: worker) {}
        #expect(events.all == [])
        Socket.close(mine)
        Socket.close(theirs)
    }

    @Test("an endpoint hears once of the end of a batch, however often it asks")
    func batches() {
        run(on: worker) { [worker, events] in
            let probe = Probe(worker: worker, name: "probe", events)
            worker.enrol(probe)
            worker.afterBatch(probe)
            worker.afterBatch(probe)
        }
        #expect(events.waitsForOne())
        run(on: worker) {}
        #expect(events.all == ["probe batch"])
    }

    /// Withdraws itself and tells when it is gone.
    private final class Leaver: Endpoint {
        let events: Events

        init(worker: Worker, _ events: Events) {
            self.events = events
            super.init(worker: worker)
        }

        deinit { events.note("gone") }

        override func batchEnded() {
            worker.withdraw(self)
            worker.afterBatch(self)
            events.note("batch")
        }
    }

    @Test("an endpoint withdrawn in a batch is there to its end, and not asked again")
    func leaving() {
        run(on: worker) { [worker, events] in
            let leaver = Leaver(worker: worker, events)
            worker.enrol(leaver)
            worker.afterBatch(leaver)
        }
        #expect(events.waitsForOne() && events.waitsForOne())
        run(on: worker) {}
        #expect(events.all == ["batch", "gone"])
    }

    @Test("a worker that was stopped runs nothing any more, and Dispatch lets go of it")
    func stop() {
        worker.submit { [worker, events] in
            worker.submit { events.note("late") }
            worker.stop()
            worker.submit { events.note("too late") }
        }
        #expect(worker.waitUntilStopped(.seconds(5)))
        #expect(events.all == [])
    }

    @Test("a worker nobody holds any more goes")
    func release() throws {
        weak var gone: Worker?
        do {
            let brief = try Worker(index: 1)
            brief.start()
            run(on: brief) {}
            gone = brief
        }
        // Its loop may still be in the batch.
        let patience = Clock.monotonicNanoseconds() + 5_000_000_000
        while gone != nil, Clock.monotonicNanoseconds() < patience { sched_yield() }
        #expect(gone == nil)
    }

    @Test("endpoints may be withdrawn while all are visited")
    func visiting() {
        run(on: worker) { [worker, events] in
            for name in ["a", "b", "c"] { worker.enrol(Probe(worker: worker, name: name, events)) }
            var visited = 0
            worker.forEachEndpoint {
                visited += 1
                worker.withdraw($0)
            }
            #expect(visited == 3)
            worker.forEachEndpoint { _ in visited += 1 }
            #expect(visited == 3)
        }
    }
}

@Suite struct DeadlineHeapTests {
    @Test("deadlines come out in order, also after compaction")
    func order() {
        var heap = DeadlineHeap()
        var value: UInt64 = 12345
        var expected: [UInt64] = []
        for slot in 0..<500 {
            value = value &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let at = value >> 40
            heap.push(DeadlineEntry(at: at, endpoint: EndpointID(slot: UInt32(slot), generation: 0)))
            if slot % 3 != 0 { expected.append(at) }
        }
        heap.compact { $0.endpoint.slot % 3 != 0 }
        #expect(heap.count == expected.count)
        expected.sort()
        var popped: [UInt64] = []
        while let entry = heap.popEarliest() { popped.append(entry.at) }
        #expect(popped == expected)
        #expect(heap.earliest == nil && heap.popEarliest() == nil)
    }
}
