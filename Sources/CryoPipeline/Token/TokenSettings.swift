// What the configuration says about one token: its source, how it is injected, when it is refreshed, where it is kept.
// Domain: pure

package import CryoJSON

package struct TokenSettings: Sendable {
    package var name: String
    package var source: TokenSource
    package var initialToken: SecretReference?
    package var initialRefreshToken: SecretReference?
    package var inject = InjectSettings()
    package var refresh = RefreshSettings()
    /// The file that keeps a rotated pair across restarts; nil keeps it in memory only.
    package var storeFile: String?
    /// The upstreams a request may take this token to by choosing it; empty: those of the routes that name it, or all if none does.
    package var upstreams: [String] = []
    package var hooks: [HookSettings] = []

    package init(name: String, source: TokenSource) {
        self.name = name
        self.source = source
    }
}

package enum TokenSource: Sendable {
    case fixed(token: SecretReference)
    case environment(name: String)
    case file(path: String)
    case oauth2(OAuth2Settings)
    case login(LoginSettings)
}

/// RFC 6749 §4.4 (client credentials) and §6 (refresh token).
package struct OAuth2Settings: Sendable {
    package enum GrantType: String, Sendable, CaseIterable {
        case clientCredentials = "client_credentials"
        case refreshToken = "refresh_token"
    }
    package enum AuthMethod: String, Sendable, CaseIterable {
        case basic = "client_secret_basic"
        case post = "client_secret_post"
    }
    package var grantType: GrantType = .clientCredentials
    package var tokenEndpoint: String
    package var clientID: String
    package var clientSecret: SecretReference?
    package var scopes: [String] = []
    package var audience: String?
    package var authMethod: AuthMethod = .basic
    /// A file of PEM certificates to trust for the endpoint instead of the system's.
    package var caFile: String?

    package init(tokenEndpoint: String, clientID: String) {
        self.tokenEndpoint = tokenEndpoint
        self.clientID = clientID
    }
}

/// A refresh by a configurable JSON or form call whose answer may be an envelope.
package struct LoginSettings: Sendable {
    package var refresh: TokenCall
    package var tokenPath: JSONPath
    package var refreshTokenPath: JSONPath?
    /// Seconds of life from now, as number or numeric string.
    package var expiresInPath: JSONPath?
    /// nil: every 2xx answer that holds a token is a success.
    package var success: SuccessRule?
    package var caFile: String?

    package init(refresh: TokenCall, tokenPath: JSONPath) {
        self.refresh = refresh
        self.tokenPath = tokenPath
    }
}

/// One HTTP call of a token source. Placeholders `{token}` and `{refresh_token}` in values are replaced at call time.
package struct TokenCall: Sendable {
    package enum Body: Sendable {
        case none
        /// A JSON text whose string values may hold placeholders.
        case json(TemplateNode)
        case form([(name: String, value: String)])
    }
    /// A JSON value as the configuration wrote it.
    package enum TemplateNode: Sendable {
        case object([(key: String, value: TemplateNode)])
        case array([TemplateNode])
        case string(String)
        /// Number, true, false or null, as written.
        case literal(String)
    }
    package var method: String = "POST"
    package var url: String
    package var headers: [(name: String, value: String)] = []
    package var body: Body = .none

    package init(url: String) { self.url = url }
}

package struct InjectSettings: Sendable {
    package enum Place: String, Sendable, CaseIterable { case header, query, cookie }
    package enum OnClientValue: String, Sendable, CaseIterable { case replace, keep, reject }
    package var place: Place = .header
    /// Of the header, the query parameter or the cookie.
    package var name: String = "Authorization"
    /// Exactly one `{token}`.
    package var format: String = "Bearer {token}"
    package var onClientValue: OnClientValue = .replace

    package init() {}
}

package struct RefreshSettings: Sendable {
    package var onStatus: [UInt16] = [401]
    /// Business codes of a 2xx envelope that mean "token refused"; empty by default (ledger RF1).
    package var onBusinessCodes: [String] = []
    /// A token this close to its expiry is refreshed before it is used again.
    package var beforeExpirySeconds: Int64 = 60
    package var timeoutMilliseconds: UInt32 = 10_000
    /// At most this many refreshes that a refused token caused, per window (ledger RF7).
    package var perWindowMax: Int = 5
    package var windowSeconds: Int64 = 30
    /// Exchanges that may wait for one refresh; one more fails at once with `refresh_failed`.
    package var waitersMax: Int = 10_000

    package init() {}
}
