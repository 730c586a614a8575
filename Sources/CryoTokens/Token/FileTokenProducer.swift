// A token in a file that somebody else renews: refreshing is reading it again.
// Domain: cold (called on the token's own queue)

import CryoIO
import CryoPipeline

struct FileTokenProducer: TokenProducer {
    let path: String
    let lifetime: TokenLifetime

    var canIssue: Bool { true }

    func produce(_ current: Credential?) -> SourceResult {
        switch read() {
        case .failure(let trouble): .trouble(trouble)
        case .success(let new):
            current.map { $0.token.matches(new.credential.token) } ?? false ? .nothingNewer(.unchanged) : .token(new, .issued)
        }
    }

    /// A token that is a JWT ends when it says so.
    func read() -> Result<IssuedToken, SourceTrouble> {
        let now = Clock.unixSeconds()
        return SecretResolver.file(path).mapError { SourceTrouble($0) }
            .flatMap { lifetime.issued($0, told: .nothing, now: now, random: .random(in: 0...UInt64.max)) }
    }
}
