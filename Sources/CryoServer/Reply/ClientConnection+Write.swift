// Moves pending reply bytes into the socket, and tells the exchange when there is room again.
// Domain: worker

import CryoHTTP
import CryoIO
import CryoPipeline

extension ClientConnection {
    /// Sends what is pending, then lets a paused exchange go on. Never called inside a call of the exchange. The state is moved out of here
    /// while it is written from, so that no reference is counted.
    func pushOut() {
        if let tls, canWrite { flush(tls) }
        guard let state = state.take() else { return }
        if canWrite, !state.out.isEmpty { writePending(state) }
        let resumes = !isBroken && state.isReplyPaused && isExchangeOpen && state.out.count < ConnectionBounds.pendingBytesResume
        if resumes { state.isReplyPaused = false }
        self.state = state
        if resumes { consumer?.replyDrained() }
    }

    func writePending(_ state: RequestState) {
        while canWrite, !state.out.isEmpty {
            wrote(state.out.withPending { send($0) }) { state.out.consume($0) }
        }
        moveWriteDeadline(state)
    }

    /// Writes what is pending and `piece` from where it lies; only what the socket does not take is copied.
    func writeThrough(_ piece: UnsafeRawBufferPointer, _ state: RequestState) {
        var rest = piece
        while canWrite, !rest.isEmpty {
            let result = state.out.isEmpty ? send(rest) : state.out.withPending { send($0, rest) }
            wrote(result) { count in
                let pending = min(count, state.out.count)
                if pending > 0 { state.out.consume(pending) }
                rest = UnsafeRawBufferPointer(rebasing: rest[(count - pending)...])
            }
        }
        if !isBroken { state.out.append(rest) }
        moveWriteDeadline(state)
    }

    private func send(_ bytes: UnsafeRawBufferPointer) -> SocketWrite {
        tls.map { send(bytes, nil, $0) } ?? Socket.write(descriptor, bytes)
    }

    private func send(_ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer) -> SocketWrite {
        tls.map { send(first, second, $0) } ?? Socket.write(descriptor, first, second)
    }

    private func wrote(_ result: SocketWrite, _ advance: (Int) -> Void) {
        switch result {
        case .bytes(let count):
            advance(count)
            writeDeadline = .max
        case .wouldBlock: canWrite = false
        case .failed:
            canWrite = false
            isBroken = true
        }
    }

    /// Counts from the last byte the client took.
    private func moveWriteDeadline(_ state: RequestState) {
        if isBroken || state.out.isEmpty {
            writeDeadline = .max
        } else if writeDeadline == .max {
            writeDeadline = deadline(limits.settings.writeTimeoutMilliseconds)
            arm()
        }
    }
}
