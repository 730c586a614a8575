// Tokens from an OAuth 2.0 token endpoint: password (RFC 6749 §4.3), client_credentials (§4.4) and refresh_token (§6).
// Domain: cold (called on the token's own queue)

import CryoIO
import CryoPipeline

struct OAuth2Grants: TokenGrants {
    private let settings: OAuth2Settings
    private let lifetime: TokenLifetime
    private let call: EndpointCall

    init(_ settings: OAuth2Settings, lifetime: TokenLifetime, call: @escaping EndpointCall) {
        self.settings = settings
        self.lifetime = lifetime
        self.call = call
    }

    var canIssue: Bool { settings.grantType != .refreshToken }
    /// RFC 6749 §4.4.3: client credentials come without a refresh token; one sent all the same is not used.
    var presentsRefreshToken: Bool { settings.grantType != .clientCredentials }

    func renew(_ presented: Secret?, _ current: Credential?, deadline: UInt64) -> Result<IssuedToken, SourceTrouble>? {
        guard presentsRefreshToken, let presented else { return nil }
        return ask("refresh_token", deadline) { body throws(SourceTrouble) in
            presented.withBytes { FormEncoding.appendPair("refresh_token", $0, to: &body) }
        }
    }

    func issue(deadline: UInt64) -> Result<IssuedToken, SourceTrouble>? {
        switch settings.grantType {
        case .refreshToken: nil
        case .clientCredentials: ask("client_credentials", deadline) { (_: inout [UInt8]) throws(SourceTrouble) in }
        case .password:
            ask("password", deadline) { body throws(SourceTrouble) in
                FormEncoding.appendPair("username", (settings.username ?? "").utf8, to: &body)
                guard let reference = settings.password else { return }
                let password = try secret(reference, "password")
                password.withBytes { FormEncoding.appendPair("password", $0, to: &body) }
            }
        }
    }

    // MARK: The request

    private func ask(
        _ grantType: String, _ deadline: UInt64, _ appendGrant: (inout [UInt8]) throws(SourceTrouble) -> Void
    ) -> Result<IssuedToken, SourceTrouble> {
        let now = Clock.unixSeconds()
        let request: EndpointRequest
        do throws(SourceTrouble) {
            request = try self.request(grantType, deadline, appendGrant, now: now)
        } catch {
            return .failure(error)
        }
        return call(request).flatMap { judge($0, now: now) }
    }

    private func request(
        _ grantType: String, _ deadline: UInt64, _ appendGrant: (inout [UInt8]) throws(SourceTrouble) -> Void, now: Int64
    ) throws(SourceTrouble) -> EndpointRequest {
        var body: [UInt8] = []
        var headers = try TemplateValues().headers(settings.tokenHeaders)
        headers.append((name: "Content-Type", value: "application/x-www-form-urlencoded"))
        headers.append((name: "Accept", value: "application/json"))
        FormEncoding.appendPair("grant_type", grantType.utf8, to: &body)
        try appendGrant(&body)
        // No scope is no parameter: an empty one would ask for nothing (RFC 6749 §3.3).
        let scopes = settings.scopes.filter { !$0.isEmpty }.joined(separator: " ")
        if !scopes.isEmpty { FormEncoding.appendPair("scope", scopes.utf8, to: &body) }
        if let audience = settings.audience, !audience.isEmpty { FormEncoding.appendPair("audience", audience.utf8, to: &body) }
        for resource in settings.resources { FormEncoding.appendPair("resource", resource.utf8, to: &body) }
        for parameter in settings.endpointParameters {
            FormEncoding.appendPair(parameter.name, try TemplateValues().fill(parameter.value), to: &body)
        }
        try authenticate(&headers, &body, now: now)
        return EndpointRequest(method: "POST", url: settings.tokenEndpoint, headers: headers, body: body, deadline: deadline)
    }

