// Reads what a token command prints: the bare token, our own JSON, a kubectl ExecCredential, or AWS's credential_process.
// Domain: pure

import CryoJSON
import CryoPipeline

struct CommandAnswer: Sendable {
    var token: Secret
    var told: ToldLifetime = .nothing

    private static let paths = [
        "token", "access_token", "expires_at", "expires_in", "kind", "status.token", "status.expirationTimestamp", "SessionToken",
        "Expiration",
    ]
    .compactMap { JSONPath($0) }

    static func read(_ output: [UInt8]) -> Result<CommandAnswer, SourceTrouble> {
        let text = trimmed(output)
        guard let first = text.first else { return .failure(SourceTrouble(.answerEmpty, "the command printed nothing")) }
        guard first == 0x7B else { return checked(text, told: .nothing) }
        guard let members = JSONMembers(text, paths: paths) else {
            return .failure(SourceTrouble(.answerNotJSON, "the command printed JSON that can't be read"))
        }
        // client.authentication.k8s.io: a credential may also be a client certificate, which is no token.
        if members.text(4).map({ $0.elementsEqual("ExecCredential".utf8) }) ?? false {
            return token(members, [5], told: members.moment(6))
        }
        if !members.isAbsent(7) { return token(members, [7], told: members.moment(8)) }
        let moment = members.moment(2)
        return token(members, [0, 1], told: moment == .nothing ? members.lifetime(3) : moment)
    }

    private static func token(
        _ members: JSONMembers, _ indices: [Int], told: ToldLifetime
    ) -> Result<CommandAnswer, SourceTrouble> {
        guard let index = indices.first(where: { !members.isAbsent($0) }) else {
            return .failure(SourceTrouble(.tokenAbsent, "the command printed JSON without a token"))
        }
        guard let token = members.text(index) else {
            return .failure(SourceTrouble(.tokenWrongType, "the command printed a token that is empty or no text"))
        }
        return checked(token, told: told)
    }

    private static func checked(_ token: [UInt8], told: ToldLifetime) -> Result<CommandAnswer, SourceTrouble> {
        if let flaw = SecretResolver.flaw(of: token) {
            return .failure(SourceTrouble(.tokenUnusable, "the token that the command printed \(flaw)"))
        }
        return .success(CommandAnswer(token: Secret(token), told: told))
    }

    /// Without the white space around it.
    private static func trimmed(_ output: [UInt8]) -> [UInt8] {
        let isSpace: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 || $0 == 0x0A || $0 == 0x0D }
        guard let start = output.firstIndex(where: { !isSpace($0) }), let end = output.lastIndex(where: { !isSpace($0) }) else { return [] }
        return Array(output[start...end])
    }
}
