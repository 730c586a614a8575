// Tokens from an OAuth 2.0 token endpoint: client_credentials (RFC 6749 §4.4) and refresh_token (§6).
// Domain: cold (its own serial queue)

import CryoIO
package import CryoPipeline
import Dispatch

package final class OAuth2TokenSource: TokenRefresher {
    private let settings: OAuth2Settings
    private let keeper: PairKeeper
    private let call: EndpointCall
    private let queue: DispatchQueue

    init(_ settings: OAuth2Settings, name: String, keeper: PairKeeper, call: @escaping EndpointCall) {
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
        var presented: Secret?
        if settings.grantType == .refreshToken {
            presented = keeper.refreshToken(for: current)
            // Nothing to ask with: the present token is not refused by that, it only has no successor.
            if presented == nil { return .unchanged }
        }
        var clientSecret: Secret?
        if let reference = settings.clientSecret {
            switch SecretResolver.resolve(reference) {
            case .success(let secret): clientSecret = secret
            case .failure(let problem): return .failed(detail: "client_secret: \(problem)")
            }
        }
        let now = TokenEndpoint.unixSeconds()
        switch call(request(presented: presented, clientSecret: clientSecret)) {
        case .failure(let failure): return .failed(detail: failure.detail)
        case .success(let answer):
            let result = Self.judge(answer, now: now)
            switch result {
            case .renewed(var new):
                // RFC 6749 §4.4.3: client credentials come without a refresh token; one sent all the same is not used.
                if settings.grantType == .clientCredentials { new.refreshToken = nil }
                return .renewed(keeper.keep(new, presented: presented))
            case .rejected(let detail):
                // A refused client says nothing about the refresh token.
                if detail == Self.invalidGrant { keeper.forget(presented) }
                return result
            case .unchanged, .failed: return result
            }
        }
    }

    // MARK: The request

    func request(presented: Secret?, clientSecret: Secret?) -> EndpointRequest {
        var body: [UInt8] = []
        var headers = [(name: "Content-Type", value: "application/x-www-form-urlencoded"), (name: "Accept", value: "application/json")]
        FormEncoding.appendPair("grant_type", settings.grantType.rawValue.utf8, to: &body)
        presented?.withBytes { FormEncoding.appendPair("refresh_token", $0, to: &body) }
        let scopes = settings.scopes.filter { !$0.isEmpty }.joined(separator: " ")
        if !scopes.isEmpty { FormEncoding.appendPair("scope", scopes.utf8, to: &body) }
        if let audience = settings.audience, !audience.isEmpty { FormEncoding.appendPair("audience", audience.utf8, to: &body) }
        if let clientSecret, settings.authMethod == .basic {
            headers.append((name: "Authorization", value: Self.basic(settings.clientID, clientSecret)))
        } else {
            // A public client names itself in the body (RFC 6749 §3.2.1).
            FormEncoding.appendPair("client_id", settings.clientID.utf8, to: &body)
            clientSecret?.withBytes { FormEncoding.appendPair("client_secret", $0, to: &body) }
        }
        return EndpointRequest(method: "POST", url: settings.tokenEndpoint, headers: headers, body: body)
    }

    /// RFC 6749 §2.3.1: both parts are form-encoded before they are joined.
    private static func basic(_ clientID: String, _ clientSecret: Secret) -> String {
        var pair: [UInt8] = []
        FormEncoding.append(clientID.utf8, to: &pair)
        pair.append(0x3A)
        clientSecret.withBytes { FormEncoding.append($0, to: &pair) }
        return "Basic " + String(decoding: pair.withUnsafeBytes { Base64.encode($0) }, as: UTF8.self)
    }

    // MARK: The answer

    private static let invalidGrant = "the token endpoint answered invalid_grant"
    /// Refusals that no later try can change.
    private static let definite = ["invalid_grant", "invalid_client", "unauthorized_client"]
    /// The only words of an error answer that are repeated: the endpoint might echo a secret in any other.
    private static let known =
        definite + [
            "invalid_request", "unsupported_grant_type", "invalid_scope", "invalid_target", "temporarily_unavailable", "server_error",
        ]

    static func judge(_ answer: EndpointAnswer, now: Int64) -> RefreshResult {
        if let oddity = TokenEndpoint.oddity(of: answer.body) {
            return .failed(detail: "the token endpoint answered \(answer.status) with \(oddity)")
        }
        let names = ["access_token", "token_type", "expires_in", "refresh_token", "error"]
        guard let members = JSONMembers(answer.body, names: names) else {
            return .failed(detail: "the token endpoint answered \(answer.status) without JSON")
        }
        guard (200...299).contains(answer.status) else { return refusal(answer.status, members.text(4)) }
        guard let token = members.text(0) else {
            let cause = members.isAbsent(0) ? "no access_token" : "an access_token that is empty or no text"
            return .failed(detail: "the token endpoint answered \(answer.status) with \(cause)")
        }
        if let flaw = SecretResolver.flaw(of: token) { return .failed(detail: "the access_token \(flaw)") }
        if let flaw = members.text(3).flatMap({ SecretResolver.flaw(of: $0) }) { return .failed(detail: "the refresh_token \(flaw)") }
        let isBearer = members.text(1).map { String(decoding: $0, as: UTF8.self).lowercased() == "bearer" } ?? members.isAbsent(1)
        guard isBearer else { return .failed(detail: "the token endpoint answered with a token_type that is not Bearer") }
        return .renewed(
            NewCredential(
                token: Secret(token), refreshToken: members.text(3).map { Secret($0) },
                expiresAt: TokenEndpoint.expiry(lifetime: members.integer(2), now: now)))
    }

    /// RFC 6749 §5.2 says 400 or 401; some servers send `invalid_grant` with 403.
    private static func refusal(_ status: Int, _ error: [UInt8]?) -> RefreshResult {
        let code = error.map { String(decoding: $0, as: UTF8.self) }.flatMap { known.contains($0) ? $0 : nil }
        guard let code else { return .failed(detail: "the token endpoint answered \(status)") }
        if definite.contains(code), status == 400 || status == 401 || status == 403 {
            return .rejected(detail: "the token endpoint answered \(code)")
        }
        return .failed(detail: "the token endpoint answered \(status) \(code)")
    }
}
