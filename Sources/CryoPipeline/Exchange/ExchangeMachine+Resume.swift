// Taking a broken event stream up again (`streams.on_loss: reconnect`): the only attempts that follow a byte of the reply.
// Domain: pure

/// What the exchange knows when the upstream of a stream is lost.
package enum StreamStanding: Sendable, Equatable {
    /// Not to be taken up: not asked for, or the client has a part of an event, or an event that a new attempt would repeat.
    case final
    /// `hasAdvanced`: the client got an event since the last loss.
    case resumable(hasAdvanced: Bool)
}

/// What the answer to an attempt that should go on with a stream turns out to be.
package enum ResumeAnswer: Sendable, Equatable {
    /// An event stream that can be passed on.
    case taken
    /// 204: there is nothing more, and nobody should ask again (WHATWG HTML §9.2.3).
    case over
    /// A status by which the token is refused.
    case tokenRefused
    /// May do better later: 429, 5xx.
    case busy
    /// Anything else: no stream is to be expected here any more.
    case refused
}

extension ExchangeMachine {
    /// Attempts to take one stream up again, over all of its life.
    package static let resumesMax: UInt32 = 64

    /// `error` nil: silence. Legal while streaming, and while an attempt to go on has no answer yet.
    mutating func loseStream(_ error: ForwardError?, _ standing: StreamStanding) -> ExchangeAction {
        guard state == .streaming || (isResuming && state == .forwarding) else { return .nothing }
        outcomes.forward = error.map { state == .streaming ? .reset : Self.outcome(of: $0) } ?? .timedOut
        return resumeLater(standing)
    }

    mutating func takeResumeAnswer(_ answer: ResumeAnswer, _ standing: StreamStanding) -> ExchangeAction {
        guard isResuming, state == .forwarding else { return .nothing }
        outcomes.forward = .responded
        switch answer {
        case .taken:
            isResuming = false
            state = .streaming
            return .resume
        case .over: return end(.sent, .finish)
        case .tokenRefused where carriesToken && rules.canRefresh && authRetries == 0:
            state = .awaitingRefresh
            return .demandToken
        case .busy: return resumeLater(standing)
        case .tokenRefused, .refused: return end(.truncated, .abort)
        }
    }

    private mutating func resumeLater(_ standing: StreamStanding) -> ExchangeAction {
        guard case .resumable(let hasAdvanced) = standing else { return end(.truncated, .abort) }
        if hasAdvanced {
            resumesInRow = 0
            // Each loss is a matter of its own: the token may have been refreshed hours ago for the last one.
            authRetries = 0
        }
        guard resumesInRow < rules.resumesLimit, resumes < Self.resumesMax else {
            outcomes.retry = .limitReached
            return end(.truncated, .abort)
        }
        resumes += 1
        resumesInRow += 1
        outcomes.retry = .retried
        isResuming = true
        state = .backingOff
        return .reconnect(number: resumesInRow - 1)
    }
}
