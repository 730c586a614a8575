// What the client connections of one server share on one worker: limits, the acceptor, buffers, the Date field, counters.
// Domain: worker

import CryoHTTP
import CryoIO
import CryoPipeline
package import CryoSync

/// Fixed bounds of a client connection. Those that can be configured are in `LimitSettings`.
package enum ConnectionBounds {
    /// Bytes taken from the socket by one call.
    package static let readBytesMax = 131_072
    /// Reads and requests served before the other connections of the worker get their turn.
    package static let roundsMax = 16
    /// Bytes of further requests kept while an exchange is open; then the socket is not read.
    package static let pipelinedBytesMax = 65_536
    /// Body pieces up to this size are copied behind the head; larger ones are written from where they are.
    package static let copiedBodyBytesMax = 16_384
    /// More than this waiting for the client stops the reply's source …
    package static let pendingBytesMax = 262_144
    /// … until it is less than this.
    package static let pendingBytesResume = 65_536
    /// Unread request bytes that are thrown away after a reply, so that the client gets the reply and not a reset.
    package static let discardBytesMax = 262_144
    package static let discardMilliseconds: UInt32 = 2_000
    /// Time for a client that connected just before a drain to send its request.
    package static let drainGraceMilliseconds: UInt32 = 1_000
    /// Connections over `connectionsMax` that are told so; further ones are closed without a word.
    package static let refusalsMax = 256
    /// Request states and their buffers kept for reuse, per worker.
    package static let sparesMax = 64
    package static let spareBufferBytesMax = 65_536
}

/// Counted per worker, read by anyone.
package final class ShareCounters: Sendable {
    package let open = Atomic<Int>(0)
    package let busy = Atomic<Int>(0)
    package let failedHandshakes = Atomic<Int>(0)
}

/// Limits as an immutable object: a connection keeps those it began with.
final class ConnectionLimits: Sendable {
    let settings: LimitSettings
    let head: HeadLimits

    init(_ settings: LimitSettings) {
        self.settings = settings
        head = HeadLimits(headBytesMax: settings.headBytesMax)
    }
}

// SAFETY: all but `counters`, `worker` and `acceptor` (which are Sendable themselves) is touched on the worker's queue only;
// others get here through `worker.submit`.
final class WorkerShare: @unchecked Sendable {
    let worker: Worker
    let acceptor: any RequestAcceptor
    let counters = ShareCounters()
    let submit: @Sendable (@escaping @Sendable () -> Void) -> Void
    /// A client that has shut its sending side still gets the answer to its last request. Off: that counts as gone.
    let answersHalfClosed: Bool
    /// Called on the worker each time the last connection of a draining share is gone.
    let emptied: @Sendable () -> Void

    private(set) var isDraining = false
    private var limits: ConnectionLimits
    private var spares: [RequestState] = []
    private var dateSecond: Int64 = -1
    private var dateField: [UInt8] = []
    /// Own, not the worker's: a consumer may make the forwarder read while request bytes are being handed out of this one.
    let readBuffer: UnsafeMutableRawBufferPointer

    init(
        worker: Worker, limits: ConnectionLimits, acceptor: any RequestAcceptor, answersHalfClosed: Bool,
        emptied: @escaping @Sendable () -> Void
    ) {
        self.worker = worker
        self.limits = limits
        self.acceptor = acceptor
        self.answersHalfClosed = answersHalfClosed
        self.emptied = emptied
        submit = { work in worker.submit(work) }
        readBuffer = .allocate(byteCount: ConnectionBounds.readBytesMax, alignment: 64)
    }

    deinit { readBuffer.deallocate() }

    // MARK: Connections

    /// Counts a connection that is about to be handed over. Any thread.
    func reserve() {
        counters.open.wrappingAdd(1, ordering: .relaxed)
        worker.connectionCount.wrappingAdd(1, ordering: .relaxed)
    }

    /// Takes a reserved connection.
    func adopt(_ descriptor: Int32, tls context: TLSContext?, isOverCapacity: Bool) {
        let tls = context.flatMap { TLSStream($0) }
        guard context == nil || tls != nil else {
            // No memory for it: it must not become a plain one.
            Socket.close(descriptor)
            return released()
        }
        let connection = ClientConnection(descriptor: descriptor, share: self, limits: limits)
        if let tls { connection.tls = ClientTLS(tls) }
        connection.open(isOverCapacity: isOverCapacity)
    }

    func released() {
        worker.connectionCount.wrappingSubtract(1, ordering: .relaxed)
        let left = counters.open.wrappingSubtract(1, ordering: .relaxed).newValue
        if isDraining, left == 0 { emptied() }
    }

    func replaceLimits(_ limits: ConnectionLimits) { self.limits = limits }

    func beginDrain() {
        guard !isDraining else { return }
        isDraining = true
        for connection in connections() { connection.beginDrain() }
        if counters.open.load(ordering: .relaxed) == 0 { emptied() }
    }

    func closeAll() {
        for connection in connections() { connection.clientGone() }
    }

    private func connections() -> [ClientConnection] {
        var found: [ClientConnection] = []
        worker.forEachEndpoint { endpoint in
            if let connection = endpoint as? ClientConnection, connection.share === self { found.append(connection) }
        }
        return found
    }

    // MARK: Shared parts

    func takeState(_ limits: HeadLimits) -> RequestState {
        guard let state = spares.popLast() else { return RequestState(limits: limits) }
        state.reset(limits: limits)
        return state
    }

    func giveBack(_ state: consuming RequestState) {
        guard spares.count < ConnectionBounds.sparesMax, state.bufferBytes <= ConnectionBounds.spareBufferBytesMax else { return }
        spares.append(state)
    }

    /// The whole Date line of the present second.
    func appendDate(to head: inout HeadWriter) {
        let second = worker.unixMicroseconds / 1_000_000
        if second != dateSecond {
            dateSecond = second
            dateField.removeAll(keepingCapacity: true)
            dateField.appendHead(bytesMax: HeadWriter.ownBytes) { $0.appendDateField(unixSeconds: second) }
        }
        head.append(dateField)
    }
}
