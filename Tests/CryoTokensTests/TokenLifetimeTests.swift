import CryoPipeline
import Testing

@testable import CryoTokens

@Suite struct TokenLifetimeTests {
    private func lifetime(_ leeway: Int64 = 60, standard: Int64? = nil) -> TokenLifetime {
        var settings = RefreshSettings()
        settings.beforeExpirySeconds = leeway
        settings.defaultLifetimeSeconds = standard
        return TokenLifetime(settings)
    }

    private func issued(
        _ token: String = "a1", _ told: ToldLifetime, issuerNow: Int64? = nil, standard: Int64? = nil
    ) -> IssuedToken? {
        try? lifetime(standard: standard).issued(Secret(token), told: told, now: 1_000_000, issuerNow: issuerNow, random: 100).get()
    }

    /// A JWT with these claims.
    private func jwt(_ claims: String) -> String {
        "e30." + String(decoding: Base64URL.encode(Array(claims.utf8)), as: UTF8.self) + ".sig"
    }

    @Test("the early refresh is min(60 s, 20 % of the life) before the end, a tenth more or less")
    func lead() {
        #expect(lifetime().lead(of: 3600, random: 100) == 60)
        #expect(lifetime().lead(of: 3600, random: 0) == 54)
        #expect(lifetime().lead(of: 3600, random: 200) == 66)
        #expect(lifetime().lead(of: 100, random: 100) == 20)
        for random in UInt64(0)...200 { #expect(lifetime().lead(of: 5, random: random) == 1, "rounded, not cut off") }
        #expect(lifetime().lead(of: 4, random: 100) == 0, "a life too short for it has no early refresh")
        #expect(lifetime(0).lead(of: 3600, random: 0) == 0)
        for random in UInt64(0)...400 { #expect((54...66).contains(lifetime().lead(of: 3600, random: random))) }
    }

    @Test("what the endpoint says goes first, then the token's own exp, then the configuration")
    func order() {
        let own = jwt(#"{"exp":1000500}"#)
        #expect(issued(own, .seconds(100), standard: 7)?.credential.expiresAt == 1_000_100)
        #expect(issued(own, .nothing, standard: 7)?.credential.expiresAt == 1_000_500)
        #expect(issued(own, .nonsense, standard: 7)?.credential.expiresAt == 1_000_500)
        #expect(issued("opaque", .nothing, standard: 7)?.credential.expiresAt == 1_000_007)
        #expect(issued("opaque", .nothing)?.credential.expiresAt == nil)
        #expect(issued(own, .seconds(100))?.credential.refreshAt == 1_000_080)
    }

    @Test("a life that makes no sense is ignored and said to be", arguments: [-1, 0, TokenLifetime.lifetimeSecondsMax + 1, .max, .min])
    func nonsense(seconds: Int64) {
        let new = issued("a1", .seconds(seconds), standard: 9)
        #expect(new?.isLifetimeIgnored == true && new?.credential.expiresAt == 1_000_009)
    }

    @Test("moments are read by the issuer's clock: a gateway whose clock is an hour off keeps the token as long as it lives")
    func skew() {
        // The issuer is an hour ahead; the token lives for 300 s.
        #expect(issued("a1", .moment(1_003_900), issuerNow: 1_003_600)?.credential.expiresAt == 1_000_300)
        #expect(issued(jwt(#"{"exp":1003900}"#), .nothing, issuerNow: 1_003_600)?.credential.expiresAt == 1_000_300)
        // An hour behind.
        #expect(issued("a1", .moment(996_700), issuerNow: 996_400)?.credential.expiresAt == 1_000_300)
        // A length of time needs no clock.
        #expect(issued("a1", .seconds(300), issuerNow: 996_400)?.credential.expiresAt == 1_000_300)
    }

    @Test("a token that has ended before it came is refused, to the second")
    func ended() {
        #expect(issued("a1", .moment(1_000_000)) == nil)
        #expect(issued("a1", .moment(1_000_001))?.credential.expiresAt == 1_000_001)
        #expect(issued(jwt(#"{"exp":1000000}"#), .nothing) == nil)
        #expect(issued("a1", .moment(.min))?.isLifetimeIgnored == true)
        #expect(issued("a1", .moment(.max))?.isLifetimeIgnored == true)
    }

    @Test(
        "exp is found in a JWT and nowhere else",
        arguments: [
            (#"{"exp":5}"#, 5), (#"{"exp":5.9}"#, 5), (#"{"exp":"5"}"#, 5), (#"{"exp":1e3}"#, 1000), (#"{"exp":null}"#, nil), ("{}", nil),
            (#"{"exp":{}}"#, nil), (#"{"exp":1e400}"#, nil), ("nothing", nil), ("", nil),
        ] as [(String, Int64?)])
    func claims(claims: String, expected: Int64?) {
        #expect(JWTClaims.expiry(of: Array(jwt(claims).utf8)) == expected)
    }

    @Test("what is no JWT has no exp", arguments: ["", ".", "..", "a.b", "a.!!.c", "a.e.c", "e30.eyJleHAiOjV9", "e30.eyJleHAiOjV9.x.y"])
    func noJWT(token: String) { #expect(JWTClaims.expiry(of: Array(token.utf8)) == nil) }

    @Test("a token longer than the bound is not looked into")
    func longJWT() {
        let claims = #"{"exp":5,"x":""#
        let fill = String(repeating: "x", count: 3 * (JWTClaims.tokenBytesMax - 60) / 4)
        #expect(JWTClaims.expiry(of: Array(jwt(claims + fill + #""}"#).utf8)) == 5)
        #expect(JWTClaims.expiry(of: Array(jwt(claims + fill + fill + #""}"#).utf8)) == nil)
    }

    @Test(
        "dates are read",
        arguments: [
            ("1970-01-01T00:00:01Z", 1), ("1970-01-01 00:00:01.999", 1), ("1970-01-01t02:00:01+02:00", 1), ("1969-12-31T23:59:59Z", nil),
            ("2024-02-29T00:00:00Z", 1_709_164_800), ("2024-02-29", nil), ("2024-02-29T00:00:00X", nil), ("2024-02-29T00:00:00.Z", nil),
            ("2024-13-01T00:00:00Z", nil), ("2024-02-29T00:00:00+0100", nil), ("", nil), ("2024-02-29T00:00:00Z ", nil),
        ] as [(String, Int64?)])
    func dates(text: String, expected: Int64?) { #expect(Moment.seconds(of: Array(text.utf8)) == expected) }

    // MARK: The early refresh

    private func held(refreshAt: Int64?, expiresAt: Int64?, isUsed: Bool) -> Credential {
        let credential = Credential(
            token: Secret("a1"), refreshToken: nil, expiresAt: expiresAt, refreshAt: refreshAt, version: 1, revision: .random(),
            injectedValue: [])
        if isUsed { credential.noteUse() }
        return credential
    }

    @Test("a used token is renewed in its last part, an idle one is let end, and one without an end is left alone")
    func plan() {
        func plan(_ now: Int64, isUsed: Bool = true) -> EarlyRefresher.Plan {
            EarlyRefresher.plan(held(refreshAt: 80, expiresAt: 100, isUsed: isUsed), now: now)
        }
        #expect(plan(0) == .init(refreshes: false, lookAgainSeconds: 30))
        #expect(plan(70) == .init(refreshes: false, lookAgainSeconds: 10))
        #expect(plan(79) == .init(refreshes: false, lookAgainSeconds: 1))
        #expect(plan(80) == .init(refreshes: true, lookAgainSeconds: 1))
        #expect(plan(99) == .init(refreshes: true, lookAgainSeconds: 1))
        #expect(plan(100) == .init(refreshes: false, lookAgainSeconds: 30))
        #expect(plan(80, isUsed: false) == .init(refreshes: false, lookAgainSeconds: 30))
        #expect(EarlyRefresher.plan(nil, now: 0) == .init(refreshes: false, lookAgainSeconds: 30))
        #expect(!EarlyRefresher.plan(held(refreshAt: nil, expiresAt: nil, isUsed: true), now: 0).refreshes)
    }
}
