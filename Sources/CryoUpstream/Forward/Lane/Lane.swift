// The attempts to HTTP/1.1 upstreams of one worker, and the pool of their connections.
// Domain: worker

import CryoIO
import CryoPipeline

/// The second way to an upstream, beside libcurl's own transfers: connections made by libcurl, HTTP/1.1 spoken by us. Costs a read and a
/// write per small request and no work of libcurl's.
///
/// Idle connections are kept per profile, and the last one back is the first to be used again, so that the others grow old and go.
final class Lane: Endpoint {
    /// Tells the lane's attempts from libcurl's transfers and from tunnels.
    static let mark: UInt32 = 0x4000_0000
    /// Over all upstreams; the one of the same upstream that has waited longest is closed above.
    static let idleConnectionsMax = 256
    /// Open connections above which an idle one is closed for each new one. Busy ones are bounded by the clients.
    static let connectionsMax = 1_024
    /// Attempts kept for their buffers.
    static let spareAttemptsMax = 256

    // SAFETY: the forwarder closes the lane before it goes.
    unowned(unsafe) let forwarder: CurlForwarder
    private var attempts: [LaneAttempt?] = []
    private var generations: [UInt32] = []
    private var freeSlots: [UInt32] = []
    /// In their slots, with nobody's request.
    private var spares: [LaneAttempt] = []
    private var connections: [LaneConnection] = []
    private var idleCount = 0
    private(set) var attemptsBegun: UInt64 = 0

    init(_ forwarder: CurlForwarder) {
        self.forwarder = forwarder
        super.init(worker: forwarder.worker)
        worker.enrol(self)
    }

    var openAttempts: Int { attempts.count - freeSlots.count - spares.count }

    func close() {
        for case .some(let attempt) in attempts { attempt.receiver = nil }
        while let connection = connections.last { drop(connection) }
        attempts.removeAll()
        generations.removeAll()
        freeSlots.removeAll()
        spares.removeAll()
        worker.withdraw(self)
    }

    // MARK: From the exchange, by way of the forwarder

    func begin(_ request: AttemptRequest, on profile: UpstreamProfile, receiver: any AttemptReceiver) -> AttemptID {
        attemptsBegun += 1
        let attempt = take()
        let isPrepared = attempt.prepare(request, for: receiver, at: worker.nanoseconds)
        if !isPrepared { attempt.outcome = .failed(.requestBodyFailed) }
        if isPrepared, let connection = takeIdle(of: profile, isIdempotent: attempt.isIdempotent) {
            connection.serve(attempt)
        } else {
            connect(attempt, on: profile)
        }
        return attempt.id
    }

    func find(_ id: AttemptID) -> LaneAttempt? {
        guard id.slot & Self.mark != 0 else { return nil }
        let slot = Int(id.slot & ~Self.mark)
        guard slot < attempts.count, let attempt = attempts[slot], attempt.id == id, attempt.receiver != nil else { return nil }
        return attempt
    }

    func cancel(_ attempt: LaneAttempt) {
        attempt.receiver = nil
        attempt.connection?.touch()
    }

    func resume(_ attempt: LaneAttempt) {
        attempt.isPaused = false
        attempt.connection?.touch()
    }

    func bodyReady(_ attempt: LaneAttempt) {
        attempt.upload.isReady = true
        attempt.connection?.touch()
    }

    // MARK: Attempts

    private func take() -> LaneAttempt {
        if let spare = spares.popLast() { return spare }
        let slot: UInt32
        if let free = freeSlots.popLast() {
            slot = free
        } else {
            slot = UInt32(attempts.count)
            attempts.append(nil)
            generations.append(0)
        }
        let attempt = LaneAttempt(id: AttemptID(slot: slot | Self.mark, generation: generations[Int(slot)]))
        attempts[Int(slot)] = attempt
        return attempt
    }

    /// The attempt is over; its connection waits for another one or goes.
    func release(_ attempt: LaneAttempt, of connection: LaneConnection, isKept: Bool) {
        release(attempt)
        if isKept { park(connection) } else { drop(connection) }
    }

    /// Its name is stale from here on.
    private func release(_ attempt: LaneAttempt) {
        let slot = Int(attempt.id.slot & ~Self.mark)
        guard slot < attempts.count, attempts[slot] === attempt else { return }
        generations[slot] &+= 1
        attempt.id.generation = generations[slot]
        attempt.reset()
        if spares.count < Self.spareAttemptsMax {
            spares.append(attempt)
        } else {
            attempts[slot] = nil
            freeSlots.append(UInt32(slot))
        }
    }

    // MARK: Connections

    /// A fresh connection for `attempt`; libcurl begins with it after this batch.
    func connect(_ attempt: LaneAttempt, on profile: UpstreamProfile) {
        if connections.count >= Self.connectionsMax { evict() }
        let connection = LaneConnection(profile, lane: self)
        connection.index = connections.count
        connections.append(connection)
        worker.enrol(connection)
        connection.serve(attempt)
    }

    func connect(_ connection: LaneConnection) {
        connection.isAdded = forwarder.connect(connection)
    }

    /// Closes it. Not to be called while libcurl runs.
    func drop(_ connection: LaneConnection) {
        guard !connection.isClosed else { return }
        connection.isClosed = true
        let last = connections.removeLast()
        if last !== connection {
            last.index = connection.index
            connections[connection.index] = last
        }
        if connection.isIdle {
            connection.isIdle = false
            idleCount -= 1
            connection.profile.idleConnections.removeAll { $0 === connection }
        }
        forwarder.disconnect(connection)
        worker.withdraw(connection)
    }

    // MARK: The pool

    /// Keeps a connection that has answered.
    private func park(_ connection: LaneConnection) {
        let profile = connection.profile
        guard profile.isCurrent, !connection.isOld(at: worker.nanoseconds) else { return drop(connection) }
        if idleCount >= Self.idleConnectionsMax {
            guard let oldest = profile.idleConnections.first else { return drop(connection) }
            drop(oldest)
        }
        connection.isIdle = true
        idleCount += 1
        profile.idleConnections.append(connection)
        wake(at: connection.idleSince + UpstreamProfile.connectionIdleNanosecondsMax)
    }

    private func takeIdle(of profile: UpstreamProfile, isIdempotent: Bool) -> LaneConnection? {
        while let connection = profile.idleConnections.popLast() {
            connection.isIdle = false
            idleCount -= 1
            // The end of a connection may be among the events of this batch still to come. What can be repeated takes the risk.
            if !connection.isStale(at: worker.nanoseconds), isIdempotent || connection.isQuiet { return connection }
            drop(connection)
        }
        return nil
    }

    /// The nearest to its end over all upstreams.
    private func evict() {
        let oldest = connections.lazy.filter(\.isIdle).min { $0.idleSince < $1.idleSince }
        if let oldest { drop(oldest) }
    }

    /// Closes what has waited too long.
    override func deadlineReached(_ nanoseconds: UInt64) {
        var next = UInt64.max
        for profile in forwarder.profiles {
            while let oldest = profile.idleConnections.first, oldest.isStale(at: nanoseconds) { drop(oldest) }
            if let oldest = profile.idleConnections.first { next = min(next, oldest.idleSince) }
        }
        if next < .max { wake(at: next + UpstreamProfile.connectionIdleNanosecondsMax) }
    }
}
