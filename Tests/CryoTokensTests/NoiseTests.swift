import CryoPipeline
import Testing

@testable import CryoTokens

/// Numbers that are the same on every run.
private struct Xorshift: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return state
    }
}

@Suite struct NoiseTests {
    private static let samples = [
        "2096-10-02T07:06:40.123+01:00", "eyJhbGciOiJub25lIn0.eyJleHAiOjQwMDAwMDAwMDB9.x",
        #"{"token":"a1","expires_at":4000000000,"expires_in":"3600"}"#,
        #"{"kind":"ExecCredential","status":{"token":"a1","expirationTimestamp":"2096-10-02T07:06:40Z"}}"#,
        #"{"SessionToken":"a1","Expiration":"2096-10-02T07:06:40Z"}"#, "x {token} {env:A} {file:/a} {refresh_token} {",
        "error: password = hunter2 eyJhbGciOiJub25lIn0 \u{1b}[31m",
    ]

    @Test("damaged input of every reader is refused or read, never a trap", arguments: [1, 2, 3] as [UInt64])
    func damaged(seed: UInt64) {
        var random = Xorshift(state: seed &* 0x9E37_79B9_7F4A_7C15)
        let rule = TokenLifetime(RefreshSettings())
        for _ in 0..<3000 {
            var bytes = Array(Self.samples.randomElement(using: &random)?.utf8 ?? "".utf8)
            for _ in 0...Int.random(in: 0...3, using: &random) where !bytes.isEmpty {
                let index = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0...2, using: &random) {
                case 0: bytes[index] = UInt8.random(in: 0...255, using: &random)
                case 1: bytes.removeSubrange(index...)
                default: bytes.insert(contentsOf: Array("99999999999999999999".utf8), at: index)
                }
            }
            _ = Moment.seconds(of: bytes)
            _ = JWTClaims.expiry(of: bytes)
            _ = CommandErrors.excerpt(of: bytes, secrets: [Secret("hunter2")])
            _ = TemplateText(String(decoding: bytes, as: UTF8.self)).references
            guard case .success(let answer) = CommandAnswer.read(bytes) else { continue }
            // What is taken can stand in a header.
            #expect(answer.token.withBytes { SecretResolver.flaw(of: $0) } == nil && !answer.token.isEmpty)
            let issued = rule.issued(answer.token, told: answer.told, now: 1_000_000, random: random.next())
            if case .success(let new) = issued, let end = new.credential.expiresAt, let early = new.credential.refreshAt {
                #expect(early <= end && end > 1_000_000)
            }
        }
    }
}
