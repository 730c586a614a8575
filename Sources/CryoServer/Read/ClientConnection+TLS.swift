// TLS between the socket and the rest of a connection, which sees plaintext only.
// Domain: worker

import CryoIO
import CryoPipeline
import CryoSync

/// What a TLS connection has beside a plain one.
final class ClientTLS {
    let stream: TLSStream
    /// Plaintext bytes, the first of those that wait, that are encrypted already: they count as sent when their ciphertext is.
    var encrypted = 0
    /// One of too many connections: told so after the handshake.
    var isOverCapacity = false
    /// The end was or shall be without close_notify: by the client, whose bytes may be cut then, or by us for a cut reply.
    var isCut = false

    init(_ stream: TLSStream) { self.stream = stream }
}

extension ClientConnection {
    // MARK: Reading

    /// Reads and decrypts once; false when there is nothing to do.
    func readMore(_ tls: ClientTLS) -> Bool {
        let stream = tls.stream
        while true {
            if stream.mayHavePlaintext || stream.isHandshaking {
                switch stream.isHandshaking ? shakeHands(tls) : decrypt(tls) {
                case .moved: return true
                case .stopped: return false
                case .wantsMore: break
                }
            }
            // Alerts and tickets for a client that does not take them: its turn.
            guard canRead, stream.pendingCount <= ConnectionBounds.pendingBytesMax else { return false }
            let buffer = UnsafeMutableRawBufferPointer(rebasing: worker.scratch[..<TLSStream.ciphertextBytesMax])
            switch Socket.read(descriptor, into: buffer) {
            case .bytes(let count):
                if count < buffer.count, !hasPeerClosed { canRead = false }
                guard stream.feed(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[..<count])) else {
                    clientGone()
                    return false
                }
            case .wouldBlock:
                canRead = false
                return false
            case .end:
                // Without close_notify anybody on the way may have cut the connection (RFC 8446 §6.1).
                tls.isCut = true
                canRead = false
                hasSeenEnd = true
                return false
            case .failed:
                broken()
                return false
            }
        }
    }

    private enum TLSStep {
        case moved, stopped, wantsMore
    }

    private func decrypt(_ tls: ClientTLS) -> TLSStep {
        let buffer = share.readBuffer
        let result = tls.stream.read(into: buffer)
        flush(tls)
        switch result {
        case .bytes(let count):
            take(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[..<count]))
            return .moved
        case .wantsMore: return .wantsMore
        case .end:
            canRead = false
            hasSeenEnd = true
            return .stopped
        case .failed:
            tls.isCut = true
            broken()
            return .stopped
        }
    }

    private func broken() {
        if phase == .head { refuseVanished() } else { clientGone() }
    }

    // MARK: Handshake

    private func shakeHands(_ tls: ClientTLS) -> TLSStep {
        let result = tls.stream.handshake()
        if result != .plainHTTP { flush(tls) }
        switch result {
        case .wantsMore: return .wantsMore
        case .done:
            begin(isOverCapacity: tls.isOverCapacity)
            return .moved
        case .plainHTTP:
            countFailedHandshake()
            self.tls = nil
            refuse(.requestMalformed, status: 400, "this port speaks https")
            return .moved
        case .failed:
            // The alert that says why has to arrive; what the client still sends goes unread.
            countFailedHandshake()
            self.tls = nil
            heldState().lingers = true
            phase = .flushing
            return .stopped
        }
    }

    func countFailedHandshake() { share.counters.failedHandshakes.wrappingAdd(1, ordering: .relaxed) }

    // MARK: Writing

    /// Sends the ciphertext that waits, as far as the socket takes it.
    func flush(_ tls: ClientTLS) {
        while canWrite, tls.stream.pendingCount > 0 {
            tls.stream.sendPending { bytes in
                switch Socket.write(descriptor, bytes) {
                case .bytes(let count):
                    if writeDeadline != .max { writeDeadline = deadline(limits.settings.writeTimeoutMilliseconds) }
                    return count
                case .wouldBlock: canWrite = false
                case .failed:
                    canWrite = false
                    isBroken = true
                }
                return 0
            }
        }
    }

    /// Encrypts and sends the first of these bytes. They count as written when their ciphertext has gone, so that whoever calls
    /// keeps them and calls again with the same bytes in front: nothing else has to know that ciphertext waits.
    func send(_ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer?, _ tls: ClientTLS) -> SocketWrite {
        if tls.encrypted == 0 {
            guard let count = tls.stream.encrypt(first) else { return .failed(0) }
            tls.encrypted = count
            if let second, count == first.count {
                guard let more = tls.stream.encrypt(second) else { return .failed(0) }
                tls.encrypted += more
            }
        }
        flush(tls)
        if isBroken { return .failed(0) }
        guard tls.stream.pendingCount == 0 else { return .wouldBlock }
        defer { tls.encrypted = 0 }
        return .bytes(tls.encrypted)
    }

    /// Says that nothing more comes, which tells a whole reply from a cut one. False while that waits for the socket.
    @discardableResult
    func endTLS(_ tls: ClientTLS) -> Bool {
        guard !tls.isCut, !isBroken, !resetsOnClose, state?.out.isEmpty ?? true else { return true }
        tls.stream.end()
        flush(tls)
        guard tls.stream.pendingCount > 0, !isBroken else { return true }
        if writeDeadline == .max { writeDeadline = deadline(limits.settings.writeTimeoutMilliseconds) }
        return false
    }
}
