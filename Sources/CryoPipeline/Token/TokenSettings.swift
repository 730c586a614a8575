// What the configuration says about one token: its source, how it is injected, when it is refreshed, where it is kept.
// Domain: pure

package struct TokenSettings: Sendable {
    package var name: String
    package var source: TokenSource
    package var initialToken: SecretReference?
    package var initialRefreshToken: SecretReference?
    package var inject = InjectSettings()
    package var refresh = RefreshSettings()
    /// The file that keeps a rotated pair across restarts; nil keeps it in memory only.
    package var storeFile: String?
    /// The Redis that keeps it for several gateways; never beside `storeFile`.
    package var storeRedis: RedisStoreSettings?
    /// Tokens that name one session share one login; nil: the token has a session of its own, with its name.
    package var sessionName: String?
    /// The upstreams a request may take this token to by choosing it; empty: those of the routes that name it, or all if none does.
    package var upstreams: [String] = []
    package var hooks: [HookSettings] = []

    package init(name: String, source: TokenSource) {
        self.name = name
        self.source = source
    }

    /// Every secret the settings refer to.
    package var references: [SecretReference] {
        let ofSource: [SecretReference] =
            switch source {
            case .fixed(let token): [token]
            case .environment, .file: []
            case .exec(let exec): exec.references
            case .oauth2(let oauth2): oauth2.references
            case .login(let login): login.references
            }
        return [initialToken, initialRefreshToken, storeRedis?.password].compactMap(\.self) + ofSource
    }
}

package enum TokenSource: Sendable {
    case fixed(token: SecretReference)
    case environment(name: String)
    case file(path: String)
    case exec(ExecSettings)
    case oauth2(OAuth2Settings)
    case login(LoginSettings)

    /// The configuration's word for it.
    package var name: String {
        switch self {
        case .fixed: "static"
        case .environment: "env"
        case .file: "file"
        case .exec: "exec"
        case .oauth2: "oauth2"
        case .login: "login"
        }
    }
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
    /// A token this close to its expiry is refreshed in the background, but never earlier than in the last fifth of its life.
    package var beforeExpirySeconds: Int64 = 60
    /// How long a token lives when neither its source nor the token itself says it; nil: unknown, until the upstream refuses it.
    package var defaultLifetimeSeconds: Int64?
    package var timeoutMilliseconds: UInt32 = 10_000
    /// At most this many refreshes that a refused token caused, per window (ledger RF7).
    package var perWindowMax: Int = 5
    package var windowSeconds: Int64 = 30
    /// Exchanges that may wait for one refresh; one more fails at once with `refresh_failed`.
    package var waitersMax: Int = 10_000

    package init() {}
}
