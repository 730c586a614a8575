// One connection of the lane: moves the bytes of the attempt it serves, then waits in the pool for the next.
// Domain: worker

import CCurl
import CryoIO
import CryoPipeline

/// Serves one attempt at a time; no pipelining. Whatever arrives while it serves none ends it.
final class LaneConnection: UpstreamConnection {
    /// Receives and sends before other connections get their turn.
    static let roundsMax = 16

    let profile: UpstreamProfile
    /// Where the lane keeps it.
    var index = 0
    /// Waits in the pool.
    var isIdle = false
    private(set) var attempt: LaneAttempt?
    /// It has answered before.
    private(set) var isReused = false
    private var isConnected = false
    private(set) var connectedAt: UInt64 = 0
    private(set) var idleSince: UInt64 = 0

    private var canRead = true
    private var canWrite = true
    private var hasSeenEnd = false
    private var isSendEnded = false
    private var isPumping = false
    // SAFETY: the lane closes its connections before it goes.
    private unowned(unsafe) let lane: Lane

    init(_ profile: UpstreamProfile, lane: Lane) {
        self.profile = profile
        self.lane = lane
        super.init(profile, forwarder: lane.forwarder)
    }

    // MARK: From the lane

    /// The attempt is this connection's from now on. Its request goes out at the end of the batch, when everything that came has been read:
    /// what the upstreams are sent in one go wakes them once.
    func serve(_ attempt: LaneAttempt) {
        self.attempt = attempt
        attempt.connection = self
        worker.afterBatch(self)
    }

    /// Something about the attempt has changed.
    func touch() { worker.afterBatch(self) }

    /// No connection outlives its lease, so that a moved name is noticed.
    func isOld(at nanoseconds: UInt64) -> Bool { nanoseconds >= connectedAt &+ UpstreamProfile.connectionAgeNanosecondsMax }

    /// Too old, or too long unused: the upstream is about to close it.
    func isStale(at nanoseconds: UInt64) -> Bool {
        nanoseconds >= idleSince &+ UpstreamProfile.connectionIdleNanosecondsMax || isOld(at: nanoseconds)
    }

    /// True when nothing has come since the last answer, as far as a look into the socket tells.
    var isQuiet: Bool { Socket.isQuiet(descriptor) }

    // MARK: Events

    override func connected(_ result: CURLcode) {
        guard !isConnected, let attempt else { return }
        if result != CURLE_OK {
            attempt.outcome = .failed(connectError(result))
        } else if takeSocket() {
            isConnected = true
            connectedAt = worker.nanoseconds
        } else {
            attempt.outcome = .failed(.reset)
        }
        worker.afterBatch(self)
    }

    override func ready(_ events: UInt32) {
        if events & EventMask.writable != 0 { canWrite = true }
        if events & (EventMask.peerClosed | EventMask.hangUp | EventMask.error) != 0 {
            canRead = true
            hasSeenEnd = true
        } else if events & EventMask.readable != 0 {
            canRead = true
        }
        if attempt == nil { return listen() }
        pump()
    }

    override func deadlineReached(_ nanoseconds: UInt64) { pump() }

    override func batchEnded() {
        if isClosed || attempt == nil { return }
        if attempt?.receiver != nil, !isAdded, attempt?.outcome == nil { return lane.connect(self) }
        pump()
    }

    /// In the pool. TLS may say something about itself; anything else means that the connection is over or out of step.
    private func listen() {
        guard canRead, !isClosed else { return }
        if isTLS, !hasSeenEnd, isDrained() { return }
        lane.drop(self)
    }

    /// Nothing is waiting to be read, neither in the socket nor in TLS.
    private func isDrained() -> Bool {
        guard canRead else { return true }
        if case .wouldBlock = read(into: forwarder.receiveBuffer) {
            canRead = false
            return true
        }
        return false
    }

    // MARK: Moving bytes

    /// The attempt is moved out of here meanwhile, and its receiver out of it at the end, so that no reference is counted.
    private func pump() {
        guard !isPumping, !isClosed, let attempt = attempt.take() else { return }
        isPumping = true
        if isConnected { move(attempt) }
        isPumping = false
        if attempt.isSettled { conclude(attempt) } else { self.attempt = attempt }
    }

    private func move(_ attempt: LaneAttempt) {
        var rounds = 0
        while attempt.receiver != nil, attempt.outcome == nil {
            if rounds == Self.roundsMax { return wake(at: worker.nanoseconds + 1) }
            rounds += 1
            let hasSent = send(attempt)
            let mayReceive = receive(attempt)
            if !hasSent, !mayReceive { return }
        }
    }

    /// True when something has moved.
    private func send(_ attempt: LaneAttempt) -> Bool {
        guard canWrite, !isSendEnded, !attempt.isRequestSent else { return false }
        if attempt.upload.isPresent, let receiver = attempt.receiver {
            switch attempt.upload.fill(from: receiver, attempt.id) {
            case .pending: break
            case .nothing: if attempt.headSent == attempt.head.count { return false }
            case .failed:
                attempt.outcome = .failed(.requestBodyFailed)
                return false
            }
        }
        let head = UnsafeRawBufferPointer(rebasing: attempt.head.bytes[attempt.headSent...])
        let body = attempt.upload.pending
        let result: SocketWrite
        if head.isEmpty {
            result = write(body)
        } else if body.isEmpty || isTLS {
            result = write(head)
        } else {
            result = Socket.write(descriptor, head, body)
        }
        return wrote(result, of: attempt, head: head.count)
    }