    private func authenticate(
        _ headers: inout [(name: String, value: String)], _ body: inout [UInt8], now: Int64
    ) throws(SourceTrouble) {
        if settings.authMethod == .privateKeyJWT, let reference = settings.privateKey {
            let key: Secret
            switch SecretResolver.text(reference) {
            case .success(let text): key = text
            case .failure(let problem): throw SourceTrouble(.secretUnavailable, "private_key: \(problem)")
            }
            let assertion = try ClientAssertion(
                clientID: settings.clientID, audience: settings.assertionAudience ?? settings.tokenEndpoint, keyID: settings.keyID
            ).signed(with: key, now: now)
            FormEncoding.appendPair("client_id", settings.clientID.utf8, to: &body)
            FormEncoding.appendPair("client_assertion_type", ClientAssertion.type.utf8, to: &body)
            FormEncoding.appendPair("client_assertion", assertion, to: &body)
            return
        }
        let clientSecret: Secret? =
            if let reference = settings.clientSecret { try secret(reference, "client_secret") } else { nil }
        if let clientSecret, settings.authMethod == .basic {
            headers.append((name: "Authorization", value: Self.basic(settings.clientID, clientSecret)))
        } else {
            // A public client names itself in the body (RFC 6749 §3.2.1).
            FormEncoding.appendPair("client_id", settings.clientID.utf8, to: &body)
            clientSecret?.withBytes { FormEncoding.appendPair("client_secret", $0, to: &body) }
        }
    }

    private func secret(_ reference: SecretReference, _ key: String) throws(SourceTrouble) -> Secret {
        switch SecretResolver.resolve(reference) {
        case .success(let secret): return secret
        case .failure(let problem): throw SourceTrouble(.secretUnavailable, "\(key): \(problem)")
        }
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

    /// Refusals that no later try can change.
    private static let definite: [String: SourceOutcome] = [
        "invalid_grant": .invalidGrant, "invalid_client": .invalidClient, "unauthorized_client": .unauthorizedClient,
    ]
    /// With these the only words of an error answer that are repeated: the endpoint might echo a secret in any other.
    private static let others = [
        "invalid_request", "unsupported_grant_type", "invalid_scope", "invalid_target", "temporarily_unavailable", "server_error",
    ]

    func judge(_ answer: EndpointAnswer, now: Int64) -> Result<IssuedToken, SourceTrouble> {
        let told = "the token endpoint answered \(answer.status)"
        if let oddity = TokenEndpoint.oddity(of: answer.body) {
            return .failure(SourceTrouble(oddity.outcome, "\(told) with \(oddity.detail)"))
        }
        let names = ["access_token", "token_type", "expires_in", "refresh_token", "error"]
        guard let members = JSONMembers(answer.body, names: names) else {
            return .failure(SourceTrouble(.answerNotJSON, "\(told) without JSON"))
        }
        guard (200...299).contains(answer.status) else { return .failure(Self.refusal(answer.status, members.text(4))) }
        guard let token = members.text(0) else {
            if members.isAbsent(0) { return .failure(SourceTrouble(.tokenAbsent, "\(told) with no access_token")) }
            return .failure(SourceTrouble(.tokenWrongType, "\(told) with an access_token that is empty or no text"))
        }
        if let flaw = SecretResolver.flaw(of: token) { return .failure(SourceTrouble(.tokenUnusable, "the access_token \(flaw)")) }
        let refreshToken = presentsRefreshToken ? members.text(3) : nil
        if let flaw = refreshToken.flatMap({ SecretResolver.flaw(of: $0) }) {
            return .failure(SourceTrouble(.tokenUnusable, "the refresh_token \(flaw)"))
        }
        let isBearer = members.text(1).map { String(decoding: $0, as: UTF8.self).lowercased() == "bearer" } ?? members.isAbsent(1)
        guard isBearer else {
            return .failure(SourceTrouble(.tokenWrongType, "the token endpoint answered with a token_type that is not Bearer"))
        }
        return lifetime.issued(
            Secret(token), refreshToken: refreshToken.map { Secret($0) }, told: members.lifetime(2), now: now, issuerNow: answer.date,
            random: .random(in: 0...UInt64.max))
    }

    /// RFC 6749 §5.2 says 400 or 401; some servers send `invalid_grant` with 403.
    private static func refusal(_ status: Int, _ error: [UInt8]?) -> SourceTrouble {
        let told = "the token endpoint answered"
        guard let code = error.map({ String(decoding: $0, as: UTF8.self) }) else {
            return SourceTrouble(.answerStatus, "\(told) \(status)")
        }
        if let outcome = definite[code] {
            if [400, 401, 403].contains(status) { return SourceTrouble(outcome, "\(told) \(code)") }
            return SourceTrouble(.answerStatus, "\(told) \(status) \(code)")
        }
        return others.contains(code)
            ? SourceTrouble(.answerError, "\(told) \(status) \(code)") : SourceTrouble(.answerStatus, "\(told) \(status)")
    }
}
