// Owns the catalogue of configuration keys: the one source for validation, the JSON Schema, the printed configuration and the
// test of the documented file. Defaults come from the settings types.
// Domain: pure

import CryoPipeline

package enum Catalogue {
    package static let root = Section([
        CatalogueKey("listen", .section(listen), required: true, "where clients connect"),
        CatalogueKey("workers", .integer(0...256), standard: "0", "worker threads of the data path; 0: one for each processor"),
        CatalogueKey("limits", .section(limits), "bounds of the client side"),
        CatalogueKey("admin", .section(admin), "the admin listener; absent: none"),
        CatalogueKey("upstreams", .map(keys: .name, values: .section(upstream)), required: true, "the real APIs, by name"),
        CatalogueKey("tokens", .map(keys: .name, values: .section(token)), "tokens to inject, by name"),
        CatalogueKey("policies", .map(keys: .name, values: .section(policy)), "how answers are judged, by name"),
        CatalogueKey(
            "routes", .list(.section(route)), required: true, "which request goes where; the longest path that matches wins"),
        CatalogueKey("audit", .section(audit), "one JSON line for each exchange; absent: none is written"),
        tracing,
        CatalogueKey("secrets", .section(secrets), "the gateway's own secrets in what goes to clients"),
    ])

    /// Every key with its dotted path; `*` stands for a user's name, `[]` for an element.
    package static var flattened: [(path: String, key: CatalogueKey)] {
        var result: [(path: String, key: CatalogueKey)] = []
        func visit(_ shape: Shape, _ path: String) {
            switch shape {
            case .section(let section):
                for key in section.keys {
                    let keyPath = path.isEmpty ? key.name : "\(path).\(key.name)"
                    result.append((keyPath, key))
                    visit(key.shape, keyPath)
                }
            case .map(_, let values): visit(values, "\(path).*")
            case .list(let items): visit(items, "\(path)[]")
            case .brief(_, let section): visit(.section(section), path)
            default: break
            }
        }
        visit(.section(root), "")
        return result
    }

    /// Scalars, and lists of scalars, that a flag or a `CRYONET_*` variable may set: those outside maps and lists of sections.
    package static let settable: [(path: [String], key: CatalogueKey)] = settable(in: root, below: [])

    package static func environmentName(of path: [String]) -> String {
        "CRYONET_" + path.joined(separator: "_").uppercased()
    }

    private static func settable(in section: Section, below path: [String]) -> [(path: [String], key: CatalogueKey)] {
        section.keys.flatMap { key -> [(path: [String], key: CatalogueKey)] in
            switch key.shape {
            case .section(let inner): settable(in: inner, below: path + [key.name])
            case .map, .template, .list(.section): []
            default: [(path + [key.name], key)]
            }
        }
    }

    /// A day: longer waits are mistakes in the unit.
    static let milliseconds: ClosedRange<Int64> = 1...86_400_000
    static let millisecondsOrNone: ClosedRange<Int64> = 0...86_400_000

    private static let hosts = CatalogueKey(
        "hosts", .list(.text(.host)), standard: "[]", example: "[gateway.internal]",
        "hosts a request may name besides localhost, 127.0.0.1 and [::1] (DNS rebinding)")
    private static let unsafeListen = CatalogueKey(
        "unsafe_listen", .boolean, standard: "false",
        "allows an address that others can reach: whoever connects uses the tokens")

    static let listen = Section([
        CatalogueKey(
            "address", .text(.listenAddress), required: true, example: "127.0.0.1:8080",
            "host:port with an IP address, or unix:/path; port 0 lets the system choose"),
        hosts, unsafeListen,
        CatalogueKey(
            "client_key", .text(.secret), example: "env:GATEWAY_KEY",
            "every request must carry it: X-CryoNet-Key: KEY, or Proxy-Authorization: Bearer KEY; absent: none"),
        CatalogueKey(
            "trusted_proxies", .list(.text(.addressBlock)), standard: "[]", example: "[127.0.0.1, 10.0.0.0/8, unix]",
            "peers whose X-Forwarded-* and Forwarded are kept and added to; everybody else's are replaced"),
        CatalogueKey(
            "half_close", .choice(ListenSettings.HalfClose.allCases.map(\.rawValue)), standard: ListenSettings.HalfClose.gone.rawValue,
            "what a client means that shuts its sending side before its answer: gone, or keep for those that wait for it"),
        CatalogueKey(
            "connect", .choice(ListenSettings.Connect.allCases.map(\.rawValue)), standard: ListenSettings.Connect.off.rawValue,
            "what CONNECT may reach: off (501), or upstreams by host and port; a tunnel carries no token and has no policy"),
        CatalogueKey(
            "mode", .text(.fileMode), standard: "0600", "permissions of a unix socket, octal; connecting needs w"),
        CatalogueKey(
            "peer_uid", .list(.integer(0...4_294_967_295)), standard: "[]",
            "user ids that may connect to a unix socket; empty: all that its mode admits"),
        CatalogueKey("tls", .section(listenTLS), "TLS towards clients, 1.2 and later; absent: plain HTTP"),
    ])

    private static let listenTLS = Section([
        CatalogueKey(
            "certificate", .text(.file), required: true, example: "/etc/cryonet/server.pem",
            "PEM: the certificate, then those that lead to its root; read again on HUP"),
        CatalogueKey(
            "key", .text(.file), required: true, example: "/etc/cryonet/server.key", "PEM key of certificate, without a passphrase"),
        CatalogueKey(
            "client_ca", .text(.file), example: "/etc/cryonet/clients.pem",
            "PEM certificates; clients must show one that these have signed (mTLS); default: none is asked for"),
    ])

    static let admin = Section([
        CatalogueKey(
            "address", .text(.listenAddress), required: true, example: "127.0.0.1:8081",
            "host:port with an IP address, or unix:/path"),
        hosts, unsafeListen,
        CatalogueKey(
            "key", .text(.secret), example: "env:ADMIN_KEY",
            "calls of /api carry it: Authorization: Bearer KEY; absent: made at the start, printed, kept in a file for the commands"),
        CatalogueKey("mode", .text(.fileMode), standard: "0600", "as in listen"),
    ])

    private static let limitStandards = LimitSettings()
    static let limits = Section([
        CatalogueKey(
            "head_bytes_max", .integer(1024...1_048_576), standard: "\(limitStandards.headBytesMax)", units: "bytes",
            "request line and headers"),
        CatalogueKey(
            "body_bytes_max", .integer(0...9_007_199_254_740_992), standard: "\(limitStandards.bodyBytesMax)", units: "bytes",
            "request body; 0: no bound, bodies are streamed"),
        CatalogueKey(
            "head_timeout_ms", .integer(milliseconds), standard: "\(limitStandards.headTimeoutMilliseconds)", units: "milliseconds",
            "from the first byte of a request to the end of its headers"),
        CatalogueKey(
            "body_timeout_ms", .integer(milliseconds), standard: "\(limitStandards.bodyTimeoutMilliseconds)", units: "milliseconds",
            "between two reads of a request body"),
        CatalogueKey(
            "idle_timeout_ms", .integer(milliseconds), standard: "\(limitStandards.idleTimeoutMilliseconds)", units: "milliseconds",
            "a connection without a request is closed after this"),
        CatalogueKey(
            "write_timeout_ms", .integer(milliseconds), standard: "\(limitStandards.writeTimeoutMilliseconds)", units: "milliseconds",
            "a client that takes no byte for this long is gone"),
        CatalogueKey(
            "connections_max", .integer(1...1_000_000), standard: "\(limitStandards.connectionsMax)",
            "client connections; one more gets 503"),
        CatalogueKey(
            "drain_timeout_ms", .integer(millisecondsOrNone), standard: "\(limitStandards.drainTimeoutMilliseconds)",
            units: "milliseconds", "how long exchanges may take to end after TERM"),
    ])

    private static let retryStandards = RetrySettings()
    static let retry = Section([
        CatalogueKey(
            "limit", .integer(0...100), standard: "\(retryStandards.limit)", "retries after the first attempt; 0 is off"),
        CatalogueKey(
            "base", .decimal(1...10), standard: "2", "the wait before retry k = 0, 1, … is base^k × scale_ms"),
        CatalogueKey(
            "scale_ms", .integer(0...600_000), standard: "\(retryStandards.scaleMilliseconds)", units: "milliseconds",
            "see base"),
        CatalogueKey(
            "max_delay_ms", .integer(0...600_000), standard: "\(retryStandards.delayMillisecondsMax)", units: "milliseconds",
            "no wait is longer, whatever Retry-After says"),
        CatalogueKey(
            "jitter", .choice(RetrySettings.Jitter.allCases.map(\.rawValue)), standard: retryStandards.jitter.rawValue,
            "full: a random part of the wait; none: all of it"),
        CatalogueKey(
            "methods", .list(.text(.method)), standard: flow(retryStandards.methods),
            "only idempotent methods are safe to repeat; a request with an Idempotency-Key is, too"),
        CatalogueKey(
            "on", .list(.text(.retryCondition)), standard: flow(retryStandards.conditions.map(\.text)),
            "what is worth another attempt: reasons of network failures, statuses (503, 5xx), business:CODE"),
        CatalogueKey(
            "budget_percent", .integer(0...100), standard: "\(retryStandards.budgetPercent)",
            "how much of the upstream's open exchanges may be retrying; 100 is no bound"),
        CatalogueKey(
            "budget_min", .integer(0...10_000), standard: "\(retryStandards.budgetMin)",
            "so many may be retrying at once whatever budget_percent says"),
    ])

    private static let corsStandards = CORSSettings()
    static let cors = Section([
        CatalogueKey(
            "origins", .list(.text(.browserOrigin)), standard: "[]", example: "[https://app.example.com]",
            "web origins whose pages may use this route; others get 403"),
        CatalogueKey(
            "methods", .list(.text(.method)), standard: "[]", example: "[GET, POST]",
            "methods pages may use; empty: the route's, or the usual six"),
        CatalogueKey(
            "headers", .list(.text(.header)), standard: "[]", example: "[Content-Type]",
            "request headers pages may send; empty: those they ask for"),
        CatalogueKey(
            "expose_headers", .list(.text(.header)), standard: "[]", example: "[X-Total-Count]",
            "response headers pages may read besides CryoNet-Failure and X-Request-Id"),
        CatalogueKey(
            "credentials", .boolean, standard: "\(corsStandards.allowsCredentials)", "whether pages may send their cookies along"),
        CatalogueKey(
            "max_age_s", .integer(0...86_400), standard: "\(corsStandards.maxAgeSeconds)", units: "seconds",
            "how long a browser may keep the answer to a preflight"),
    ])

    static let route = Section([
        CatalogueKey("name", .text(.name), required: true, example: "api", "stands in failures, the audit and metrics"),
        CatalogueKey(
            "path", .text(.routePath), required: true, example: "/api/*",
            "/api/* is /api and all below, /* everything, without * exactly that path"),
        CatalogueKey("host", .text(.host), example: "api.localhost", "only requests that name this host; absent: every host"),
        CatalogueKey("methods", .list(.text(.method)), standard: "[]", example: "[GET, HEAD]", "only these methods; empty: every method"),
        CatalogueKey("upstream", .text(.name), required: true, example: "api", "a name of upstreams"),
        CatalogueKey("token", .text(.name), standard: "none", example: "app", "a name of tokens, or none"),
        CatalogueKey(
            "auth", .choice(RouteSettings.Auth.allCases.map(\.rawValue)), example: "required",
            "required: only with a usable token; optional: without one it goes on unauthenticated; none: nothing is injected"),
        CatalogueKey(
            "allow_override", .list(.choice(RouteSettings.Override.allCases.map(\.rawValue))), standard: "[]", example: "[token, policy]",
            "what a request may choose itself by CryoNet-Token: NAME and CryoNet-Policy: NAME"),
        CatalogueKey("policy", .text(.name), standard: "none", example: "envelope", "a name of policies, or none: answers pass through"),
        CatalogueKey(
            "strip_prefix", .text(.pathPrefix), example: "/api", "taken off the front of the path before it goes to the upstream"),
        CatalogueKey(
            "drill", .text(.pathPrefix), example: "/orders", "marks the route for `cryonet drill --config`: a path it may ask for with GET"),
        CatalogueKey("retry", .section(retry), "attempts again after transient failures"),
        CatalogueKey("streams", .section(streams), "event streams and JSON lines on their way to the client"),
        CatalogueKey(
            "limits", .section(routeLimits), "how much this route takes; nobody waits: who is too many is told when to come again"),
        CatalogueKey(
            "rewrite",
            .section(
                Section([
                    CatalogueKey(
                        "location", .boolean, standard: "false", "Location at the upstream becomes the gateway's own address"),
                    CatalogueKey(
                        "cookies", .boolean, standard: "false",
                        "Set-Cookie loses Domain, gets the client's Path, and loses Secure on plain connections"),
                ])), "the upstream's address in its answers, for browsers that talk to the gateway"),
        CatalogueKey("cors", .section(cors), "cross-site requests of browsers; the gateway answers their preflights"),
    ])

    static func flow<T>(_ items: [T]) -> String { "[" + items.map { "\($0)" }.joined(separator: ", ") + "]" }
}
