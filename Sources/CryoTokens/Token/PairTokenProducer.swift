// The order in which an endpoint is asked: a refresh with what is there, then, where it is refused for good, a first login.
// Domain: cold (called on the token's own queue)

import CryoIO
import CryoPipeline

/// The two ways to a token that an endpoint may offer.
protocol TokenGrants: Sendable {
    /// A first login needs nothing but the configuration.
    var canIssue: Bool { get }
    /// A refused refresh means that the refresh token is worthless.
    var presentsRefreshToken: Bool { get }
    /// nil: there is nothing to refresh with. `deadline` is monotonic time in nanoseconds.
    func renew(_ presented: Secret?, _ current: Credential?, deadline: UInt64) -> Result<IssuedToken, SourceTrouble>?
    /// nil: there is no first login.
    func issue(deadline: UInt64) -> Result<IssuedToken, SourceTrouble>?
}

struct PairTokenProducer: TokenProducer {
    let grants: any TokenGrants
    let keeper: PairKeeper
    /// Of a refresh and the login that may follow it together: those who wait have no more patience.
    let timeoutMilliseconds: UInt32

    var canIssue: Bool { grants.canIssue || (grants.presentsRefreshToken && keeper.refreshToken(for: nil) != nil) }

    func produce(_ current: Credential?) -> SourceResult {
        if let latest = keeper.renewedSince(current, now: Clock.unixSeconds()) {
            return .token(IssuedToken(credential: latest), .takenOver)
        }
        let deadline = Clock.monotonicNanoseconds() &+ UInt64(timeoutMilliseconds) * 1_000_000
        let adoptions = keeper.adoptions
        let presented = keeper.refreshToken(for: current)
        switch grants.renew(presented, current, deadline: deadline) {
        case .success(let new): return .token(new.kept(by: keeper, presented: presented, since: adoptions), .renewed)
        case .failure(let trouble):
            if trouble.outcome.refusesGrant, grants.presentsRefreshToken { keeper.forget(presented) }
            // A refused grant is not the end where the source can log in by itself; anything else would be refused there too.
            guard trouble.outcome.refusesGrant, let first = issue(deadline, since: adoptions) else { return .trouble(trouble) }
            return first
        case nil: return issue(deadline, since: adoptions) ?? .nothingNewer(.noCredential)
        }
    }

    private func issue(_ deadline: UInt64, since adoptions: UInt64) -> SourceResult? {
        switch grants.issue(deadline: deadline) {
        case .success(let new): .token(new.kept(by: keeper, presented: nil, since: adoptions), .issued)
        case .failure(let trouble): .trouble(trouble)
        case nil: nil
        }
    }
}

extension IssuedToken {
    fileprivate func kept(by keeper: PairKeeper, presented: Secret?, since adoptions: UInt64) -> IssuedToken {
        var new = self
        new.credential = keeper.keep(credential, presented: presented, since: adoptions)
        return new
    }
}
