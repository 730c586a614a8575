// A reply that is not complete before its audit record is written (`audit.on_full: refuse`).
// Domain: worker

import CryoHTTP

/// Stands between an exchange and its connection. A reply of known length is withheld whole when it comes in one piece, else its last
/// piece; of a reply of unknown length only the end is, so that events reach the client as they come. Tunnels pass: they have no end that
/// could be withheld.
final class WithheldReply: ReplySink {
    private enum Step {
        /// No head yet.
        case waiting
        /// The head is kept back, with what came of the body.
        case withheld
        /// Pieces pass; the last one, or the end alone, is kept back.
        case passing
        case over
    }

    private let base: any ReplySink
    private var step = Step.waiting
    private var head: (status: UInt16, fields: FieldSection, framing: BodyFraming)?
    private var piece: [UInt8] = []
    /// Of a reply of known length.
    private var remaining: UInt64?
    private var isPassing = false

    init(_ base: any ReplySink) { self.base = base }

    /// Nothing of the reply has gone out: it can still be another one.
    var isHeadWithheld: Bool { step == .withheld || step == .waiting }

    /// From here on nothing is kept back: both sides of a tunnel wait for each other's bytes.
    func letPass() { isPassing = true }

    func sendContinue() { base.sendContinue() }
    func endTunnelReply() { base.endTunnelReply() }
    func resumeRequestBody() { base.resumeRequestBody() }

    func sendHead(status: UInt16, fields: FieldSection, framing: BodyFraming) {
        switch framing {
        case .none, .length:
            head = (status, fields, framing)
            if case .length(let length) = framing { remaining = length }
            step = .withheld
            if isPassing { release() }
        case .chunked, .untilClose:
            step = .passing
            base.sendHead(status: status, fields: fields, framing: framing)
        }
    }

    func sendBody(_ bytes: UnsafeRawBufferPointer) -> Flow {
        guard !isPassing, let left = remaining else {
            release()
            return base.sendBody(bytes)
        }
        remaining = left > UInt64(bytes.count) ? left - UInt64(bytes.count) : 0
        if remaining == 0 {
            piece.append(contentsOf: bytes)
            return .more
        }
        release()
        return base.sendBody(bytes)
    }

    /// Sends what was kept back and ends the reply.
    func finish() {
        release()
        step = .over
        base.finish()
    }

    func abort() {
        step = .over
        base.abort()
    }

    /// Another reply in the place of the one that was kept back.
    func replace(status: UInt16, fields: FieldSection, body: [UInt8]) {
        base.sendHead(status: status, fields: fields, framing: .length(UInt64(body.count)))
        _ = body.withUnsafeBytes { base.sendBody($0) }
        step = .over
        base.finish()
    }

    private func release() {
        if let head {
            self.head = nil
            step = .passing
            base.sendHead(status: head.status, fields: head.fields, framing: head.framing)
        }
        guard !piece.isEmpty else { return }
        _ = piece.withUnsafeBytes { base.sendBody($0) }
        piece = []
    }
}
