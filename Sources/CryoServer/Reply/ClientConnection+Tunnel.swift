// A connection that has changed its protocol (RFC 9110 §7.8) or answered a CONNECT (§9.3.6): bytes pass both ways as they are, each way
// with its own end.
// Domain: worker

import CryoHTTP
import CryoIO
import CryoPipeline

extension ClientConnection {
    /// The head of the 101 or of the answer to CONNECT, after which the connection carries no HTTP any more. What the client has sent
    /// already belongs to the tunnel.
    func openTunnel(_ status: UInt16, _ fields: FieldSection, _ state: RequestState) {
        phase = .tunnel
        readDeadline = .max
        state.replyFraming = .untilClose
        state.willClose = true
        state.out.append(bytesMax: fields.wireBytesMax + HeadWriter.ownBytes) { head in
            head.appendStatusLine(status)
            let seen = appendEndToEnd(fields, keepsLength: false, to: &head)
            if !seen.hasDate { share.appendDate(to: &head) }
            if status == 101 { head.appendField("Connection", "Upgrade") }
            head.appendLineEnd()
        }
        worker.afterBatch(self)
    }

    func takeTunnel(_ bytes: UnsafeRawBufferPointer) -> Int {
        guard let state, let consumer, !state.isBodyPaused else { return 0 }
        let flow = consumer.receiveBody(bytes)
        if flow == .pause, isExchangeOpen { state.isBodyPaused = true }
        return bytes.count
    }

    /// The client sends nothing more, and still takes what comes.
    func endTunnelInput() {
        guard let state, state.inputCount == 0, !state.isEndTold else { return }
        state.isEndTold = true
        consumer?.receiveBodyEnd()
    }

    func endTunnelReply() {
        guard isExchangeOpen, phase == .tunnel, let state else { return }
        state.shutsAfterFlush = true
        worker.afterBatch(self)
    }

    /// Passes the upstream's end on, behind its last byte.
    func shutTunnelReply() {
        guard let state, state.shutsAfterFlush, state.out.isEmpty else { return }
        // Over TLS the end is said inside it first; while that waits for the socket, the next flush comes here again.
        if let tls, !endTLS(tls) { return }
        state.shutsAfterFlush = false
        Socket.shutdownWrite(descriptor)
    }
}
