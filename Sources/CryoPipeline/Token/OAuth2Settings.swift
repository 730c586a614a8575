// What the configuration says about an OAuth 2.0 token endpoint.
// Domain: pure

/// RFC 6749 §4.3 (password), §4.4 (client credentials) and §6 (refresh token).
package struct OAuth2Settings: Sendable {
    package enum GrantType: String, Sendable, CaseIterable {
        case clientCredentials = "client_credentials"
        case refreshToken = "refresh_token"
        case password
    }
    package enum AuthMethod: String, Sendable, CaseIterable {
        case basic = "client_secret_basic"
        case post = "client_secret_post"
        /// RFC 7523 §2.2: the client proves itself by a signature.
        case privateKeyJWT = "private_key_jwt"
    }
    package var grantType: GrantType = .clientCredentials
    package var tokenEndpoint: String
    package var clientID: String
    package var clientSecret: SecretReference?
    /// The resource owner of the password grant.
    package var username: String?
    package var password: SecretReference?
    package var scopes: [String] = []
    package var audience: String?
    /// RFC 8707: one parameter for each.
    package var resources: [String] = []
    /// Further parameters of every token request; values may hold secret references.
    package var endpointParameters: [(name: String, value: String)] = []
    /// Further headers of every token request; values may hold secret references.
    package var tokenHeaders: [(name: String, value: String)] = []
    package var authMethod: AuthMethod = .basic
    /// PEM text of an RSA or P-256 key: RS256 or ES256.
    package var privateKey: SecretReference?
    /// `kid` of the assertion.
    package var keyID: String?
    /// `aud` of the assertion; nil: the token endpoint.
    package var assertionAudience: String?
    /// A file of PEM certificates to trust for the endpoint instead of the system's.
    package var caFile: String?

    package init(tokenEndpoint: String, clientID: String) {
        self.tokenEndpoint = tokenEndpoint
        self.clientID = clientID
    }

    /// Every reference to a secret.
    package var references: [SecretReference] {
        [clientSecret, password, privateKey].compactMap(\.self)
            + (endpointParameters + tokenHeaders).flatMap { TemplateText($0.value).references }
    }
}
