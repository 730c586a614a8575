// What lives on a worker and receives its events: a socket, a timer owner, or both.
// Domain: worker

/// Names an endpoint in epoll and timers: slot and generation, never a pointer. An event for a gone endpoint finds another
/// generation and is dropped.
package struct EndpointID: Sendable, Hashable {
    package var slot: UInt32
    package var generation: UInt32

    var rawValue: UInt64 { UInt64(generation) << 32 | UInt64(slot) }

    init(slot: UInt32, generation: UInt32) {
        self.slot = slot
        self.generation = generation
    }

    init(rawValue: UInt64) {
        slot = UInt32(truncatingIfNeeded: rawValue)
        generation = UInt32(truncatingIfNeeded: rawValue >> 32)
    }
}

/// Base of everything that receives events of a worker. Confined to that worker's queue. Subclasses override the events
/// they need. The worker keeps an endpoint alive from `enrol` to the end of the batch in which it is withdrawn. `open` because Swift has
/// no subclassing across the modules of one package otherwise; nothing outside the package can make one.
open class Endpoint {
    package let worker: Worker
    package fileprivate(set) var id = EndpointID(slot: .max, generation: 0)
    fileprivate(set) var armedAt = UInt64.max
    fileprivate(set) var isDeferred = false
    /// Who is told of the end of the batch after this one.
    // SAFETY: as `DeferredEndpoints` says.
    fileprivate var nextDeferred: HeldEndpoint?

    package init(worker: Worker) { self.worker = worker }

    package var isEnrolled: Bool { id.slot != .max }

    /// epoll events of the descriptor watched under this endpoint's name.
    open func ready(_ events: UInt32) {}
    /// The time given to `wake(at:)` has come. Recompute what is due and arm again.
    open func deadlineReached(_ nanoseconds: UInt64) {}
    /// Called once after the present batch of events, after `Worker.afterBatch` was asked for.
    open func batchEnded() {}

    /// Calls `deadlineReached` at or after that time. A nearer call replaces a farther one; a farther one is ignored while a
    /// nearer is pending, since `deadlineReached` arms again anyway.
    package func wake(at nanoseconds: UInt64) { worker.arm(self, at: nanoseconds) }
}

/// An endpoint by the reference that its table holds: calling it counts none.
// SAFETY: a table lets go of a reference only at the end of the batch in which its endpoint was withdrawn.
typealias HeldEndpoint = Unmanaged<Endpoint>

/// The endpoints of one worker by slot, with generations. It holds them, those withdrawn too until `release`, and lends them without counting
/// references: whoever finds one in a batch may use it to the end of that batch.
// SAFETY: `insert` takes the reference that `release` gives back, once for each `remove`.
struct EndpointTable {
    private var slots: [HeldEndpoint?] = []
    private var withdrawn: [HeldEndpoint] = []
    private var generations: [UInt32] = []
    private var free: [UInt32] = []
    private(set) var count = 0

    mutating func insert(_ endpoint: Endpoint) {
        let slot: UInt32
        if let reused = free.popLast() {
            slot = reused
        } else {
            slot = UInt32(slots.count)
            slots.append(nil)
            generations.append(0)
        }
        slots[Int(slot)] = HeldEndpoint.passRetained(endpoint)
        endpoint.id = EndpointID(slot: slot, generation: generations[Int(slot)])
        count += 1
    }

    mutating func remove(_ endpoint: Endpoint) {
        let slot = Int(endpoint.id.slot)
        guard slot < slots.count, let held = slots[slot], endpoint.id.generation == generations[slot] else { return }
        withdrawn.append(held)
        slots[slot] = nil
        generations[slot] &+= 1
        free.append(UInt32(slot))
        endpoint.id.slot = .max
        endpoint.armedAt = .max
        count -= 1
    }

    func find(_ id: EndpointID) -> HeldEndpoint? {
        let slot = Int(id.slot)
        guard slot < slots.count, generations[slot] == id.generation else { return nil }
        return slots[slot]
    }

    var all: [Endpoint] { slots.compactMap { $0?.takeUnretainedValue() } }

    /// The next of those withdrawn, for its last reference to be let go of outside the table.
    mutating func release() -> HeldEndpoint? { withdrawn.popLast() }
}

/// The endpoints that are to be told of the end of the batch, in the order in which they have asked: a list through the endpoints themselves,
/// so that asking takes no memory.
// SAFETY: only enrolled ones get in, which are there until the batch has ended; by then nobody is in it.
struct DeferredEndpoints {
    private var first: HeldEndpoint?
    private var last: HeldEndpoint?

    var isEmpty: Bool { first == nil }

    mutating func append(_ endpoint: Endpoint) {
        let held = HeldEndpoint.passUnretained(endpoint)
        if let last { last._withUnsafeGuaranteedRef { $0.nextDeferred = held } } else { first = held }
        last = held
    }

    mutating func popFirst() -> HeldEndpoint? {
        guard let held = first else { return nil }
        first = held._withUnsafeGuaranteedRef { endpoint in
            endpoint.isDeferred = false
            return endpoint.nextDeferred.take()
        }
        if first == nil { last = nil }
        return held
    }
}

extension Worker {
    func arm(_ endpoint: Endpoint, at nanoseconds: UInt64) {
        guard nanoseconds < endpoint.armedAt, endpoint.isEnrolled else { return }
        endpoint.armedAt = nanoseconds
        pushDeadline(DeadlineEntry(at: nanoseconds, endpoint: endpoint.id))
    }

    /// True when `entry` is the one its endpoint counts on.
    func isCurrent(_ entry: DeadlineEntry) -> Bool { endpoints.find(entry.endpoint)?._withUnsafeGuaranteedRef { $0.armedAt } == entry.at }

    func fire(_ entry: DeadlineEntry) {
        let now = nanoseconds
        endpoints.find(entry.endpoint)?._withUnsafeGuaranteedRef { endpoint in
            guard endpoint.armedAt == entry.at else { return }
            endpoint.armedAt = .max
            endpoint.deadlineReached(now)
        }
    }

    /// Calls `endpoint.batchEnded` once after this batch of events. Not for one that is not enrolled.
    package func afterBatch(_ endpoint: Endpoint) {
        guard !endpoint.isDeferred, endpoint.isEnrolled else { return }
        endpoint.isDeferred = true
        deferred.append(endpoint)
    }

    /// What ends with the batch may ask for its end again, and so may what goes with it.
    func endBatch() {
        repeat {
            while let endpoint = deferred.popFirst() { endpoint._withUnsafeGuaranteedRef { $0.batchEnded() } }
            releaseWithdrawn()
        } while !deferred.isEmpty
    }

    func releaseWithdrawn() { while let endpoint = endpoints.release() { endpoint.release() } }
}
