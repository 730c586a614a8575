// One client connection: its socket, its place in the life of a request, and the events that move it on.
// Domain: worker

import CryoHTTP
import CryoIO
import CryoPipeline
import CryoSync

/// Where a connection stands. Every case may go to `closed`.
enum ConnectionPhase: Equatable {
    /// Between requests. Then `head`, or `body`/`replying` when a head came whole.
    case idle
    /// A part of a head has come. Then `body`, `replying`.
    case head
    /// An exchange is open and its request body is coming. Then `replying`, or `discarding`/`flushing` after an early reply.
    case body
    /// An exchange is open and nothing more of its request is wanted. Then `idle`, `flushing`, or `tunnel` after a 101.
    case replying
    /// The connection has changed its protocol: bytes pass both ways until both sides have ended. Then `flushing`.
    case tunnel
    /// The reply is done; the small rest of its request body is thrown away. Then `idle`.
    case discarding
    /// Nothing follows but what is pending. Then `lingering`.
    case flushing
    /// Our side is shut; the client's bytes are thrown away, lest a reset destroys the reply on its way (RFC 9112 §9.6).
    case lingering
    case closed
}

/// Confined to its worker. Its descriptor is watched once, edge-triggered; two flags remember what the kernel reported, and no
/// epoll call follows. One wake of the worker serves all its deadlines and those of the exchange: setting one moves a field.
final class ClientConnection: Endpoint {
    let descriptor: Int32
    let share: WorkerShare
    let limits: ConnectionLimits

    var phase = ConnectionPhase.idle
    var state: RequestState?
    var consumer: (any RequestConsumer)?
    /// nil: a plain connection.
    var tls: ClientTLS?
    /// Made with the first request, since asking for the peer's name costs system calls; nil again once the connection is closed.
    var context: ConnectionContext?

    /// When what we wait for from the client must have come, and when what waits for it must have gone; `.max` is none.
    var readDeadline = UInt64.max
    var writeDeadline = UInt64.max

    var canRead = false
    var canWrite = true
    /// The kernel has reported that the client shut its side: the next short read is not the last.
    var hasPeerClosed = false
    /// The end of the client's bytes has been read.
    var hasSeenEnd = false
    /// The socket failed; noticed where the consumer can't be told at once.
    var isBroken = false
    /// An exchange is open: the consumer has neither finished nor been told that the client is gone.
    var isExchangeOpen = false
    var isAdvancing = false
    var resetsOnClose = false

    init(descriptor: Int32, share: WorkerShare, limits: ConnectionLimits) {
        self.descriptor = descriptor
        self.share = share
        self.limits = limits
        super.init(worker: share.worker)
    }

    /// Begins to take events. A connection over capacity is told so and closed.
    func open(isOverCapacity: Bool) {
        worker.enrol(self)
        let events =
            EventMask.readable | EventMask.writable | EventMask.peerClosed | EventMask.edge
        guard worker.watch(descriptor, events, for: self) else { return close() }
        if let tls {
            tls.isOverCapacity = isOverCapacity
            canRead = true
            readDeadline = deadline(
                share.isDraining ? ConnectionBounds.drainGraceMilliseconds : limits.settings.headTimeoutMilliseconds)
            advance()
        } else {
            begin(isOverCapacity: isOverCapacity)
            advance()
        }
    }

    /// Waits for the first request, or says at once that there is no room for it.
    func begin(isOverCapacity: Bool) {
        if isOverCapacity { return refuse(.overCapacity, status: 503, "too many connections") }
        // The request often comes with the connection: look at once.
        canRead = true
        readDeadline = deadline(
            share.isDraining ? ConnectionBounds.drainGraceMilliseconds : limits.settings.idleTimeoutMilliseconds)
    }

    /// Keeps a busy connection for its exchange, closes an idle one. What the client has sent already is still answered.
    func beginDrain() {
        guard phase == .idle else { return }
        canRead = true
        advance()
        guard phase == .idle else { return }
        if context == nil {
            // Its first request may be on its way.
            readDeadline = min(readDeadline, deadline(ConnectionBounds.drainGraceMilliseconds))
            return arm()
        }
        phase = .flushing
        settle()
    }

    // MARK: Events

    override func ready(_ events: UInt32) {
        guard phase != .closed else { return }
        if events & EventMask.writable != 0 { canWrite = true }
        if events & (EventMask.readable | EventMask.peerClosed | EventMask.hangUp | EventMask.error) != 0 { canRead = true }
        if events & (EventMask.peerClosed | EventMask.hangUp | EventMask.error) != 0 { hasPeerClosed = true }
        // A reset, or both sides shut: nothing can be sent any more. What came before it is still read, for the record.
        // Where we have shut our side ourselves, the client's last bytes may still be unread.
        let fatal = phase == .tunnel ? EventMask.error : EventMask.error | EventMask.hangUp
        if events & fatal != 0, phase != .idle, phase != .head { return clientGone() }
        pushOut()
        advance()
    }

    /// After a batch of events: what the exchanges have written goes out by one call, then the next request gets its turn.
    override func batchEnded() {
        guard phase != .closed else { return }
        pushOut()
        advance()
    }

