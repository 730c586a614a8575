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
        set { if newValue != nil { makeUncommon().trace = newValue } else { uncommon?.trace = nil } }
    }

    /// The route's, while this exchange counts in it.
    var occupiedLoad: RouteLoad? {
        get { uncommon?.occupiedLoad }
        set { if newValue != nil { makeUncommon().occupiedLoad = newValue } else { uncommon?.occupiedLoad = nil } }
    }

    /// The upstream's, while this exchange counts in it.
    var retryBudget: RetryBudget? {
        get { uncommon?.retryBudget }
        set { if newValue != nil { makeUncommon().retryBudget = newValue } else { uncommon?.retryBudget = nil } }
    }

    var digestStream: DigestStream? {
        get { uncommon?.digestStream }
        set { if newValue != nil { makeUncommon().digestStream = newValue } else { uncommon?.digestStream = nil } }
    }

    var bodyDigest: [UInt8]? {
        get { uncommon?.bodyDigest }
        set { if newValue != nil { makeUncommon().bodyDigest = newValue } else { uncommon?.bodyDigest = nil } }
    }

    var business: BusinessFailure? {
        get { uncommon?.business }
        set { if newValue != nil { makeUncommon().business = newValue } else { uncommon?.business = nil } }
    }

    var failure: Failure? {
        get { uncommon?.failure }
        set { if newValue != nil { makeUncommon().failure = newValue } else { uncommon?.failure = nil } }
    }

    /// Set while a stream is held back for its first event.
    var firstEvent: FirstEventFinder? {
        get { uncommon?.firstEvent }
        set { if newValue != nil { makeUncommon().firstEvent = newValue } else { uncommon?.firstEvent = nil } }
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

    private func makeUncommon() -> UncommonState {
        if let uncommon { return uncommon }
        let made = UncommonState()
        uncommon = made
        return made
    }
}
