// Step inject: signs each attempt afresh (RFC 9421), over what it really sends, token and body digest included.
// Domain: worker

import CryoHTTP

extension Exchange {
    private var signer: RequestSigner? { match?.route.upstream.signer }

    /// The body must be known before the head goes out.
    var signsBody: Bool { body != nil && !isHead && !isTunnel && signer?.settings.coversBody ?? false }

    /// What the client says about a signature and a digest is not true of what we send.
    func removeClientSignature(_ fields: inout FieldSection) {
        guard let signer else { return }
        fields.remove("signature")
        fields.remove("signature-input")
        if signer.settings.coversBody { fields.remove("content-digest") }
    }

    /// True: the attempt begins later, when the whole body is here; or never, because it is too large to be kept.
    func waitsForSignedBody() -> Bool {
        guard signsBody, let body, let head else { return false }
        if case .length(let length) = head.framing, length > UInt64(ReplayBuffer.fileBytesMax) { return refuseSigning() }
        guard body.isReplayable else { return refuseSigning() }
        if body.isComplete { return false }
        isAwaitingSignedBody = true
        if head.expectsContinue { sink.sendContinue() }
        // The client was paused while something else was waited for.
        if isBodyPaused {
            isBodyPaused = false
            sink.resumeRequestBody()
        }
        return true
    }

    private func refuseSigning() -> Bool {
        isAwaitingSignedBody = false
        underlyingDetail = "the request body is too large to be signed"
        perform(machine.handle(.attemptRefused(.bodyNotSignable)))
        return true
    }

    func digest(_ bytes: UnsafeRawBufferPointer) {
        guard signsBody else { return }
        if digestStream == nil { digestStream = signer?.beginDigest() }
        digestStream?.update(bytes)
    }

    /// After bytes were kept: whether they go on being kept.
    func checkSignedBody() {
        if isAwaitingSignedBody, body?.isReplayable == false { _ = refuseSigning() }
    }

    func endSignedBody() {
        if signsBody {
            if digestStream == nil { digestStream = signer?.beginDigest() }
            bodyDigest = digestStream?.finish()
            digestStream = nil
        }
        guard isAwaitingSignedBody else { return }
        isAwaitingSignedBody = false
        startAttempt()
    }

    /// Adds the signature to the fields of this attempt; false: it could not be made, and nothing goes out.
    func sign(_ request: inout AttemptRequest, on route: RoutePlan) -> Bool {
        guard let signer = route.upstream.signer else { return true }
        if signsBody {
            guard let bodyDigest else { return failSigning() }
            request.fields.append("Content-Digest", Array("sha-256=:".utf8) + bodyDigest.withUnsafeBytes { Base64.encode($0) } + [0x3A])
        }
        let signature = MessageSignature(
            method: request.method, isTLS: route.upstream.settings.url.isTLS, authority: route.upstream.authority, target: request.target,
            fields: request.fields, settings: signer.settings, created: context.scheduler.unixMicroseconds / 1_000_000,
            nonce: signer.settings.hasNonce ? makeNonce() : nil)
        let (base, parameters) = signature.base()
        guard let code = signer.authenticate(base) else { return failSigning() }
        let label = Array(signer.settings.label.utf8)
        request.fields.append("Signature-Input", label + [0x3D] + parameters)
        request.fields.append("Signature", label + [0x3D, 0x3A] + code.withUnsafeBytes { Base64.encode($0) } + [0x3A])
        return true
    }

    private func makeNonce() -> [UInt8] {
        let random = [context.scheduler.random(), context.scheduler.random()]
        return random.withUnsafeBytes { Base64.encode($0) }
    }

    private func failSigning() -> Bool {
        underlyingDetail = "the request could not be signed"
        perform(machine.handle(.attemptRefused(.internalError)))
        return false
    }
}
