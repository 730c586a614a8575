// The client side as a whole: listeners, and the connections they hand to the workers.
// Domain: cold (methods) | shared (state)

package import CryoIO
package import CryoPipeline
import CryoSync

package struct ServerStatistics: Sendable, Equatable {
    package var openConnections: Int
    package var busyExchanges: Int
    /// TLS handshakes that did not succeed, since the start.
    package var failedHandshakes = 0
}

/// Whom the listeners of a server let in, and how they talk to them.
package struct Admission: Sendable {
    /// nil: plain HTTP.
    package var tls: TLSContext?
    /// Users who may connect to a UNIX socket; empty: everybody. TCP tells no user: with users given, nobody gets in there.
    package var peerUIDs: [UInt32]

    package init(tls: TLSContext? = nil, peerUIDs: [UInt32] = []) {
        self.tls = tls
        self.peerUIDs = peerUIDs
    }
}

/// Several servers may use the same workers (the gateway and its admin side).
package final class Server: Sendable {
    private struct State {
        var listeners: [Listener] = []
        var limits: LimitSettings
        var admission = Admission()
        var isDraining = false
    }

    private let shares: [WorkerShare]
    private let state: Mutex<State>
    private let drainEvents: DrainEvents

    /// `answersHalfClosed`: a client that shuts its sending side after a request still gets the answer. Off by default, since a
    /// client that has closed altogether looks the same until something is written to it.
    package init(
        workers: [Worker], limits: LimitSettings, acceptor: any RequestAcceptor, answersHalfClosed: Bool = false
    ) {
        let events = DrainEvents()
        let connectionLimits = ConnectionLimits(limits)
        var made: [WorkerShare] = []
        for (index, worker) in workers.enumerated() {
            made.append(
                WorkerShare(
                    worker: worker, limits: connectionLimits, acceptor: acceptor, answersHalfClosed: answersHalfClosed,
                    emptied: { events.report(index) }))
        }
        shares = made
        drainEvents = events
        state = Mutex(State(limits: limits))
    }

    /// Begins to accept on that address; the address it is bound to, as text (`127.0.0.1:49152`, `[::1]:80`, `unix:/path`).
    package func listen(_ settings: ListenSettings) throws(SystemError) -> String {
        let listener = try Listener(settings) { [weak self] descriptor in
            guard let self else { return Socket.close(descriptor) }
            self.take(descriptor)
        }
        state.withLock { $0.listeners.append(listener) }
        listener.start()
        return listener.boundAddress
    }

    /// For connections accepted from now on.
    package var limits: LimitSettings {
        get { state.withLock { $0.limits } }
        set {
            state.withLock { $0.limits = newValue }
            let limits = ConnectionLimits(newValue)
            for share in shares { share.worker.submit { share.replaceLimits(limits) } }
        }
    }

    /// For connections accepted from now on.
    package var admission: Admission {
        get { state.withLock { $0.admission } }
        set { state.withLock { $0.admission = newValue } }
    }

    package var statistics: ServerStatistics {
        var statistics = ServerStatistics(openConnections: 0, busyExchanges: 0)
        for share in shares {
            statistics.openConnections += share.counters.open.load(ordering: .relaxed)
            statistics.busyExchanges += share.counters.busy.load(ordering: .relaxed)
            statistics.failedHandshakes += share.counters.failedHandshakes.load(ordering: .relaxed)
        }
        return statistics
    }

    /// Stops to listen, closes idle connections and lets the others finish what they do. `completion` is called once, on any
    /// thread, when no connection is left. Must not be called from a worker.
    package func beginDrain(completion: @escaping @Sendable () -> Void) {
        let listeners = state.withLock { state -> [Listener]? in
            guard !state.isDraining else { return nil }
            state.isDraining = true
            let listeners = state.listeners
            state.listeners = []
            return listeners
        }
        guard let listeners else { return }
        for listener in listeners { listener.stop() }
        drainEvents.begin(Set(shares.indices), completion)
        // What the acceptors have handed over is in front of this in each worker's inbox.
        for share in shares { share.worker.submit { share.beginDrain() } }
    }

    /// Ends every exchange and closes every connection.
    package func forceClose() {
        for share in shares { share.worker.submit { share.closeAll() } }
    }

    /// Hands a connected, non-blocking socket to the worker with the fewest connections.
    package func take(_ descriptor: Int32) {
        var chosen: WorkerShare?
        var fewest = Int.max
        var open = 0
        for share in shares {
            open += share.counters.open.load(ordering: .relaxed)
            let count = share.worker.connectionCount.load(ordering: .relaxed)
            if count < fewest {
                fewest = count
                chosen = share
            }
        }
        let (connectionsMax, admission) = state.withLock { ($0.limits.connectionsMax, $0.admission) }
        if !admission.peerUIDs.isEmpty {
            guard let uid = Socket.peerUID(descriptor), admission.peerUIDs.contains(uid) else { return Socket.close(descriptor) }
        }
        guard let share = chosen, open < connectionsMax + ConnectionBounds.refusalsMax else { return Socket.close(descriptor) }
        share.reserve()
        let isOverCapacity = open >= connectionsMax
        share.worker.submit { share.adopt(descriptor, tls: admission.tls, isOverCapacity: isOverCapacity) }
    }
}

/// Counts the workers that are still draining.
private final class DrainEvents: Sendable {
    private struct State {
        var waiting = Set<Int>()
        var completion: (@Sendable () -> Void)?
    }
    private let state = Mutex(State())

    func begin(_ shares: Set<Int>, _ completion: @escaping @Sendable () -> Void) {
        let isOver = shares.isEmpty
        state.withLock { $0 = State(waiting: shares, completion: isOver ? nil : completion) }
        if isOver { completion() }
    }

    func report(_ share: Int) {
        let completion = state.withLock { state -> (@Sendable () -> Void)? in
            state.waiting.remove(share)
            guard state.waiting.isEmpty else { return nil }
            defer { state.completion = nil }
            return state.completion
        }
        completion?()
    }
}
