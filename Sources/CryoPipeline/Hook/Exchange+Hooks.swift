// Tells the hooks of an exchange's token and policy that it failed, before its reply goes out.
// Domain: worker

import CryoHTTP

extension Exchange {
    /// `body`: the failure JSON the client gets, scrubbed of live secrets.
    func tellHooks(_ failure: Failure, body: [UInt8]) {
        guard let hooks = hooksThatCare(failure) else { return }
        hooks.failed(
            token: hookToken, policy: hookPolicy, isAuthentication: failure.kind == .authenticationExpired,
            body: body.withUnsafeBytes { plan.redactor.redactBody($0) })
    }

    /// Where the client gets something else, the upstream's answer or only a message: the failure JSON is made for the hooks alone.
    func tellHooksOfUnsentFailure() {
        guard let failure, hooksThatCare(failure) != nil else { return }
        var shown = showsUpstreamBody(failure.reason) ? readableBody() : nil
        if let bytes = shown?.bytes, shown?.isTruncated == true || isAttemptOpen || bytes.count > FailureBody.responseDataBytesMax {
            var kept = Array(bytes.prefix(FailureBody.responseDataBytesMax))
            plan.redactor.scrubCut(&kept)
            shown?.bytes = kept
            shown?.isTruncated = true
        }
        let facts = FailureBody.Facts(exchangeID: id, requestID: requestID, route: route?.name, attempts: machine.attempts)
        var body = FailureBody.render(failure, facts: facts, held: shown, scanner: environment.scanner)
        plan.redactor.scrub(&body)
        tellHooks(failure, body: body)
    }

    private var hookToken: String? { route?.credentials?.settings.name }
    private var hookPolicy: String? { route?.policy?.settings.name }

    private func hooksThatCare(_ failure: Failure) -> (any HookSink)? {
        // A hook that calls a route of this gateway must not be the cause of the next hook.
        guard let hooks = plan.hooks, head?.fields.contains("cryonet-event") != true,
            hooks.wantsFailure(token: hookToken, policy: hookPolicy, isAuthentication: failure.kind == .authenticationExpired)
        else { return nil }
        return hooks
    }
}
