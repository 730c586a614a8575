// Tokens from a configurable JSON or form call whose answer may be an envelope.
// Domain: cold (its own serial queue)

import CryoIO
import CryoJSON
package import CryoPipeline
import Dispatch

package final class LoginTokenSource: TokenRefresher {
    private let settings: LoginSettings
    private let keeper: PairKeeper
    private let call: EndpointCall
    private let queue: DispatchQueue

    init(_ settings: LoginSettings, name: String, keeper: PairKeeper, call: @escaping EndpointCall) {
        self.settings = settings
        self.keeper = keeper
        self.call = call
        queue = DispatchQueue(label: "cryonet.token.\(name)")
    }

    package var canRefresh: Bool { true }

    package func refresh(_ current: Credential?, completion: @escaping @Sendable (RefreshResult) -> Void) {
        queue.async { [self] in completion(refresh(current)) }
    }

    private func refresh(_ current: Credential?) -> RefreshResult {
        let template = TokenCallTemplate(settings.refresh)
        let presented = keeper.refreshToken(for: current)
        // Nothing to ask with: the present token is not refused by that, it only has no successor.
        if template.usesRefreshToken, presented == nil { return .unchanged }
        if template.usesToken, current == nil { return .unchanged }
        let now = TokenEndpoint.unixSeconds()
        switch call(template.filled(token: current?.token, refreshToken: presented)) {
        case .failure(let failure): return .failed(detail: failure.detail)
        case .success(let answer):
            let result = judge(answer, now: now)
            switch result {
            case .renewed(let new): return .renewed(keeper.keep(new, presented: presented))
            case .rejected:
                if template.usesRefreshToken { keeper.forget(presented) }
                return result
            case .unchanged, .failed: return result
            }
        }
    }

    /// The status first, then the envelope, then the fields: a 200 with a failure code is a refused login.
    func judge(_ answer: EndpointAnswer, now: Int64) -> RefreshResult {
        switch answer.status {
        case 200...299: break
        case 400, 401, 403: return .rejected(detail: "the refresh call was answered \(answer.status)")
        default: return .failed(detail: "the refresh call was answered \(answer.status)")
        }
        if let oddity = TokenEndpoint.oddity(of: answer.body) {
            return .failed(detail: "the refresh call was answered \(answer.status) with \(oddity)")
        }
        var paths = [settings.tokenPath]
        let refreshTokenIndex = Self.add(settings.refreshTokenPath, to: &paths)
        let expiresInIndex = Self.add(settings.expiresInPath, to: &paths)
        let successIndex = Self.add(settings.success?.path, to: &paths)
        guard let members = JSONMembers(answer.body, paths: paths) else {
            return .failed(detail: "the refresh call was answered \(answer.status) without JSON")
        }
        if let rule = settings.success, let successIndex, !members.satisfies(rule, at: successIndex) {
            let code = members.integer(successIndex).map { " \($0)" } ?? ""
            return .rejected(detail: "the refresh call was refused by its \(rule.path)\(code)")
        }
        guard let token = members.text(0) else {
            let cause = members.isAbsent(0) ? "no" : "no usable"
            return .failed(detail: "the refresh call was answered with \(cause) token at \(settings.tokenPath)")
        }
        if let flaw = SecretResolver.flaw(of: token) { return .failed(detail: "the token of the refresh call \(flaw)") }
        let refreshToken = refreshTokenIndex.flatMap { members.text($0) }
        if let flaw = refreshToken.flatMap({ SecretResolver.flaw(of: $0) }) {
            return .failed(detail: "the refresh token of the refresh call \(flaw)")
        }
        return .renewed(
            NewCredential(
                token: Secret(token), refreshToken: refreshToken.map { Secret($0) },
                expiresAt: TokenEndpoint.expiry(lifetime: expiresInIndex.flatMap { members.integer($0) }, now: now)))
    }

    private static func add(_ path: JSONPath?, to paths: inout [JSONPath]) -> Int? {
        guard let path else { return nil }
        paths.append(path)
        return paths.count - 1
    }
}
