// Owns the catalogue's keys of tokens.
// Domain: pure

import CryoPipeline

extension Catalogue {
    private static let authority = CatalogueKey(
        "ca", .text(.file), example: "/etc/cryonet/ca.pem", "PEM certificates to trust instead of the system's")

    private static let fixed = Section([
        CatalogueKey("token", .text(.secret), required: true, example: "env:APP_TOKEN", "env:NAME, file:PATH, or the token itself")
    ])
    private static let environment = Section([
        CatalogueKey("name", .text(.environmentName), required: true, example: "APP_TOKEN", "the variable that holds the token")
    ])
    private static let file = Section([
        CatalogueKey("path", .text(.file), required: true, example: "/run/secrets/app_token", "read again when it changes")
    ])

    static let oauth2 = Section([
        CatalogueKey(
            "grant_type", .choice(OAuth2Settings.GrantType.allCases.map(\.rawValue)),
            standard: OAuth2Settings.GrantType.clientCredentials.rawValue, "RFC 6749 §4.4 or §6"),
        CatalogueKey(
            "token_endpoint", .text(.callURL), required: true, example: "https://auth.example.com/oauth/token", "where tokens are asked for"
        ),
        CatalogueKey("client_id", .text(.any), required: true, example: "gateway", "who asks"),
        CatalogueKey("client_secret", .text(.secret), example: "env:CLIENT_SECRET", "needed for client_credentials"),
        CatalogueKey("scopes", .list(.text(.any)), standard: "[]", example: "[read, write]", "sent as one scope parameter"),
        CatalogueKey("audience", .text(.any), example: "https://api.example.com", "sent as the audience parameter"),
        CatalogueKey(
            "auth_method", .choice(OAuth2Settings.AuthMethod.allCases.map(\.rawValue)),
            standard: OAuth2Settings.AuthMethod.basic.rawValue, "how client_id and client_secret are sent"),
        authority,
    ])

    private static let call = Section(
        [
            CatalogueKey("method", .text(.method), standard: "POST", "of the refresh call"),
            CatalogueKey("url", .text(.callURL), required: true, example: "https://api.example.com/auth/refresh", "of the refresh call"),
            CatalogueKey(
                "headers", .map(keys: .header, values: .text(.headerValue)), standard: "{}", example: "{ X-Device: gateway }",
                "values may hold {token} and {refresh_token}"),
            CatalogueKey(
                "json", .template, example: "{ refreshToken: \"{refresh_token}\" }",
                "JSON body; its texts may hold {token} and {refresh_token}"),
            CatalogueKey(
                "form", .map(keys: .any, values: .text(.any)), example: "{ refresh_token: \"{refresh_token}\" }",
                "form body in the place of json; values may hold the same"),
        ], atMostOne: ["json", "form"])

    private static let fields = Section([
        CatalogueKey("token", .text(.path), required: true, example: "data.token", "path of the new token in the answer"),
        CatalogueKey("refresh_token", .text(.path), example: "data.refreshToken", "path of the rotated refresh token"),
        CatalogueKey("expires_in", .text(.path), example: "data.expiresIn", "path of the token's life in seconds"),
    ])

    static let login = Section([
        CatalogueKey("refresh", .section(call), required: true, "the call that gets a new token"),
        CatalogueKey("fields", .section(fields), required: true, "where its answer has what"),
        CatalogueKey("success", .section(success), "when its answer is a success; absent: any 2xx that holds a token"),
        authority,
    ])

    private static let initial = Section([
        CatalogueKey("token", .text(.secret), example: "env:APP_TOKEN", "used until the first refresh"),
        CatalogueKey("refresh_token", .text(.secret), example: "env:APP_REFRESH_TOKEN", "for the first refresh"),
    ])

    private static let injectStandards = InjectSettings()
    private static let inject = Section(
        [
            CatalogueKey("header", .text(.header), standard: injectStandards.name, "the header that carries the token"),
            CatalogueKey("query", .text(.parameter), example: "api_key", "the query parameter that carries it instead"),
            CatalogueKey("cookie", .text(.parameter), example: "session", "the cookie that carries it instead"),
            CatalogueKey(
                "format", .text(.tokenFormat), standard: quoted(injectStandards.format),
                "its value; {token} stands for the token, and is all of it in a query or cookie"),
            CatalogueKey(
                "on_client_value", .choice(InjectSettings.OnClientValue.allCases.map(\.rawValue)),
                standard: injectStandards.onClientValue.rawValue, "what happens to a value the client sent itself"),
        ], atMostOne: ["header", "query", "cookie"], onlyWithFirst: ["header", "format"])

    private static let refreshStandards = RefreshSettings()
    private static let window = Section([
        CatalogueKey(
            "seconds", .integer(1...86_400), standard: "\(refreshStandards.windowSeconds)", units: "seconds", "length of the window"),
        CatalogueKey("max", .integer(1...1000), standard: "\(refreshStandards.perWindowMax)", "refreshes in one window"),
    ])
    private static let refresh = Section([
        CatalogueKey(
            "on_status", .list(.integer(failureStatuses)), standard: flow(refreshStandards.onStatus),
            "upstream statuses that mean the token is refused; 403 never does"),
        CatalogueKey(
            "on_business_codes", .list(.text(.code)), standard: "[]", example: "[10001]",
            "business codes of a 2xx answer that mean the same"),
        CatalogueKey(
            "before_expiry_s", .integer(0...86_400), standard: "\(refreshStandards.beforeExpirySeconds)", units: "seconds",
            "a token this close to its end is refreshed before it is used again"),
        CatalogueKey(
            "timeout_ms", .integer(milliseconds), standard: "\(refreshStandards.timeoutMilliseconds)", units: "milliseconds",
            "bound of one refresh"),
        CatalogueKey("window", .section(window), "bound of refreshes that refused tokens cause"),
        CatalogueKey(
            "waiters_max", .integer(1...1_000_000), standard: "\(refreshStandards.waitersMax)",
            "exchanges that may wait for one refresh"),
    ])

    private static let store = Section([
        CatalogueKey(
            "file", .text(.file), required: true, example: "/var/lib/cryonet/app.json",
            "keeps a rotated pair across restarts, mode 0600")
    ])

    static let token = Section(
        [
            CatalogueKey("static", .section(fixed), "source: a token that does not change"),
            CatalogueKey("env", .section(environment), "source: an environment variable"),
            CatalogueKey("file", .section(file), "source: a file"),
            CatalogueKey("oauth2", .section(oauth2), "source: an OAuth 2 token endpoint"),
            CatalogueKey("login", .section(login), "source: a call of the API's own"),
            CatalogueKey("initial", .section(initial), "what oauth2 and login begin with"),
            CatalogueKey("inject", .section(inject), "how requests carry the token"),
            CatalogueKey("refresh", .section(refresh), "when it is refreshed"),
            CatalogueKey(
                "upstreams", .list(.text(.name)), standard: "[]", example: "[api]",
                "where requests may take it by CryoNet-Token; empty: the upstreams of the routes that name it, or all if none does"),
            CatalogueKey("store", .section(store), "where a rotated pair is kept; absent: in memory only"),
            hooks,
        ], exactlyOne: ["static", "env", "file", "oauth2", "login"], notYet: ["exec"])
}
