// Owns the tests of configurations that are wrong: the exact text of every kind of problem.
// Domain: cold

import CryoConfig
import Testing

private let manyPaths = (1...65).map { "p\($0)" }.joined(separator: ", ")

@Suite struct ConfigurationProblemsTests {
    /// One section of a configuration that is right otherwise; the section's text begins on line 1.
    struct Case: Sendable, CustomTestStringConvertible {
        var section: String
        var text: String
        var problems: [String]

        init(_ section: String, _ text: String, _ problems: String...) {
            (self.section, self.text, self.problems) = (section, text, problems)
        }
        var testDescription: String { "\(section): \(text)" }
    }

    private static let right = [
        ("listen", "{ address: 127.0.0.1:0 }"), ("upstreams", "{ api: { url: https://a.example } }"),
        ("routes", "[ { name: r, path: /*, upstream: api } ]"),
    ]

    private func problems(_ text: String, overrides: [ConfigurationOverride] = [], _ environment: [String: String] = [:]) -> [String] {
        let result = readConfiguration(Array(text.utf8), fileName: "c.yaml", overrides: overrides, environment: { environment[$0] })
        if case .failure(let problems) = result { return problems.problems.map(\.description) }
        return []
    }

    @Test(
        "A problem is told with its place, in exact words",
        arguments: structure + listen + upstreams + tokens + policies + routes + drills)
    func told(example: Case) {
        let rest = Self.right.filter { $0.0 != example.section }.map { "\($0.0): \($0.1)\n" }.joined()
        let section = example.section.isEmpty ? "" : "\(example.section): "
        #expect(problems("\(section)\(example.text)\n\(rest)") == example.problems.map { "c.yaml:\($0)" })
    }

