// When a token ends and when it should be refreshed: from what the endpoint says, from the token itself, from the configuration.
// Domain: pure

import CryoPipeline

/// What the source of a token said about its life.
enum ToldLifetime: Sendable, Equatable {
    case nothing
    /// From the moment it was issued.
    case seconds(Int64)
    /// Seconds since 1970 by the issuer's clock.
    case moment(Int64)
    /// Something that is no length of time.
    case nonsense
}

/// A new token with its times.
struct IssuedToken: Sendable {
    var credential: NewCredential
    /// The life it was said to have was not believed.
    var isLifetimeIgnored = false
}

struct TokenLifetime: Sendable {
    /// Ten years: a longer life is a mistake of the endpoint, and no reason to believe a token for ever.
    static let lifetimeSecondsMax: Int64 = 315_360_000

    var defaultSeconds: Int64?
    var leewaySeconds: Int64

    init(_ settings: RefreshSettings) {
        defaultSeconds = settings.defaultLifetimeSeconds
        leewaySeconds = settings.beforeExpirySeconds
    }

    /// `now` is the time before the source was asked, so that the estimate is never late; `issuerNow` is the issuer's time, where
    /// it is known: moments are read by its clock and turned into ours. `random` spreads the refreshes of many gateways.
    func issued(
        _ token: Secret, refreshToken: Secret? = nil, told: ToldLifetime, now: Int64, issuerNow: Int64? = nil, random: UInt64
    ) -> Result<IssuedToken, SourceTrouble> {
        var isIgnored = false
        var seconds: Int64?
        switch told {
        case .nothing: break
        case .nonsense: isIgnored = true
        case .seconds(let told):
            if told > 0, told <= Self.lifetimeSecondsMax { seconds = told } else { isIgnored = true }
        case .moment(let moment):
            switch Self.remaining(until: moment, from: issuerNow ?? now) {
            case .ended: return .failure(SourceTrouble(.tokenExpired, "the token had already expired"))
            case .seconds(let remaining): seconds = remaining
            case .unknown: isIgnored = true
            }
        }
        if seconds == nil, let moment = token.withBytes({ JWTClaims.expiry(of: $0) }) {
            switch Self.remaining(until: moment, from: issuerNow ?? now) {
            case .ended: return .failure(SourceTrouble(.tokenExpired, "the token had already expired by its own exp"))
            case .seconds(let remaining): seconds = remaining
            case .unknown: isIgnored = true
            }
        }
        seconds = seconds ?? defaultSeconds
        let credential = NewCredential(
            token: token, refreshToken: refreshToken, expiresAt: seconds.map { now + $0 },
            refreshAt: seconds.map { now + $0 - lead(of: $0, random: random) })
        return .success(IssuedToken(credential: credential, isLifetimeIgnored: isIgnored))
    }

    /// min(leeway, a fifth of the life), a tenth of it more or less.
    func lead(of lifetime: Int64, random: UInt64) -> Int64 {
        let lead = min(leewaySeconds, lifetime / 5)
        return (lead * (900 + Int64(random % 201)) + 500) / 1000
    }

    private enum Remaining {
        case ended, unknown
        case seconds(Int64)
    }

    private static func remaining(until moment: Int64, from now: Int64) -> Remaining {
        let (seconds, overflow) = moment.subtractingReportingOverflow(now)
        if overflow || seconds > lifetimeSecondsMax { return .unknown }
        return seconds <= 0 ? .ended : .seconds(seconds)
    }
}
