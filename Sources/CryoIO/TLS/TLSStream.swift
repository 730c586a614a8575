// One TLS connection between ciphertext and plaintext: an SSL object with two memory BIOs. It knows no socket.
// Domain: worker

import COpenSSL

package enum TLSHandshake: Equatable {
    case done
    /// The peer's next bytes are needed.
    case wantsMore
    /// The peer speaks HTTP without TLS.
    case plainHTTP
    /// An alert for the peer may be pending.
    case failed
}

package enum TLSRead: Equatable {
    case bytes(Int)
    case wantsMore
    /// The peer has said that nothing more comes (close_notify).
    case end
    case failed
}

/// Confined to one worker. OpenSSL's queue of errors belongs to the thread, and libcurl uses it too: it is emptied before each call.
package final class TLSStream {
    /// Ciphertext taken from the socket at once: a record. More would stay in the BIO's memory.
    package static let ciphertextBytesMax = 16_384 + 512
    /// Plaintext encrypted in one go.
    package static let plaintextBytesMax = 65_536
    /// Memory that the BIOs of an idle connection may keep.
    static let idleBytesMax = 16_384

    private let ssl: OpaquePointer
    private var incoming: OpaquePointer
    private var outgoing: OpaquePointer
    private var incomingPeak = 0
    private var outgoingPeak = 0

    package private(set) var isHandshaking = true
    /// There may be plaintext that does not need another byte of the peer.
    package private(set) var mayHavePlaintext = false
    private var hasSaidEnd = false
    /// Tells TLS, which begins with 22, from a method of HTTP.
    private var firstByte: UInt8?

    /// nil when there is no memory.
    package init?(_ context: TLSContext) {
        guard let ssl = SSL_new(context.pointer) else { return nil }
        guard let incoming = BIO_new(BIO_s_mem()), let outgoing = BIO_new(BIO_s_mem()) else {
            SSL_free(ssl)
            return nil
        }
        self.ssl = ssl
        self.incoming = incoming
        self.outgoing = outgoing
        SSL_set_bio(ssl, incoming, outgoing)
        if context.isServer { SSL_set_accept_state(ssl) } else { SSL_set_connect_state(ssl) }
    }

    // Frees the BIOs too.
    deinit { SSL_free(ssl) }

    /// `TLSv1.3`
    package var version: String { String(cString: SSL_get_version(ssl)) }

    /// What ALPN agreed on; empty for nothing.
    package var applicationProtocol: [UInt8] {
        var name: UnsafePointer<UInt8>?
        var count: UInt32 = 0
        SSL_get0_alpn_selected(ssl, &name, &count)
        return name.map { Array(UnsafeBufferPointer(start: $0, count: Int(count))) } ?? []
    }

    /// The subject of the peer's verified certificate, as RFC 2253 writes it; nil without one.
    package var peerSubject: [UInt8]? {
        guard let certificate = SSL_get0_peer_certificate(ssl), SSL_get_verify_result(ssl) == Int(X509_V_OK) else { return nil }
        guard let output = BIO_new(BIO_s_mem()) else { return nil }
        defer { BIO_free(output) }
        guard X509_NAME_print_ex(output, X509_get_subject_name(certificate), 0, CRYO_NAME_RFC2253) >= 0 else { return nil }
        var start: UnsafeMutablePointer<CChar>?
        let count = cryo_bio_contents(output, &start)
        guard count > 0, let start else { return nil }
        return Array(UnsafeRawBufferPointer(start: start, count: count))
    }

    // MARK: From the peer

    private func isLetter(_ byte: UInt8) -> Bool { (0x41...0x5A).contains(byte) }

    /// Takes bytes of the socket. False when there is no memory.
    package func feed(_ ciphertext: UnsafeRawBufferPointer) -> Bool {
        guard !ciphertext.isEmpty else { return true }
        if firstByte == nil { firstByte = ciphertext[0] }
        mayHavePlaintext = true
        let isTaken = BIO_write(incoming, ciphertext.baseAddress, Int32(ciphertext.count)) == Int32(ciphertext.count)
        incomingPeak = max(incomingPeak, Int(cryo_bio_pending(incoming)))
        return isTaken
    }

    /// Goes on with the handshake. Whatever it says, ciphertext may be pending.
    package func handshake() -> TLSHandshake {
        guard isHandshaking else { return .done }
        if let firstByte, isLetter(firstByte) { return .plainHTTP }
        ERR_clear_error()
        let result = SSL_do_handshake(ssl)
        notePending()
        if result == 1 {
            isHandshaking = false
            return .done
        }
        if SSL_get_error(ssl, result) == SSL_ERROR_WANT_READ {
            mayHavePlaintext = false
            return .wantsMore
        }
        ERR_clear_error()
        return .failed
    }

    /// Fills `buffer` as far as what was fed reaches.
    package func read(into buffer: UnsafeMutableRawBufferPointer) -> TLSRead {
        var filled = 0
        while filled < buffer.count {
            ERR_clear_error()
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
            let count = SSL_read(ssl, rest.baseAddress, Int32(clamping: rest.count))
            if count > 0 {
                filled += Int(count)
                continue
            }
            let error = SSL_get_error(ssl, count)
            notePending()
            if error == SSL_ERROR_WANT_READ {
                mayHavePlaintext = false
                return filled > 0 ? .bytes(filled) : .wantsMore
            }
            // The end, or the failure, is told by the next call again.
            if filled > 0 { return .bytes(filled) }
            ERR_clear_error()
            mayHavePlaintext = false
            return error == SSL_ERROR_ZERO_RETURN ? .end : .failed
        }
        notePending()
        return .bytes(filled)
    }

    // MARK: To the peer

    /// Encrypts the first bytes of `plaintext`; their number, at most `plaintextBytesMax`, or nil when the connection is broken.
    package func encrypt(_ plaintext: UnsafeRawBufferPointer) -> Int? {
        let bytes = UnsafeRawBufferPointer(rebasing: plaintext.prefix(Self.plaintextBytesMax))
        var taken = 0
        while taken < bytes.count {
            ERR_clear_error()
            let rest = UnsafeRawBufferPointer(rebasing: bytes[taken...])
            let count = SSL_write(ssl, rest.baseAddress, Int32(rest.count))
            if count <= 0 {
                ERR_clear_error()
                return nil
            }
            taken += Int(count)
        }
        notePending()
        return taken
    }

    /// Says that nothing more comes (close_notify); once.
    package func end() {
        guard !hasSaidEnd, !isHandshaking else { return }
        hasSaidEnd = true
        ERR_clear_error()
        _ = SSL_shutdown(ssl)
        ERR_clear_error()
        notePending()
    }

    package var pendingCount: Int { Int(cryo_bio_pending(outgoing)) }

    /// Lends the ciphertext that waits for the socket; `body` says how much of it has gone.
    package func sendPending(_ body: (UnsafeRawBufferPointer) -> Int) {
        var bytes: UnsafeMutablePointer<CChar>?
        let count = Int(cryo_bio_contents(outgoing, &bytes))
        guard count > 0, let bytes else { return }
        var sent = body(UnsafeRawBufferPointer(start: bytes, count: count))
        // A memory BIO forgets only what is read from it.
        withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { bin in
            while sent > 0 {
                let count = BIO_read(outgoing, bin.baseAddress, Int32(min(sent, bin.count)))
                if count <= 0 { return }
                sent -= Int(count)
            }
        }
    }

    // MARK: Memory

    private func notePending() { outgoingPeak = max(outgoingPeak, pendingCount) }

    /// Gives back what a large transfer has made the BIOs grow to. For idle connections.
    package func trim() {
        if incomingPeak > Self.idleBytesMax, cryo_bio_pending(incoming) == 0, let fresh = BIO_new(BIO_s_mem()) {
            incoming = fresh
            incomingPeak = 0
            SSL_set0_rbio(ssl, fresh)
        }
        if outgoingPeak > Self.idleBytesMax, cryo_bio_pending(outgoing) == 0, let fresh = BIO_new(BIO_s_mem()) {
            outgoing = fresh
            outgoingPeak = 0
            SSL_set0_wbio(ssl, fresh)
        }
    }
}
