// Failures that leave the upstream's answer as it is (`failure.mode: annotate`): its status, its body, and headers that say what we
// think of it.
// Domain: worker

import CryoHTTP

extension Exchange {
    /// Whether the policy of the route only marks what the upstream answered.
    var annotatesFailures: Bool { match?.route.policy?.settings.failureMode == .annotate }

    /// The whole answer is here, so that it can be sent in the place of the failure JSON. Where only its beginning is held, as of a
    /// body over the window, the failure JSON is all that can be said.
    func canAnnotate(_ reason: FailureReason) -> Bool {
        guard annotatesFailures, response != nil, !isHeldPaused, !held.isTruncated else { return false }
        switch reason {
        case .businessRejected, .responseNotJSON, .responseTooLarge: return true
        default: return false
        }
    }

    func replyAnnotated(_ failure: Failure) {
        guard let response else { return }
        cancelAttempt()
        tellHooksOfUnsentFailure()
        var fields = endToEndFields(of: response)
        annotate(&fields, failure)
        sendHead(response.status, &fields, .length(UInt64(held.bytes.count)))
        bytesSent += UInt64(held.bytes.count)
        _ = held.bytes.withUnsafeBytes { sink.sendBody($0) }
        finishReply()
    }

    /// `CryoNet-Business-Code` is left out where it would not be a plain token: everybody can still read it in the body.
    func annotate(_ fields: inout FieldSection, _ failure: Failure) {
        mark(&fields, kind: failure.kind, failure.reason)
        fields.append("Proxy-Status", proxyStatus(failure.reason))
        guard let code = business?.codeText, code.count <= Self.codeBytesMax, code.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { return }
        fields.append("CryoNet-Business-Code", code)
    }

    static let codeBytesMax = 64
}
