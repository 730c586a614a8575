// Looks for the gateway's live secrets in what goes to a client (`secrets.echo: report`).
// Domain: worker

import CryoHTTP

/// An answer that carries a token back lets every page and program that may call the gateway keep it. The bytes pass unchanged; a secret
/// that lies across two pieces is found too.
final class EchoWatch: SecretWatch {
    private let base: any ReplySink
    private let redactor: Redactor
    private let makeReader: ContentReaderMaker
    private var isTunnel = false
    private var isFoundInHead = false
    private var search: SecretSearch
    private var coded: CodedContent?

    init(_ base: any ReplySink, _ redactor: Redactor, _ makeReader: @escaping ContentReaderMaker) {
        self.base = base
        self.redactor = redactor
        self.makeReader = makeReader
        search = SecretSearch(redactor)
    }

    var hasFound: Bool { isFoundInHead || search.hasFound || coded?.hasFound ?? false }

    var isBlocked: Bool { false }
    func letPass() { isTunnel = true }
    func release() -> Bool { true }

    func sendContinue() { base.sendContinue() }
    func finish() { base.finish() }
    func abort() { base.abort() }
    func endTunnelReply() { base.endTunnelReply() }
    func resumeRequestBody() { base.resumeRequestBody() }

    func sendHead(status: UInt16, fields: FieldSection, framing: BodyFraming) {
        for index in fields.lines.indices where !isFoundInHead && !fields.lines[index].isRemoved {
            fields.withValue(at: index) { isFoundInHead = redactor.holdsSecret($0) }
        }
        coded = CodedContent(fields, redactor, makeReader)
        base.sendHead(status: status, fields: fields, framing: framing)
    }

    func sendBody(_ bytes: UnsafeRawBufferPointer) -> Flow {
        if !hasFound, !isTunnel { look(bytes) }
        return base.sendBody(bytes)
    }

    private func look(_ bytes: UnsafeRawBufferPointer) {
        if let coded {
            if coded.look(bytes) || coded.hasFound { return }
            self.coded = nil
        }
        search.look(bytes)
    }
}