    @Test("All problems of a file are told, from top to bottom")
    func all() {
        let text = """
            listen: { adress: 127.0.0.1:8080 }
            wrkers: 2
            upstreams:
              api: { url: ftp://x, timeouts: { connect_ms: 5s } }
            routes:
              - { name: a, path: api, upstream: apo, token: app }
              - { path: /*, upstream: api }
            """
        #expect(
            problems(text) == [
                "c.yaml:1:9: listen: missing key \"address\"",
                "c.yaml:1:11: listen: unknown key \"adress\", did you mean \"address\"",
                "c.yaml:2:1: unknown key \"wrkers\", did you mean \"workers\"",
                "c.yaml:4:15: upstreams.api.url: a URL begins with https:// or http://",
                "c.yaml:4:48: upstreams.api.timeouts.connect_ms: expected a whole number from 1 to 86400000, found 5s",
                "c.yaml:6:22: routes[0].path: a path begins with \"/\", did you mean \"/api\"",
                "c.yaml:6:37: routes[0].upstream: there is no upstream \"apo\", did you mean \"api\"",
                "c.yaml:6:49: routes[0].token: there is no token \"app\"",
                "c.yaml:7:5: routes[1]: missing key \"name\"",
            ])
    }

    @Test("An empty file misses its sections")
    func empty() {
        let expected = ["listen", "upstreams", "routes"].map { "c.yaml:1:1: missing key \"\($0)\"" }
        #expect(problems("") == expected)
        #expect(problems("# nothing\n") == expected)
        #expect(problems("- a\n") == ["c.yaml:1:1: expected a mapping, found a list"])
        #expect(problems("a: [\n") == ["c.yaml:2:1: while parsing a flow node: did not find expected node content"])
    }

    @Test("Problems of flags and variables name them")
    func outside() {
        let text = Self.right.map { "\($0.0): \($0.1)\n" }.joined()
        let overrides = [
            ConfigurationOverride(path: "listen.adress", value: "x", flag: "--set"),
            ConfigurationOverride(path: "listen.address", value: "8080", flag: "--listen"),
        ]
        #expect(
            problems(text, overrides: overrides, ["CRYONET_WORKERS": "many"]) == [
                "--set: \"listen.adress\" is no key that can be set outside the file, did you mean \"listen.address\"",
                "--listen: listen.address: an address is host:port, as in 127.0.0.1:8080 or [::1]:8080, or unix:/path, "
                    + "did you mean \"127.0.0.1:8080\"",
                "CRYONET_WORKERS: workers: expected a whole number from 0 to 256, found many",
            ])
    }

    @Test("A problem never shows a secret")
    func secrets() {
        let text = """
            tokens: { a: { static: { token: "hunter2\\n" }, inject: { format: "hunter2" } } }
            upstreams: { api: { url: https://user:hunter2@a.example, headers: { X-Key: "hunter2\\r\\nX: y" } } }
            """
        #expect(!problems(text).isEmpty && !problems(text).joined().contains("hunter2"))
    }

    static let structure = [
        Case("", "workers: 2.5", "1:10: workers: expected a whole number from 0 to 256, found 2.5"),
        Case("", "workers: \"2\"", "1:10: workers: expected a whole number from 0 to 256, found \"2\""),
        Case("", "workers: 0x10", "1:10: workers: expected a whole number from 0 to 256, found 0x10"),
        Case("", "workers: 257", "1:10: workers: expected a whole number from 0 to 256, found 257"),
        Case("", "workers: 99999999999999999999", "1:10: workers: expected a whole number from 0 to 256, found 99999999999999999999"),
        Case("", "workers:", "1:9: workers: expected a whole number from 0 to 256, found nothing"),
        Case("", "limits: { head_bytes_max: 1 }", "1:27: limits.head_bytes_max: expected a whole number from 1024 to 1048576, found 1"),
        Case("", "limits: []", "1:9: limits: expected a mapping, found a list"),
        Case(
            "", "audit: { bodies: some }", "1:8: audit: missing key \"file\"", "1:18: audit.bodies: expected off, failures, all, found some"
        ),
        Case("", "audit: { file: a, bodies: al }", "1:27: audit.bodies: expected off, failures, all, found al, did you mean \"all\""),
        Case("", "zebra: 1", "1:1: unknown key \"zebra\""),
        Case("", "\"a\\e[31m\": 1", "1:1: unknown key \"a\\u001b[31m\""),
    ]

    static let listen = [
        Case(
            "listen", "{ address: 0.0.0.0:80 }",
            "1:20: listen.address: not a loopback address: others could use the tokens; say unsafe_listen: true if that is meant"),
        Case(
            "listen", "{ address: \"[::]:80\", unsafe_listen: yes }",
            "1:20: listen.address: not a loopback address: others could use the tokens; say unsafe_listen: true if that is meant",
            "1:46: listen.unsafe_listen: expected true or false, found yes"),
        Case(
            "listen", "{ address: localhost:80, trusted_proxies: [10.0.0.0/33] }",
            "1:52: listen.trusted_proxies[0]: a peer is an IP address, a block as in 10.0.0.0/8, or unix"),
        Case("listen", "{ address: 0.0.0.0:80, client_key: \"\" }", "1:44: listen.client_key: must not be empty"),
        Case("listen", "{ address: 127.0.0.1:99999 }", "1:20: listen.address: a port is a number from 0 to 65535"),
        Case(
            "listen", "{ address: \"::1:80\" }",
            "1:20: listen.address: an IPv6 address needs brackets, did you mean \"[::1]:80\""),
        Case(
            "listen", "{ address: unix:run.sock }",
            "1:20: listen.address: a socket is unix: and an absolute path of at most 107 bytes, as in unix:/run/cryonet.sock"),
        Case("listen", "{ address: localhost:80, tls: { certificate: a } }", "1:39: listen.tls: missing key \"key\""),
        Case(
            "listen", "{ address: localhost:80, mode: \"0900\" }",
            "1:40: listen.mode: permissions are three octal digits, as in 0600"),
        Case("listen", "{ address: localhost:80, mode: 1777 }", "1:40: listen.mode: permissions are three octal digits, as in 0600"),
        Case("listen", "{ address: localhost:80, peer_uid: [0] }", "1:44: listen.peer_uid: only a unix socket tells who connects"),
        Case(
            "listen", "{ address: \"0.0.0.0:80\", tls: { certificate: a, key: b } }",
            "1:20: listen.address: not a loopback address: others could use the tokens; say unsafe_listen: true if that is meant"),
        Case("listen", "{ address: localhost:80, hosts: [a:80] }", "1:42: listen.hosts[0]: a host has no port here, did you mean \"a\""),
        Case(
            "", "admin: { address: 10.0.0.1:1 }",
            "1:19: admin.address: not a loopback address: others could use the tokens; say unsafe_listen: true if that is meant"),
    ]

    static let upstreams = [
        Case("upstreams", "{}", "1:12: upstreams: needs at least one upstream", "3:42: routes[0].upstream: there is no upstream \"api\""),
        Case("upstreams", "{ api: {} }", "1:19: upstreams.api: missing key \"url\""),
        Case(
            "upstreams", "{ api: { url: a.example } }",
            "1:26: upstreams.api.url: a URL begins with https:// or http://, did you mean \"https://a.example\""),
        Case(
            "upstreams", "{ api: { url: \"https://a.example/?q\" } }",
            "1:26: upstreams.api.url: an upstream's URL has no query: requests bring their own"),
        Case(
            "upstreams", "{ api: { url: \"https://u:p@a.example\" } }",
            "1:26: upstreams.api.url: a URL must not hold a user or password: use a token"),
        Case("upstreams", "{ api: { url: \"https://a.example:0\" } }", "1:26: upstreams.api.url: a port is a number from 1 to 65535"),
        Case("upstreams", "{ api: { url: \"https://a.example/a/../b\" } }", "1:26: upstreams.api.url: dot segment in the path"),
        Case(
            "upstreams", "{ api: { url: https://a.example, headers: { \"A B\": 1 } } }",
            "1:56: upstreams.api.headers.A B: a header name is letters, digits and !#$%&'*+-.^_`|~ only"),
        Case(
            "upstreams", "{ api: { url: https://a.example, headers: { A: \"x\\r\\ny\" } } }",
            "1:59: upstreams.api.headers.A: a header value must not contain CR or LF"),
        Case(
            "upstreams", "{ api: { url: https://a.example, headers: { Host: b } } }",
            "1:56: upstreams.api.headers.Host: the gateway sets this header itself"),
        Case(
            "upstreams", "{ api: { url: https://a.example, headers: { A: b, a: c } } }", "1:65: upstreams.api.headers: \"a\" is there twice"
        ),
        Case(
            "upstreams", "{ api: { url: https://a.example, tls: { pins: [md5/x] } } }",
            "1:59: upstreams.api.tls.pins[0]: a pin is sha256/ and 44 characters of base64: the SHA-256 of the public key's DER"),
        Case(
            "upstreams", "{ api: { url: https://a.example, tls: { client_key: k } } }",
            "1:64: upstreams.api.tls.client_key: needs client_certificate"),
        Case(
            "upstreams", "{ api: { url: https://a.example, http2: on } }",
            "1:52: upstreams.api.http2: expected true or false, found on"),
    ]

    static let tokens = [
        Case("tokens", "{ t: {} }", "1:14: tokens.t: needs one of static, env, file, exec, oauth2, login"),
        Case("tokens", "{ t: { exec: { command: [] } } }", "1:33: tokens.t.exec.command: needs a program"),
        Case("tokens", "{ t: { exec: { command: a b } } }", "1:33: tokens.t.exec.command: expected a list, found a b"),
        Case("tokens", "{ t: { env: { name: A }, file: { path: p } } }", "1:34: tokens.t: file and env exclude each other"),
        Case(
            "tokens", "{ t: { env: { name: 1A } } }",
            "1:29: tokens.t.env.name: an environment variable's name is letters, digits and \"_\", not beginning with a digit"),
        Case("tokens", "{ none: { env: { name: A } } }", "1:11: \"none\" cannot be a name: it means nothing"),
        Case(
            "tokens", "{ t: { env: { name: A }, inject: { format: Bearer } } }",
            "1:52: tokens.t.inject.format: must contain {token} exactly once, as in \"Bearer {token}\""),
        Case(
            "tokens", "{ t: { env: { name: A }, inject: { header: X-A, query: k, cookie: c } } }",
            "1:57: tokens.t.inject: query and header exclude each other", "1:67: tokens.t.inject: cookie and header exclude each other"),
        Case(
            "tokens", "{ t: { env: { name: A }, inject: { query: a=b } } }",
            "1:51: tokens.t.inject.query: a parameter's name is letters, digits, \"-\", \".\", \"_\" and \"~\""),
        Case(
            "tokens", "{ t: { env: { name: A }, upstreams: [apo] } }",
            "1:46: tokens.t.upstreams[0]: there is no upstream \"apo\", did you mean \"api\""),
        Case(
            "tokens", "{ t: { env: { name: A }, refresh: { on_status: [403] } } }",
            "1:57: tokens.t.refresh.on_status: 403 never refreshes: the token was understood"),
        Case(
            "tokens", "{ t: { env: { name: A }, refresh: { on_status: 401 } } }",
            "1:56: tokens.t.refresh.on_status: expected a list, found 401"),
        Case(
            "tokens", "{ t: { oauth2: { token_endpoint: https://a.example, client_id: c } } }",
            "1:24: tokens.t.oauth2: grant_type client_credentials needs client_secret"),
        Case(
            "tokens", "{ t: { oauth2: { token_endpoint: https://a.example, client_id: c, grant_type: refresh_token } } }",
            "1:24: tokens.t.oauth2: grant_type refresh_token needs initial.refresh_token or store"),
        Case(
            "tokens",
            "{ t: { oauth2: { token_endpoint: https://a.example, client_id: c, auth_method: private_key_jwt, client_secret: env:A } } }",
            "1:24: tokens.t.oauth2: auth_method private_key_jwt needs private_key",
            "1:120: tokens.t.oauth2.client_secret: auth_method private_key_jwt has no use for it"),
        Case(
            "tokens", "{ t: { oauth2: { token_endpoint: https://a.example, client_id: c, grant_type: password, username: u } } }",
            "1:24: tokens.t.oauth2: grant_type password needs password"),
        Case(
            "tokens",
            "{ t: { oauth2: { token_endpoint: https://a.example, client_id: c, client_secret: env:A, endpoint_params: { scope: s } } } }",
            "1:123: tokens.t.oauth2.endpoint_params: scope has a key of its own"),
        Case("tokens", "{ t: { login: { fields: { token: t } } } }", "1:23: tokens.t.login: needs sign_in or refresh"),
        Case(
            "tokens", "{ t: { login: { sign_in: { url: https://a.example } } } }",
            "1:34: tokens.t.login.sign_in: needs fields, here or beside it"),
        Case(
            "tokens", "{ t: { login: { sign_in: { url: https://a.example, form: { a: \"{token}\" } }, fields: { token: t } } } }",
            "1:34: tokens.t.login.sign_in: there is no token yet: {token} and {refresh_token} belong into refresh"),
        Case(
            "tokens", "{ t: { login: { sign_in: { url: https://a.example }, fields: { token: t }, transient_codes: [1] } } }",
            "1:101: tokens.t.login.transient_codes: without success no answer is refused by a code"),
        Case(
            "tokens",
            "{ t: { login: { sign_in: { url: https://a.example }, fields: { token: t }, "
                + "success: { all: [{ field: a, equals: 0 }, { field: b, in: [] }, { field: c }] }, refusal_codes: [1] } } }",
            "1:142: tokens.t.login.success.all[1].in: needs at least one value",
            "1:148: tokens.t.login.success.all[2]: needs one of equals, in, range, exists, truthy, matches, all, any, not",
            "1:180: tokens.t.login.refusal_codes: needs code: success looks at more than one field"),
        Case(
            "tokens", "{ t: { login: { sign_in: { url: https://a.example }, fields: { token: t }, success: code0_msg_dta, code: c } } }",
            "1:93: tokens.t.login.success: expected code0_msg_data, code200_msg_data, code0_message_data, retCode, status_ok, "
                + "success_true, found code0_msg_dta, did you mean \"code0_msg_data\""),
        Case(
            "tokens", "{ t: { login: { sign_in: { url: https://a.example }, fields: { token: t }, code: c } } }",
            "1:90: tokens.t.login.code: only success makes codes of use"),
        Case(
            "tokens", "{ t: { login: { refresh: { url: https://a.example, json: {}, form: {} }, fields: { token: t } } } }",
            "1:70: tokens.t.login.refresh: form and json exclude each other"),
        Case(
            "tokens", "{ t: { login: { refresh: { url: https://a.example, json: { a: {token} } }, fields: { token: a..b } } } }",
            "1:71: tokens.t.login.refresh.json.a: a placeholder needs quotes, did you mean \"{token}\"",
            "1:101: tokens.t.login.fields.token: not a path into JSON: write data.token or /data/token, at most 32 segments"),
    ]

    static let drills = [
        Case(
            "routes", "[{ name: r, path: /a/*, upstream: api, methods: [POST], drill: /b }]",
            "1:72: routes[0].drill: not a path of this route", "1:72: routes[0].drill: the route has no token",
            "1:72: routes[0].drill: the route takes no GET")
    ]

    static let policies = [
        Case("policies", "{ p: { success: { equals: 0 } } }", "1:27: policies.p.success: missing key \"field\""),
        Case(
            "policies", "{ p: { success: { field: code } } }",
            "1:27: policies.p.success: needs one of equals, in, range, exists, truthy, matches, all, any, not"),
        Case(
            "policies", "{ p: { success: code0_msg_dta } }",
            "1:27: policies.p.success: expected code0_msg_data, code200_msg_data, code0_message_data, retCode, status_ok, success_true, "
                + "found code0_msg_dta, did you mean \"code0_msg_data\""),
        Case(
            "policies", "{ p: { success: { field: code, equals: 0, in: [1] } } }",
            "1:53: policies.p.success: in and equals exclude each other"),
        Case(
            "policies", "{ p: { success: { field: a..b, equals: 0 } } }",
            "1:36: policies.p.success.field: not a path into JSON: write data.token or /data/token, at most 32 segments"),
        Case(
            "policies", "{ p: { success: { all: [ { not: { field: /a/~2, equals: 0 } } ] } } }",
            "1:52: policies.p.success.all[0].not.field: not a path into JSON: write data.token or /data/token, at most 32 segments"),
        Case("policies", "{ p: { success: { any: [ { equals: 0 } ] } } }", "1:36: policies.p.success.any[0]: missing key \"field\""),
        Case("policies", "{ p: { success: { all: [] } } }", "1:34: policies.p.success.all: needs at least one condition"),
        Case("policies", "{ p: { success: { field: a, in: [] } } }", "1:43: policies.p.success.in: needs at least one value"),
        Case("policies", "{ p: { success: { field: a, range: {} } } }", "1:46: policies.p.success.range: needs min or max"),
        Case(
            "policies", "{ p: { success: { field: a, range: { min: 2, max: 1 } } } }", "1:61: policies.p.success.range.max: less than min"
        ),
        Case(
            "policies", "{ p: { success: { field: a, range: { min: x } } } }",
            "1:53: policies.p.success.range.min: not a number: write it as JSON does, as in 200 or -1.5"),
        Case(
            "policies", "{ p: { success: { field: a, matches: \"[a\" } } }",
            "1:48: policies.p.success.matches: not a pattern: * is any text, ? a character, [a-z] one of these, "
                + "\\ takes the next as it is; at most 63 bytes besides *"),
        Case(
            "policies", "{ p: { success: { field: a, exists: true, missing: success } } }",
            "1:62: policies.p.success.missing: has no meaning here: exists says what a missing field is itself"),
        Case(
            "policies", "{ p: { success: { not: { field: a, truthy: true }, strict: true } } }",
            "1:70: policies.p.success.strict: belongs to the condition in not"),
        Case(
            "policies", "{ p: { message: [\(manyPaths)] } }", "1:16: policies.p: more than 64 different paths"),
        Case(
            "policies", "{ p: { keys: camel_case } }", "1:24: policies.p.keys: only a payload's names change: needs reply: data"),
        Case(
            "policies", "{ p: { failure: { codes: { \"5*0\": 401 } } } }",
            "1:38: policies.p.failure.codes.5*0: \"*\" stands at the end only: 5* is every code that begins with 5"),
        Case(
            "policies", "{ p: { failure: { codes: { \"1\": { status: 200, nme: x } } } } }",
            "1:53: policies.p.failure.codes.1.status: expected a whole number from 400 to 599, found 200",
            "1:58: policies.p.failure.codes.1: unknown key \"nme\", did you mean \"name\""),
        Case(
            "policies", "{ p: { failure: { messages: { upstream_timedout: x, \"200\": y } } } }",
            "1:41: policies.p.failure.messages.upstream_timedout: neither a status from 400 to 599 nor a reason of the failure table, "
                + "did you mean \"upstream_timed_out\"",
            "1:63: policies.p.failure.messages.200: neither a status from 400 to 599 nor a reason of the failure table"),
        Case(
            "policies", "{ p: { failure: { mode: anotate } } }",
            "1:35: policies.p.failure.mode: expected replace, annotate, found anotate, did you mean \"annotate\""),
        Case(
            "policies", "{ p: { failure: { codes: { \"1\": 200 } } } }",
            "1:43: policies.p.failure.codes.1: expected a whole number from 400 to 599, found 200"),
        Case("policies", "{ p: { reply: dta } }", "1:25: policies.p.reply: expected complete, data, raw, found dta, did you mean \"data\""),
    ]

    static let routes = [
        Case("routes", "[]", "1:9: routes: needs at least one route"),
        Case(
            "routes", "[ { name: r, path: /a*, upstream: api } ]",
            "1:28: routes[0].path: \"*\" stands for whole segments at the end only, as in /api/*"),
        Case(
            "routes", "[ { name: r, path: /a, upstream: api }, { name: r, path: /b, upstream: api } ]",
            "1:57: routes[1].name: the name \"r\" is taken by an earlier route"),
        Case(
            "routes", "[ { name: a, path: /a, upstream: api }, { name: b, path: /a, methods: [GET], upstream: api } ]",
            "1:66: routes[1].path: never reached: route \"a\" takes all its requests"),
        Case("routes", "[ { name: a, path: /a, methods: [GET], upstream: api }, { name: b, path: /a, upstream: api } ]"),
        Case(
            "routes", "[ { name: a, path: /a, methods: [get], upstream: api } ]",
            "1:42: routes[0].methods[0]: methods are case-sensitive, did you mean \"GET\""),
        Case(
            "routes", "[ { name: a, path: /a, strip_prefix: /b, upstream: api } ]",
            "1:46: routes[0].strip_prefix: path does not begin with it"),
        Case(
            "routes", "[ { name: a, path: /a, cors: { origins: [\"*\"] }, upstream: api } ]",
            "1:50: routes[0].cors.origins[0]: \"*\" would let every web page use the token: list the origins"),
        Case(
            "routes", "[ { name: a, path: /a, policy: envelop, upstream: api } ]",
            "1:40: routes[0].policy: there is no policy \"envelop\""),
        Case(
            "routes", "[ { name: a, path: /a, retry: { base: 0.5, jitter: ful }, upstream: api } ]",
            "1:47: routes[0].retry.base: expected a number from 1 to 10, found 0.5",
            "1:60: routes[0].retry.jitter: expected full, none, found ful, did you mean \"full\""),
    ]
}
