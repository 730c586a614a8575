// Step read: cuts requests out of the bytes of a connection and hands them to their consumers.
// Domain: worker

import CryoHTTP
import CryoIO
import CryoPipeline
import CryoSync

extension ClientConnection {
    // MARK: Bytes

    /// Uses bytes just read and keeps what can't be used now.
    func take(_ bytes: UnsafeRawBufferPointer) {
        if let state, state.inputCount > 0 {
            state.appendInput(bytes)
            if phase != .replying { useKeptInput(state) }
            return
        }
        let used = use(bytes)
        guard used < bytes.count, phase != .closed else { return }
        heldState().appendInput(UnsafeRawBufferPointer(rebasing: bytes[used...]))
    }

    func useKeptInput(_ state: RequestState) {
        // Moved out: consumers are called while these bytes are lent to them.
        let input = state.input
        let start = state.inputStart
        let used = input.withUnsafeBytes { use(UnsafeRawBufferPointer(rebasing: $0[start...])) }
        if self.state === state { state.useInput(used) }
    }

    /// Goes through the phases as far as the bytes and the bounds reach; the number of bytes used.
    private func use(_ bytes: UnsafeRawBufferPointer) -> Int {
        var used = 0
        var requests = 0
        while used < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[used...])
            let before = phase
            let count: Int
            switch phase {
            case .idle, .head:
                guard requests < ConnectionBounds.roundsMax, (state?.out.count ?? 0) <= ConnectionBounds.pendingBytesMax else {
                    return used
                }
                requests += 1
                count = parseHead(rest)
            case .body: count = takeBody(rest)
            case .tunnel: count = takeTunnel(rest)
            case .discarding: count = discardBody(rest)
            case .replying: count = state?.willDiscard == true ? discard(rest) : 0
            case .flushing, .lingering: count = discard(rest)
            case .closed: return bytes.count
            }
            used += count
            if count == 0, phase == before { return used }
        }
        return used
    }

    func heldState() -> RequestState {
        if let state { return state }
        let made = share.takeState(limits.head)
        state = made
        return made
    }

    // MARK: The head

    private func parseHead(_ bytes: UnsafeRawBufferPointer) -> Int {
        let state = heldState()
        if state.startNanoseconds == 0 {
            state.startNanoseconds = worker.nanoseconds
            state.startUnixMicroseconds = worker.unixMicroseconds
        }
        switch state.parser.parse(bytes) {
        case .needsMore:
            if phase == .idle, !state.parser.isAtStart {
                phase = .head
                readDeadline = deadline(limits.settings.headTimeoutMilliseconds)
            }
            return 0
        case .head(let head, let consumed):
            start(head, state, waiting: bytes.count - consumed)
            return consumed
        case .refused(let refusal):
            refuse(reason(of: refusal), status: refusal.status, refusal.reason)
            return bytes.count
        }
    }

    private func reason(of refusal: RequestRefusal) -> FailureReason {
        switch refusal.status {
        case 413, 414, 431: .requestTooLarge
        case 408: .requestTimedOut
        default: .requestMalformed
        }
    }

    /// `waiting`: bytes that came with the head.
    private func start(_ head: RequestHead, _ state: RequestState, waiting: Int) {
        let startNanoseconds = state.startNanoseconds
        let startUnixMicroseconds = state.startUnixMicroseconds
        state.beginRequest()
        state.startNanoseconds = startNanoseconds
        state.startUnixMicroseconds = startUnixMicroseconds
        state.isHead = head.isMethod("HEAD")
        state.isConnect = head.isMethod("CONNECT")
        state.isVersion10 = head.minorVersion == 0
        // What a client sends behind a CONNECT is meant for the tunnel: without one it is no request.
        state.keepsAlive = head.keepsAlive && !state.isConnect
        state.framing = head.framing
        readDeadline = .max
        switch head.framing {
        case .none, .untilClose, .length(0):
            phase = .replying
        case .length(let length):
            phase = .body
            state.bodyRemaining = length
            state.awaitsContinue = head.expectsContinue && UInt64(waiting) < length
            let bytesMax = limits.settings.bodyBytesMax
            if bytesMax > 0, length > bytesMax { return refuse(.requestTooLarge, status: 413, "request body is too large") }
        case .chunked:
            phase = .body
            state.decoder = ChunkedDecoder()
            state.awaitsContinue = head.expectsContinue && waiting == 0
        }
        if phase == .body, !state.awaitsContinue { readDeadline = deadline(limits.settings.bodyTimeoutMilliseconds) }
        begin(.request(head), state)
    }

    // MARK: The exchange

    private func begin(_ arrival: RequestArrival, _ state: RequestState) {
        let isComplete = phase == .replying
        isExchangeOpen = true
        share.counters.busy.wrappingAdd(1, ordering: .relaxed)
        let made = share.acceptor.consumer(for: arrival, in: context(state))
        // It may have answered already.
        guard isExchangeOpen else { return }
        consumer = made
        made.begin()
        if isComplete, isExchangeOpen, case .request = arrival { made.receiveBodyEnd() }
    }

    /// What this connection lends to the exchange of the present request.
    private func context(_ state: RequestState) -> ConnectionContext {
        let nanoseconds = state.startNanoseconds == 0 ? worker.nanoseconds : state.startNanoseconds
        let unixMicroseconds = state.startUnixMicroseconds == 0 ? worker.unixMicroseconds : state.startUnixMicroseconds
        if let context {
            context.restart(nanoseconds: nanoseconds, unixMicroseconds: unixMicroseconds)
            return context
        }
        let made = ConnectionContext(
            sink: self, scheduler: self, client: Array(Socket.peerName(descriptor).utf8), localPort: Socket.localPort(descriptor),
            workerIndex: worker.index, isTLS: tls != nil, startNanoseconds: nanoseconds, startUnixMicroseconds: unixMicroseconds,
            identity: provenIdentity)
        context = made
        return made
    }

    /// Asked once for a connection: neither changes while it is open.
    private var provenIdentity: ClientIdentity? {
        if let subject = tls?.stream.peerSubject { return .certificate(subject: subject) }
        return Socket.peerUID(descriptor).map { .user(id: $0) }
    }

    /// Answers instead of an exchange and closes: where the next request begins is unknown or does not matter.
    func refuse(_ reason: FailureReason, status: UInt16, _ detail: StaticString) {
        let state = heldState()
        phase = .replying
        readDeadline = .max
        state.keepsAlive = false
        state.lingers = true
        state.willDiscard = true
        begin(.refused(reason, status: status, detail: detail), state)
    }

    /// The client left in the middle of a head: for the record only, nothing can be sent.
    func refuseVanished() {
        let state = heldState()
        share.acceptor.consumer(
            for: .refused(.clientGone, status: 499, detail: "client closed in the middle of a request head"), in: context(state)
        ).begin()
        close()
    }

    // MARK: The body

    private func takeBody(_ bytes: UnsafeRawBufferPointer) -> Int {
        guard let state, let consumer else { return 0 }
        guard !state.isBodyPaused else { return 0 }
        state.awaitsContinue = false
        readDeadline = deadline(limits.settings.bodyTimeoutMilliseconds)
        switch nextPiece(bytes, state) {
        case .needsMore(let consumed): return consumed
        case .data(let range, let consumed):
            state.bodyReceived += UInt64(range.count)
            let bytesMax = limits.settings.bodyBytesMax
            if bytesMax > 0, state.bodyReceived > bytesMax {
                refuseBody(.requestTooLarge, status: 413, "request body is too large")
                return consumed
            }
            let flow = consumer.receiveBody(UnsafeRawBufferPointer(rebasing: bytes[range]))
            if flow == .pause, isExchangeOpen, phase == .body { state.isBodyPaused = true }
            // A length ends with its last byte, paused or not: nothing more has to be read for it.
            if phase == .body, state.framing != .chunked, state.bodyRemaining == 0 { completeBody(state) }
            if phase == .body, state.isBodyPaused { readDeadline = .max }
            return consumed
        case .end(let consumed):
            completeBody(state)
            return consumed
        case .malformed(let detail):
            refuseBody(.requestMalformed, status: 400, detail)
            return bytes.count
        }
    }

    private func nextPiece(_ bytes: UnsafeRawBufferPointer, _ state: RequestState) -> ChunkedStep {
        if state.framing == .chunked { return state.decoder.decode(bytes) }
        let count = Int(min(state.bodyRemaining, UInt64(bytes.count)))
        state.bodyRemaining -= UInt64(count)
        return .data(0..<count, consumed: count)
    }

    private func completeBody(_ state: RequestState) {
        phase = .replying
        state.isBodyPaused = false
        readDeadline = .max
        consumer?.receiveBodyEnd()
    }

    /// The body can't be completed. What else comes is thrown away until the reply is out.
    func refuseBody(_ reason: FailureReason, status: UInt16, _ detail: StaticString) {
        guard let state else { return }
        phase = .replying
        readDeadline = .max
        state.keepsAlive = false
        state.isBodyPaused = false
        state.lingers = true
        state.willDiscard = true
        consumer?.bodyRefused(reason, status: status, detail: detail)
    }

    // MARK: Bytes nobody wants

    /// The rest of a body after an early reply.
    private func discardBody(_ bytes: UnsafeRawBufferPointer) -> Int {
        guard let state else { return bytes.count }
        switch nextPiece(bytes, state) {
        case .needsMore(let consumed): return consumed
        case .data(_, let consumed):
            if state.framing != .chunked, state.bodyRemaining == 0 { nextRequest(state) }
            return consumed
        case .end(let consumed):
            nextRequest(state)
            return consumed
        case .malformed:
            phase = .flushing
            return bytes.count
        }
    }

    private func discard(_ bytes: UnsafeRawBufferPointer) -> Int {
        state?.discarded += bytes.count
        if let state, state.discarded > ConnectionBounds.discardBytesMax {
            if phase == .lingering { close() } else if phase == .replying { canRead = false }
        }
        return bytes.count
    }

    /// Keeps what is on its way, forgets the rest.
    func nextRequest(_ state: RequestState) {
        state.beginRequest()
        becomeIdle()
    }
}
