// What most exchanges never have: failures, traces, digests, limits.
// Domain: worker

/// Made with the first part that there is.
final class UncommonState {
    var trace: ExchangeTrace?
    var occupiedLoad: RouteLoad?
    var retryBudget: RetryBudget?
    var digestStream: DigestStream?
    var bodyDigest: [UInt8]?
    var business: BusinessFailure?
    var failure: Failure?
    var firstEvent: FirstEventFinder?
    var auditedRequestBody = AuditedBody()
    var auditedResponseBody = AuditedBody()
}

extension Exchange {
    /// nil where the request belongs to no trace.
    var trace: ExchangeTrace? {
        get { uncommon?.trace }
        set { uncommon(toHold: newValue)?.trace = newValue }
    }

    /// The route's, while this exchange counts in it.
    var occupiedLoad: RouteLoad? {
        get { uncommon?.occupiedLoad }
        set { uncommon(toHold: newValue)?.occupiedLoad = newValue }
    }

    /// The upstream's, while this exchange counts in it.
    var retryBudget: RetryBudget? {
        get { uncommon?.retryBudget }
        set { uncommon(toHold: newValue)?.retryBudget = newValue }
    }

    var digestStream: DigestStream? {
        get { uncommon?.digestStream }
        set { uncommon(toHold: newValue)?.digestStream = newValue }
    }

    var bodyDigest: [UInt8]? {
        get { uncommon?.bodyDigest }
        set { uncommon(toHold: newValue)?.bodyDigest = newValue }
    }

    var business: BusinessFailure? {
        get { uncommon?.business }
        set { uncommon(toHold: newValue)?.business = newValue }
    }

    var failure: Failure? {
        get { uncommon?.failure }
        set { uncommon(toHold: newValue)?.failure = newValue }
    }

    /// Set while a stream is held back for its first event.
    var firstEvent: FirstEventFinder? {
        get { uncommon?.firstEvent }
        set { uncommon(toHold: newValue)?.firstEvent = newValue }
        _modify { yield &makeUncommon().firstEvent }
    }

    /// The beginnings of the bodies, as far as the audit wants them.
    var auditedRequestBody: AuditedBody {
        get { uncommon?.auditedRequestBody ?? AuditedBody() }
        _modify { yield &makeUncommon().auditedRequestBody }
    }

    var auditedResponseBody: AuditedBody {
        get { uncommon?.auditedResponseBody ?? AuditedBody() }
        _modify { yield &makeUncommon().auditedResponseBody }
    }

    /// Nothing needs no place: nil where there is none yet.
    private func uncommon(toHold part: (some Any)?) -> UncommonState? { part == nil ? uncommon : makeUncommon() }

    private func makeUncommon() -> UncommonState {
        if let uncommon { return uncommon }
        let made = UncommonState()
        uncommon = made
        return made
    }
}