    override func deadlineReached(_ nanoseconds: UInt64) {
        guard phase != .closed else { return }
        if writeDeadline <= nanoseconds {
            resetsOnClose = true
            return clientGone()
        }
        if readDeadline <= nanoseconds { readTimedOut() }
        if isExchangeOpen { consumer?.deadlineReached(nanoseconds) }
        advance()
        arm()
    }

    private func readTimedOut() {
        readDeadline = .max
        switch phase {
        case .idle, .discarding, .flushing, .lingering: close()
        case .head: refuse(.requestTimedOut, status: 408, "request head did not arrive in time")
        case .body: refuseBody(.requestTimedOut, status: 408, "request body did not arrive in time")
        case .replying, .tunnel, .closed: break
        }
    }

    // MARK: Moving on

    /// Uses what has been read, reads what has come, as far as the phase allows; then sets the deadlines. Does nothing when it
    /// is running already: its loop sees what changed.
    func advance() {
        guard !isAdvancing, phase != .closed else { return }
        isAdvancing = true
        var rounds = 0
        while phase != .closed {
            if isBroken {
                clientGone()
                break
            }
            if rounds == ConnectionBounds.roundsMax {
                wake(at: worker.nanoseconds + 1)
                break
            }
            rounds += 1
            if let state, state.inputCount > 0, usesInput {
                let before = (phase, state.inputCount)
                useKeptInput(state)
                if before != (phase, state.inputCount) { continue }
            }
            if readMore() { continue }
            if hasSeenEnd { endOfInput() }
            break
        }
        isAdvancing = false
        settle()
    }

    /// True when kept bytes are of use in this phase.
    private var usesInput: Bool {
        switch phase {
        case .idle, .head: hasRoomForReply
        case .body, .tunnel: state?.isBodyPaused == false
        case .discarding, .flushing, .lingering: true
        case .replying: state?.willDiscard == true
        case .closed: false
        }
    }

    private var wantsRead: Bool {
        switch phase {
        case .idle, .head: hasRoomForReply
        // Behind the last bytes of a client that has shut its side stands whether it is gone.
        case .body: state?.isBodyPaused == false || (hasPeerClosed && hasRoomForInput)
        case .tunnel: state?.isBodyPaused == false
        case .discarding, .lingering: true
        // Only to notice that the client is gone.
        case .replying: hasRoomForInput
        case .flushing, .closed: false
        }
    }

    /// A client that sends requests and does not take the replies is not read.
    private var hasRoomForReply: Bool { (state?.out.count ?? 0) <= ConnectionBounds.pendingBytesMax }

    private var hasRoomForInput: Bool { (state?.inputCount ?? 0) < ConnectionBounds.pipelinedBytesMax }

    /// Reads once; false when there is nothing to do.
    private func readMore() -> Bool {
        if let tls, phase != .lingering { return wantsRead && !hasSeenEnd && readMore(tls) }
        guard canRead, wantsRead, !hasSeenEnd else { return false }
        let buffer = share.readBuffer
        switch Socket.read(descriptor, into: buffer) {
        case .bytes(let count):
            if count < buffer.count, !hasPeerClosed { canRead = false }
            take(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[..<count]))
            return true
        case .wouldBlock:
            canRead = false
            return false
        case .end:
            canRead = false
            hasSeenEnd = true
            return false
        case .failed:
            if phase == .head { refuseVanished() } else { clientGone() }
            return false
        }
    }

    /// The client will send nothing more, and what it has sent does not bring us further.
    private func endOfInput() {
        switch phase {
        case .lingering: close()
        case .idle, .discarding: phase = .flushing
        case .head: refuseVanished()
        case .body:
            // Bytes the consumer has not taken yet may be the rest of the body.
            if let state, state.isBodyPaused {
                if state.framing == .chunked || UInt64(state.inputCount) >= state.bodyRemaining { return }
            }
            clientGone()
        case .replying:
            // Further requests that came before the end keep the connection until their turn.
            if (share.answersHalfClosed && tls?.isCut != true) || (state?.inputCount ?? 0) > 0 { return }
            clientGone()
        case .tunnel: endTunnelInput()
        case .flushing, .closed: break
        }
    }

    // MARK: The end

    /// Tells the exchange that nobody waits for it, and closes. In this order: when the last connection is gone, the records of
    /// all exchanges are written.
    func clientGone() {
        guard phase != .closed else { return }
        let gone = isExchangeOpen ? consumer : nil
        if isExchangeOpen { tls?.isCut = true }
        endExchange()
        gone?.clientGone()
        close()
    }

    func endExchange() {
        guard isExchangeOpen else { return }
        isExchangeOpen = false
        consumer = nil
        share.counters.busy.wrappingSubtract(1, ordering: .relaxed)
    }

    func close() {
        guard phase != .closed else { return }
        if let tls {
            if tls.stream.isHandshaking { countFailedHandshake() } else { endTLS(tls) }
        }
        phase = .closed
        readDeadline = .max
        writeDeadline = .max
        if resetsOnClose { Socket.resetOnClose(descriptor) }
        // The context holds the connection as sink and scheduler.
        context = nil
        worker.withdraw(self)
        Socket.close(descriptor)
        if let state {
            self.state = nil
            share.giveBack(state)
        }
        share.released()
    }
}