    /// Sends bytes that lie with the client's connection, without a turn of their own; how many have gone out. What else there is to do, a
    /// break too, waits for the end of the batch.
    func sendStraight(_ bytes: UnsafeRawBufferPointer, of attempt: LaneAttempt) -> Int {
        guard isConnected, !isClosed, !isPumping, canWrite, !isSendEnded, !isTLS else { return 0 }
        let head = UnsafeRawBufferPointer(rebasing: attempt.head.bytes[attempt.headSent...])
        let result = head.isEmpty ? Socket.write(descriptor, bytes) : Socket.write(descriptor, head, bytes)
        guard case .bytes(let count) = result else {
            touch()
            _ = wrote(result, of: attempt, head: head.count)
            return 0
        }
        attempt.headSent += min(count, head.count)
        let bodyCount = max(0, count - head.count)
        attempt.upload.sentStraight(bodyCount)
        return bodyCount
    }

    private func wrote(_ result: SocketWrite, of attempt: LaneAttempt, head: Int) -> Bool {
        switch result {
        case .bytes(let count):
            attempt.headSent += min(count, head)
            if count > head { attempt.upload.consume(count - head) }
            return true
        case .wouldBlock:
            canWrite = false
            return false
        case .failed:
            // The upstream takes nothing more. Whether it has said why is for the receiving side to find out.
            isSendEnded = true
            canRead = true
            hasSeenEnd = true
            return true
        }
    }

    /// True when there may be more to receive.
    private func receive(_ attempt: LaneAttempt) -> Bool {
        guard !attempt.isPaused, attempt.outcome == nil, attempt.receiver != nil else { return false }
        if attempt.kept.count > 0 {
            attempt.takeKept()
            return true
        }
        guard canRead else { return false }
        let buffer = forwarder.receiveBuffer
        switch read(into: buffer) {
        case .bytes(let count):
            if !hasSeenEnd, hasTakenAll(count, of: buffer.count) { canRead = false }
            if attempt.firstByteAt == 0 { attempt.firstByteAt = worker.nanoseconds }
            attempt.take(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[..<count]))
            return canRead
        case .end:
            attempt.takeEnd()
            return true
        case .wouldBlock:
            canRead = false
            return false
        case .failed:
            attempt.takeBreak()
            return true
        }
    }

    // MARK: The end of an attempt

    private func conclude(_ attempt: LaneAttempt) {
        guard attempt.receiver != nil, let outcome = attempt.outcome else { return lane.release(attempt, of: self, isKept: false) }
        var ending = outcome
        if case .failed(let error) = outcome {
            guard let final = lastingError(attempt, error) else { return }
            ending = .failed(final)
        }
        let timing = timing(of: attempt)
        let id = attempt.id
        let isKept = allowsAnother(attempt)
        let receiver = attempt.receiver.take()
        if isKept {
            isReused = true
            idleSince = worker.nanoseconds
        }
        lane.release(attempt, of: self, isKept: isKept)
        switch ending {
        case .ended: receiver?.attemptEnded(id, timing)
        case .failed(let error): receiver?.attemptFailed(id, error, timing)
        }
    }

    private func allowsAnother(_ attempt: LaneAttempt) -> Bool {
        guard case .ended = attempt.outcome, attempt.keepsConnection, !attempt.hasExcess, attempt.isRequestSent else { return false }
        return !hasSeenEnd && !isSendEnded && isDrained()
    }

    /// What the attempt fails with; nil when it goes on elsewhere. If a pooled connection died before the first byte of an answer, an
    /// idempotent request goes once more, on a fresh one (RFC 9110 §9.2.2). Any other fails: nobody knows what the upstream did with it.
    private func lastingError(_ attempt: LaneAttempt, _ error: ForwardError) -> ForwardError? {
        guard isReused, attempt.firstByteAt == 0, error == .reset || error == .emptyResponse else { return error }
        guard attempt.isIdempotent, !attempt.isRetried else { return .reset }
        guard attempt.rewind() else { return .requestBodyFailed }
        attempt.isRetried = true
        attempt.outcome = nil
        lane.drop(self)
        lane.connect(attempt, on: profile)
        return nil
    }

    private func timing(of attempt: LaneAttempt) -> AttemptTiming {
        var timing = isReused ? AttemptTiming() : connectTiming
        timing.reusedConnection = isReused
        // A connection on the same machine may answer within one batch of events, during which the clock stands still.
        if attempt.firstByteAt > 0 { timing.firstByte = Self.microseconds(attempt.firstByteAt, since: attempt.startedAt) }
        timing.total = Self.microseconds(worker.nanoseconds, since: attempt.startedAt)
        return timing
    }

    private static func microseconds(_ end: UInt64, since start: UInt64) -> UInt32 { UInt32(clamping: max(1, (end &- start) / 1_000)) }
}

extension LaneAttempt {
    /// Goes on with what a paused reader has not taken.
    func takeKept() {
        var bytes = ByteBlock()
        swap(&bytes, &kept)
        take(bytes.bytes)
        // Keeps the block unless some of it is waiting again.
        if kept.count == 0 {
            swap(&bytes, &kept)
            kept.removeAll()
        }
    }
}
