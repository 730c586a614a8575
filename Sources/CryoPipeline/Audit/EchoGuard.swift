// Stops an answer that carries a live secret of the gateway before the secret has left (`secrets.echo: block`).
// Domain: worker

import CryoHTTP

/// The head is kept back until there are bytes to send with it, and a short answer of known length until it is whole: then nothing has gone
/// out when a secret turns up, and a failure can be sent instead. Of what is longer, only an end that may be the beginning of a secret waits
/// for what follows; an event that ends otherwise is not delayed. A stream's head goes out at once. Behind a content coding it is the content
/// that counts, and a piece waits as a whole where the content known so far ends like that.
final class EchoGuard: SecretWatch {
    /// An answer of known length up to this is sent when it is whole.
    static let wholeBytesMax: UInt64 = 65_536

    private let base: any ReplySink
    private let redactor: Redactor
    private let makeReader: ContentReaderMaker
    private var coded: CodedContent?
    private var isPassing = false
    private var head: (status: UInt16, fields: FieldSection, framing: BodyFraming)?
    private var isWholeKept = false
    private var hasBegun = false
    /// Not sent yet: a short answer, or what may be the beginning of a secret.
    private var kept: [UInt8] = []
    private var bytesSent: UInt64 = 0
    private(set) var hasFound = false
    private(set) var isBlocked = false

    init(_ base: any ReplySink, _ redactor: Redactor, _ makeReader: @escaping ContentReaderMaker) {
        self.base = base
        self.redactor = redactor
        self.makeReader = makeReader
    }

    func letPass() { isPassing = true }

    func sendContinue() { base.sendContinue() }
    func abort() { base.abort() }
    func endTunnelReply() { base.endTunnelReply() }
    func resumeRequestBody() { base.resumeRequestBody() }

    func sendHead(status: UInt16, fields: FieldSection, framing: BodyFraming) {
        guard !isPassing else { return base.sendHead(status: status, fields: fields, framing: framing) }
        for index in fields.lines.indices where !isBlocked && !fields.lines[index].isRemoved {
            if fields.withValue(at: index, { redactor.holdsSecret($0) }) { block() }
        }
        guard !isBlocked else { return }
        head = (status, fields, framing)
        coded = CodedContent(fields, redactor, makeReader)
        if MediaType.of(fields).isStream {
            sendKeptHead()
        } else if case .length(let length) = framing {
            isWholeKept = length <= Self.wholeBytesMax
        }
    }

    func sendBody(_ bytes: UnsafeRawBufferPointer) -> Flow {
        if isPassing { return base.sendBody(bytes) }
        if isBlocked { return .more }
        if let coded {
            let isReadable = coded.look(bytes)
            if coded.hasFound {
                block()
                return .more
            }
            if !isReadable { self.coded = nil }
        }
        if kept.isEmpty, !isWholeKept { return pass(bytes) }
        kept.append(contentsOf: bytes)
        if isWholeKept, UInt64(kept.count) <= Self.wholeBytesMax { return .more }
        isWholeKept = false
        let all = kept
        kept = []
        return all.withUnsafeBytes { pass($0) }
    }

    private func pass(_ bytes: UnsafeRawBufferPointer) -> Flow {
        if let coded {
            guard coded.mayGoOn, bytes.count <= Self.wholeBytesMax else { return send(bytes) }
            kept.append(contentsOf: bytes)
            return .more
        }
        if redactor.holdsSecret(bytes) {
            block()
            return .more
        }
        let border = bytes.count - redactor.beginningOfSecret(in: bytes)
        kept.append(contentsOf: bytes[border...])
        return border > 0 ? send(UnsafeRawBufferPointer(rebasing: bytes[..<border])) : .more
    }

    private func send(_ bytes: UnsafeRawBufferPointer) -> Flow {
        sendKeptHead()
        bytesSent += UInt64(bytes.count)
        return base.sendBody(bytes)
    }

    private func sendKeptHead() {
        guard let head else { return }
        self.head = nil
        hasBegun = true
        base.sendHead(status: head.status, fields: head.fields, framing: head.framing)
    }

    private func block() {
        hasFound = true
        isBlocked = true
        head = nil
        kept = []
    }

    func release() -> Bool {
        if isWholeKept, coded == nil, kept.withUnsafeBytes({ redactor.holdsSecret($0) }) { block() }
        guard !isBlocked else { return false }
        isWholeKept = false
        sendKeptHead()
        if !kept.isEmpty { _ = kept.withUnsafeBytes { send($0) } }
        kept = []
        return true
    }

    func finish() { base.finish() }

    /// Takes note that the answer is over. The next one is the gateway's own, without a secret that the client has not sent itself.
    func takeBlocked() -> BlockedAnswer {
        isPassing = true
        isBlocked = false
        return hasBegun ? .begun(bytes: bytesSent) : .replaceable
    }
}
