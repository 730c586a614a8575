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

    private static let exec = Section([
        CatalogueKey(
            "command", .list(.text(.any)), required: true, example: "[/usr/local/bin/app-token, --audience, api]",
            "program and arguments; no shell reads them; prints a token, or JSON with token and expires_at"),
        CatalogueKey(
            "env", .map(keys: .environmentName, values: .text(.any)), standard: "{}", example: "{ REGION: eu, API_KEY: \"env:API_KEY\" }",
            "what it sees besides PATH and HOME; values may be env:NAME or file:PATH"),
    ])

    static let oauth2 = Section([
        CatalogueKey(
            "grant_type", .choice(OAuth2Settings.GrantType.allCases.map(\.rawValue)),
            standard: OAuth2Settings.GrantType.clientCredentials.rawValue, "RFC 6749 §4.4, §6 or §4.3"),
        CatalogueKey(
            "token_endpoint", .text(.callURL), required: true, example: "https://auth.example.com/oauth/token", "where tokens are asked for"
        ),
        CatalogueKey("client_id", .text(.any), required: true, example: "gateway", "who asks"),
        CatalogueKey("client_secret", .text(.secret), example: "env:CLIENT_SECRET", "needed for client_credentials without private_key"),
        CatalogueKey("username", .text(.any), example: "alice", "needed for grant_type password"),
        CatalogueKey("password", .text(.secret), example: "env:APP_PASSWORD", "needed for grant_type password"),
        CatalogueKey("scopes", .list(.text(.any)), standard: "[]", example: "[read, write]", "sent as one scope parameter"),
        CatalogueKey("audience", .text(.any), example: "https://api.example.com", "sent as the audience parameter"),
        CatalogueKey(
            "resources", .list(.text(.any)), standard: "[]", example: "[https://api.example.com]",
            "sent as one resource parameter each (RFC 8707)"),
        CatalogueKey(
            "endpoint_params", .map(keys: .any, values: .text(.any)), standard: "{}", example: "{ tenant: blue }",
            "further parameters; values may be env:NAME or file:PATH"),
        CatalogueKey(
            "token_headers", .map(keys: .header, values: .text(.headerValue)), standard: "{}", example: "{ X-Device: gateway }",
            "further headers; values may be env:NAME or file:PATH"),
        CatalogueKey(
            "auth_method", .choice(OAuth2Settings.AuthMethod.allCases.map(\.rawValue)),
            standard: OAuth2Settings.AuthMethod.basic.rawValue, "how the client proves itself"),
        CatalogueKey(
            "private_key", .text(.secret), example: "file:/run/secrets/client.pem",
            "PEM key of private_key_jwt: RSA signs RS256, P-256 signs ES256"),
        CatalogueKey("key_id", .text(.any), example: "2026-1", "kid of the assertion"),
        CatalogueKey(
            "assertion_audience", .text(.any), example: "https://auth.example.com", "aud of the assertion; absent: the token endpoint"),
        authority,
    ])

    private static func call(_ use: String, _ url: String, _ body: String) -> Section {
        Section(
            [
                CatalogueKey("method", .text(.method), standard: "POST", "of the \(use) call"),
                CatalogueKey("url", .text(.callURL), required: true, example: url, "of the \(use) call"),
                CatalogueKey(
                    "headers", .map(keys: .header, values: .text(.headerValue)), standard: "{}", example: "{ X-Device: gateway }",
                    "values may hold {token}, {refresh_token}, {env:NAME}, {file:PATH}, or be env:NAME or file:PATH"),
                CatalogueKey("json", .template, example: body, "JSON body; its texts may hold the same"),
                CatalogueKey(
                    "form", .map(keys: .any, values: .text(.any)), example: body, "form body in the place of json; values may hold the same"
                ),
                CatalogueKey("fields", .section(fields), "where its answer has what, if not as in login.fields"),
            ], atMostOne: ["json", "form"])
    }

    private static let fields = Section([
        CatalogueKey("token", .text(.path), required: true, example: "data.token", "path of the new token in the answer"),
        CatalogueKey("refresh_token", .text(.path), example: "data.refreshToken", "path of the rotated refresh token"),
        CatalogueKey("expires_in", .text(.path), example: "data.expiresIn", "path of the token's life in seconds"),
        CatalogueKey(
            "expires_at", .text(.path), example: "data.expiresAt", "path of its end: seconds or milliseconds since 1970, or RFC 3339"),
    ])

    private static let loginStandards = LoginSettings()
    static let login = Section([
        CatalogueKey(
            "sign_in",
            .section(call("login", "https://api.example.com/auth/login", "{ user: alice, password: \"env:APP_PASSWORD\" }")),
            "the call that gets the first token, and another when the refresh is refused"),
        CatalogueKey(
            "refresh", .section(call("refresh", "https://api.example.com/auth/refresh", "{ refreshToken: \"{refresh_token}\" }")),
            "the call that gets a new token; absent: sign_in again"),
        CatalogueKey("fields", .section(fields), "where the answers have what"),
        CatalogueKey(
            "success", .condition(names: presetNames), example: "{ field: code, equals: 0 }",
            "when an answer is a success: a preset or a condition, as in policies; absent: any 2xx that holds a token"),
        CatalogueKey(
            "code", .text(.path), example: "code",
            "path of the code that refusal_codes and transient_codes name; default: the preset's, or the field of success"),
        CatalogueKey(
            "refusal_codes", .list(.text(.code)), standard: "[]", example: "[40101]",
            "failure codes that end the session; empty: all but the transient ones"),
        CatalogueKey(
            "transient_codes", .list(.text(.code)), standard: "[]", example: "[50301]",
            "failure codes that may pass: the session stays and the call is tried again later"),
        CatalogueKey(
            "refusal_statuses", .list(.integer(failureStatuses)), standard: flow(loginStandards.refusalStatuses),
            "statuses that end the session; others are tried again later"),
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
            "a token in use is renewed in the background this long before its end, at most a fifth of its life"),
        CatalogueKey(
            "default_ttl_s", .integer(1...315_360_000), units: "seconds", example: "3600",
            "life of a token when neither the answer nor its own exp tells it; absent: until it is refused"),
        CatalogueKey(
            "timeout_ms", .integer(milliseconds), standard: "\(refreshStandards.timeoutMilliseconds)", units: "milliseconds",
            "bound of one refresh"),
        CatalogueKey("window", .section(window), "bound of refreshes that refused tokens cause"),
        CatalogueKey(
            "waiters_max", .integer(1...1_000_000), standard: "\(refreshStandards.waitersMax)",
            "exchanges that may wait for one refresh"),
    ])

    static let token = Section(
        [
            CatalogueKey("static", .section(fixed), "source: a token that does not change"),
            CatalogueKey("env", .section(environment), "source: an environment variable"),
            CatalogueKey("file", .section(file), "source: a file"),
            CatalogueKey("exec", .section(exec), "source: a command that prints a token"),
            CatalogueKey("oauth2", .section(oauth2), "source: an OAuth 2 token endpoint"),
            CatalogueKey("login", .section(login), "source: a call of the API's own"),
            CatalogueKey("initial", .section(initial), "what exec, oauth2 and login begin with"),
            CatalogueKey("inject", .section(inject), "how requests carry the token"),
            CatalogueKey("refresh", .section(refresh), "when it is refreshed"),
            CatalogueKey(
                "upstreams", .list(.text(.name)), standard: "[]", example: "[api]",
                "where requests may take it by CryoNet-Token; empty: the upstreams of the routes that name it, or all if none does"),
            CatalogueKey("store", .section(store), "where a rotated pair is kept; absent: in memory only"),
            CatalogueKey(
                "session", .text(.name), example: "user",
                "tokens that name the same session share one login: it ends for all of them at once; absent: a session of its own"),
            hooks,
        ], exactlyOne: ["static", "env", "file", "exec", "oauth2", "login"])
}
