// Looks for the gateway's live secrets in what goes to a client (`secrets.echo: report`).
// Domain: worker

import CryoHTTP

/// An answer that carries a token back lets every page and program that may call the gateway keep it. The bytes pass unchanged; a secret
/// that lies across two pieces is found too.
final class EchoWatch: SecretWatch {
    private let base: any ReplySink
    private let redactor: Redactor
    private var isTunnel = false
    /// The end of what has passed, as long as a secret may be cut there.
    private var tail: [UInt8] = []
    private(set) var hasFound = false

    init(_ base: any ReplySink, _ redactor: Redactor) {
        self.base = base
        self.redactor = redactor
    }

    var isBlocked: Bool { false }
    func letPass() { isTunnel = true }
    func release() -> Bool { true }

    func sendContinue() { base.sendContinue() }
    func finish() { base.finish() }
    func abort() { base.abort() }
    func endTunnelReply() { base.endTunnelReply() }
    func resumeRequestBody() { base.resumeRequestBody() }

    func sendHead(status: UInt16, fields: FieldSection, framing: BodyFraming) {
        for index in fields.lines.indices where !hasFound && !fields.lines[index].isRemoved {
            fields.withValue(at: index) { hasFound = redactor.holdsSecret($0) }
        }
        base.sendHead(status: status, fields: fields, framing: framing)
    }

    func sendBody(_ bytes: UnsafeRawBufferPointer) -> Flow {
        if !hasFound, !isTunnel { look(bytes) }
        return base.sendBody(bytes)
    }

    private func look(_ bytes: UnsafeRawBufferPointer) {
        let overlap = redactor.overlap
        hasFound = redactor.holdsSecret(bytes)
        guard !hasFound, overlap > 0 else { return }
        if !tail.isEmpty {
            tail.append(contentsOf: bytes.prefix(overlap))
            hasFound = tail.withUnsafeBytes { redactor.holdsSecret($0) }
        }
        if bytes.count >= overlap {
            tail = Array(bytes.suffix(overlap))
        } else {
            if tail.isEmpty { tail.append(contentsOf: bytes) }
            tail.removeFirst(max(0, tail.count - overlap))
        }
    }
}
