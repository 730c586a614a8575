// Owns the tests of configurations that are right.
// Domain: cold

import CryoConfig
import CryoJSON
import CryoPipeline
import Testing

/// The example of the design, with its ellipses filled in.
let designExample = """
    listen:   { address: 127.0.0.1:8080, hosts: [localhost] }
    admin:    { address: 127.0.0.1:8081 }
    upstreams:
      api:
        url: https://api.example.com
        headers: { X-App-Version: "1.0" }
        timeouts: { connect_ms: 5000, response_ms: 30000, idle_ms: 30000, total_ms: 60000 }
        tls: { pins: [sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=], ca: ca.pem, client_certificate: client.pem }
    tokens:
      app:
        login:
          refresh: { method: POST, url: https://api.example.com/auth/refresh, json: { refreshToken: "{refresh_token}", n: 1 } }
          fields:  { token: data.token, refresh_token: data.refreshToken, expires_in: data.expiresIn }
          success: { field: code, equals: 0 }
        initial: { token: env:APP_TOKEN, refresh_token: env:APP_REFRESH_TOKEN }
        inject:  { header: Authorization, format: "Bearer {token}", on_client_value: replace }
        refresh: { on_status: [401], on_business_codes: [10001], before_expiry_s: 60, timeout_ms: 10000 }
        store:   { file: /var/lib/cryonet/app.json }
    policies:
      envelope:
        success: { field: code, equals: 0, missing: success }
        message: [message, msg, error, reason, detail]
        code: code
        reply: complete
        failure: { status: 422, codes: { "10001": 401 }, session_expired: [10001] }
    routes:
      - { name: login, path: /auth/*, upstream: api, token: none }
      - { name: api, path: /*, upstream: api, token: app, policy: envelope, retry: { limit: 2 } }
    audit:    { file: /var/log/cryonet/audit.jsonl, bodies: failures, max_body_bytes: 4096, redact: { headers: [X-Own], json: [phone] } }

    """

@Suite struct ConfigurationReaderTests {
    private func read(
        _ text: String, _ overrides: [ConfigurationOverride] = [], environment: [String: String] = [:]
    ) throws -> LoadedConfiguration {
        try readConfiguration(
            Array(text.utf8), fileName: "c.yaml", overrides: overrides, environment: { environment[$0] ?? setEnvironment($0) }
        ).get()
    }

    @Test("Tokens may share a session, and the admin side has a key of its own")
    func sessions() throws {
        let text = """
            listen: { address: 127.0.0.1:0 }
            admin: { address: unix:/run/cryonet/admin.sock, key: env:ADMIN_KEY, mode: "0660" }
            upstreams: { api: { url: https://api.example.com } }
            tokens:
              a: { env: { name: A }, session: user }
              b: { env: { name: B }, session: user }
              c: { env: { name: C } }
            routes: [ { name: api, path: /*, upstream: api } ]
            """
        let configuration = try read(text).configuration
        #expect(configuration.tokens.map(\.sessionName) == ["user", "user", nil])
        #expect(configuration.admin?.mode == 0o660)
        if case .environment(let name) = configuration.adminKey { #expect(name == "ADMIN_KEY") } else { Issue.record("no key") }
        #expect(try read(designExample).configuration.adminKey == nil)
    }

    @Test("The example of the design has the values it shows")
    func example() throws {
        let loaded = try read(designExample)
        #expect(loaded.warnings == [])
        let configuration = loaded.configuration
        #expect(configuration.listen.address == .tcp(host: "127.0.0.1", port: 8080))
        #expect(configuration.listen.hosts == ["localhost", "127.0.0.1", "[::1]"])
        #expect(configuration.admin?.address == .tcp(host: "127.0.0.1", port: 8081))
        #expect(configuration.limits == LimitSettings())

        let upstream = try #require(configuration.upstreams.first)
        #expect(upstream.url == UpstreamURL(isTLS: true, host: "api.example.com", port: 443))
        #expect(upstream.headers.map(\.name) == ["X-App-Version"] && upstream.headers.map(\.value) == ["1.0"])
        #expect(upstream.timeouts == UpstreamTimeouts())
        #expect(upstream.tls.pins.count == 1 && upstream.tls.caFile == "ca.pem" && upstream.tls.clientCertificateFile == "client.pem")

        let policy = try #require(configuration.policies.first)
        #expect(policy.success == .equals(try #require(JSONPath("code")), .number("0")))
        #expect(policy.messagePaths.map(\.description) == ["message", "msg", "error", "reason", "detail"])
        #expect(policy.view == .complete && policy.dataPath == nil && policy.codePath == JSONPath("code"))
        #expect(policy.failureStatus == 422 && policy.codes == ["10001": 401] && policy.sessionExpiredCodes == ["10001"])

        #expect(configuration.routes.map(\.name) == ["login", "api"])
        #expect(configuration.routes.map(\.token) == [nil, "app"])
        #expect(configuration.routes.map(\.policy) == [nil, "envelope"])
        #expect(configuration.routes.map(\.retry.limit) == [0, 2])

        let audit = try #require(configuration.audit)
        #expect(audit.file == "/var/log/cryonet/audit.jsonl" && audit.bodies == .failures && audit.bodyBytesMax == 4096)
        #expect(audit.redaction.headers == RedactionSettings().headers + ["x-own"])
        #expect(audit.redaction.json.contains("phone") && audit.redaction.json.contains("password"))
    }

    @Test("The token of the design's example has its call, fields and references")
    func exampleToken() throws {
        let token = try #require(try read(designExample).configuration.tokens.first)
        guard case .login(let login) = token.source, let refresh = login.refresh, case .json(.object(let members)) = refresh.call.body
        else {
            Issue.record("not a login with a JSON body")
            return
        }
        #expect(refresh.call.method == "POST" && refresh.call.url == "https://api.example.com/auth/refresh")
        #expect(members.map(\.key) == ["refreshToken", "n"])
        guard case .string("{refresh_token}") = members[0].value, case .literal("1") = members[1].value else {
            Issue.record("the body is not as written")
            return
        }
        #expect(refresh.fields.token == JSONPath("data.token") && refresh.fields.expiresIn == JSONPath("data.expiresIn"))
        #expect(login.success == .equals(try #require(JSONPath("code")), .number("0")) && login.codePath == JSONPath("code"))
        guard case .environment("APP_REFRESH_TOKEN") = token.initialRefreshToken else {
            Issue.record("the reference is lost")
            return
        }
        #expect(token.refresh.onBusinessCodes == ["10001"] && token.refresh.onStatus == [401])
        #expect(token.storeFile == "/var/lib/cryonet/app.json")
    }

    private static let short = """
        listen: { address: "unix:/run/c.sock" }
        upstreams: { api: { url: "http://[::1]:9000/v1/" } }
        policies:
          data: { success: { field: /ok, equals: true }, reply: data }
          text: { success: { field: s, equals: "0", strict: true } }
        routes:
          - { name: r, path: /a/*, host: API.local, upstream: api, strip_prefix: /a, cors: { origins: ["https://A.example:443"] } }
        """

    private func isTest(_ policy: PolicySettings, _ condition: SuccessTest.Condition, isStrict: Bool) -> Bool {
        guard case .test(let test) = policy.success else { return false }
        return test.condition == condition && test.isStrict == isStrict
    }

    @Test("Values are brought into one form: hosts lower case, default ports dropped, no final slash, hosts of routes allowed")
    func forms() throws {
        let configuration = try read(Self.short).configuration
        #expect(configuration.listen.address == .unix(path: "/run/c.sock"))
        #expect(configuration.upstreams[0].url == UpstreamURL(isTLS: false, host: "[::1]", port: 9000, basePath: "/v1"))
        #expect(configuration.routes[0].host == "api.local")
        #expect(configuration.routes[0].cors.origins == ["https://a.example"])
        #expect(configuration.policies[0].dataPath == JSONPath("data"))
        #expect(isTest(configuration.policies[0], .equals(.bool(true)), isStrict: false))
        #expect(isTest(configuration.policies[1], .equals(.string([0x30])), isStrict: true))
    }

    @Test("A flag wins over the environment, that over the file, that over the default")
    func precedence() throws {
        let environment = [
            "CRYONET_LISTEN_ADDRESS": "127.0.0.1:1", "CRYONET_WORKERS": "3", "CRYONET_AUDIT_FILE": "a.jsonl",
            "CRYONET_LISTEN_HOSTS": "a, b",
            "CRYONET_LIMITS_HEAD_BYTES_MAX": "",
        ]
        let flag = ConfigurationOverride(path: "listen.address", value: "127.0.0.1:2", flag: "--listen")
        let loaded = try read(Self.short, [flag], environment: environment)
        #expect(loaded.configuration.listen.address == .tcp(host: "127.0.0.1", port: 2))
        #expect(loaded.configuration.listen.hosts.suffix(3) == ["a", "b", "api.local"])
        #expect(loaded.configuration.workers == 3)
        #expect(loaded.configuration.audit?.file == "a.jsonl")
        #expect(loaded.configuration.limits == LimitSettings())
        #expect(loaded.origins["listen.address"] == .flag("--listen"))
        #expect(loaded.origins["workers"] == .environment(name: "CRYONET_WORKERS"))
        #expect(loaded.origins["routes[0].name"] == .file(YAMLMark(line: 7, column: 13)))
        #expect(loaded.origins["limits.head_bytes_max"] == nil)
    }

    @Test("Sources with calls are read whole: exec, a signed client, a first login with secrets from elsewhere")
    func sources() throws {
        let loaded = try read(
            """
            listen: { address: 127.0.0.1:0 }
            upstreams: { api: { url: https://a.example } }
            tokens:
              a: { exec: { command: [token, "a b"], env: { K: "env:CRYONET_TEST_K", R: eu } } }
              b:
                oauth2: { token_endpoint: "https://i.example/t", client_id: c, auth_method: private_key_jwt, private_key: file:/k, key_id: 7,
                          resources: [r1, r2], endpoint_params: { tenant: blue }, token_headers: { X-D: "{env:CRYONET_TEST_D}" } }
                refresh: { default_ttl_s: 300 }
              c:
                login:
                  sign_in: { url: "https://a.example/in", json: { user: u, password: "env:CRYONET_TEST_P" }, fields: { token: first } }
                  refresh: { url: "https://a.example/re", form: { rt: "{refresh_token}" } }
                  fields: { token: later, expires_at: until }
                  success: { field: code, equals: 0 }
                  transient_codes: [50301]
                  refusal_statuses: [401]
            routes: [ { name: r, path: /*, upstream: api } ]
            """, environment: ["CRYONET_TEST_K": "k"])
        #expect(
            loaded.warnings.map(\.description) == [
                "c.yaml:7:93: the environment variable CRYONET_TEST_D is not set",
                "c.yaml:11:74: the environment variable CRYONET_TEST_P is not set",
            ])
        let tokens = loaded.configuration.tokens
        guard case .exec(let exec) = tokens[0].source, case .oauth2(let oauth2) = tokens[1].source,
            case .login(let login) = tokens[2].source
        else {
            Issue.record("another source")
            return
        }
        #expect(exec.command == ["token", "a b"] && exec.environment.map(\.name) == ["K", "R"] && exec.references.count == 1)
        #expect(oauth2.authMethod == .privateKeyJWT && oauth2.keyID == "7" && oauth2.resources == ["r1", "r2"])
        #expect(oauth2.endpointParameters.map(\.value) == ["blue"] && oauth2.references.count == 2)
        #expect(tokens[1].refresh.defaultLifetimeSeconds == 300 && tokens[0].refresh.defaultLifetimeSeconds == nil)
        #expect(login.signIn?.fields.token == JSONPath("first") && login.refresh?.fields.token == JSONPath("later"))
        #expect(login.refresh?.fields.expiresAt == JSONPath("until") && login.references.count == 1)
        #expect(login.transientCodes == ["50301"] && login.refusalStatuses == [401])
    }

    @Test(
        "The success of a login is a condition of policies or a preset; the code of a failure is where it says, or where one can tell",
        arguments: [
            ("{ field: a.b, in: [0, OK] }", "a.b"), ("{ not: { field: x, exists: true } }", "x"), ("retCode", "retCode"),
            ("{ any: [{ field: x, equals: 1 }, { field: x, equals: 2 }] }", "x"), ("status_ok", "code"),
            ("{ all: [{ field: x, truthy: true }, { field: y, matches: \"OK*\" }] }", nil),
            ("{ all: [{ field: x, truthy: true }, { field: y, range: { min: 1 } }] }, code: c", "c"), ("success_true, code: c", "c"),
        ] as [(String, String?)])
    func loginSuccess(text: String, code: String?) throws {
        let loaded = try read(
            """
            listen: { address: 127.0.0.1:0 }
            upstreams: { api: { url: https://a.example } }
            tokens:
              t: { login: { sign_in: { url: "https://a.example/in" }, fields: { token: t }, success: \(text) } }
            policies:
              p: { success: \(text) }
            routes: [ { name: r, path: /*, upstream: api } ]
            """)
        guard case .login(let login) = loaded.configuration.tokens[0].source else {
            Issue.record("another source")
            return
        }
        #expect(login.success != nil && login.success == loaded.configuration.policies[0].success)
        #expect(login.codePath == code.flatMap { JSONPath($0) })
    }

    @Test("A client key takes the place of unsafe_listen, and cors says what pages may do")
    func guarded() throws {
        let loaded = try read(
            """
            listen: { address: 0.0.0.0:80, client_key: env:CRYONET_TEST_KEY, trusted_proxies: [10.0.0.0/8, "::1"], connect: upstreams }
            upstreams: { api: { url: https://a.example } }
            routes:
              - name: r
                path: /*
                upstream: api
                cors: { origins: [https://p.example], methods: [GET], headers: [X-A], expose_headers: [X-B], credentials: true, max_age_s: 0 }
              - { name: s, path: /s, upstream: api, rewrite: { location: true, cookies: true } }
            """, environment: ["CRYONET_TEST_KEY": "k"])
        #expect(loaded.configuration.listen.address == .tcp(host: "0.0.0.0", port: 80))
        guard case .environment("CRYONET_TEST_KEY") = loaded.configuration.clientKey else {
            Issue.record("the reference is lost")
            return
        }
        #expect(
            loaded.warnings.map(\.description) == [
                "c.yaml:1:20: listen.address: others can reach it, and without TLS the client key travels in clear text"
            ])
        #expect(loaded.configuration.listen.trustedProxies == [AddressBlock("10.0.0.0/8"), AddressBlock("::1")])
        #expect(loaded.configuration.listen.connect == .upstreams && ListenSettings(address: .unix(path: "/x")).connect == .off)
        #expect(!loaded.configuration.routes[0].rewrite.location && !loaded.configuration.routes[0].rewrite.cookies)
        #expect(loaded.configuration.routes[1].rewrite.location && loaded.configuration.routes[1].rewrite.cookies)
        var cors = CORSSettings()
        #expect(loaded.configuration.routes[1].cors == cors)
        cors.origins = ["https://p.example"]
        cors.methods = ["GET"]
        cors.headers = ["X-A"]
        cors.exposedHeaders = ["X-B"]
        cors.allowsCredentials = true
        cors.maxAgeSeconds = 0
        #expect(loaded.configuration.routes[0].cors == cors)
    }

    @Test("Who may connect is read: tls, the mode of a socket file, its users")
    func door() throws {
        let rest = "\nupstreams: { api: { url: https://a.example } }\nroutes: [ { name: r, path: /*, upstream: api } ]"
        let socket = try read("listen: { address: unix:/run/c.sock, mode: 660, peer_uid: [0, 1000] }" + rest).configuration.listen
        #expect(socket.mode == 0o660 && socket.peerUIDs == [0, 1000] && socket.tls == nil)
        let plain = try read("listen: { address: unix:/run/c.sock }" + rest).configuration.listen
        #expect(plain.mode == 0o600 && plain.peerUIDs.isEmpty)
        // Known clients may come from anywhere.
        let remote = try read("listen: { address: 0.0.0.0:443, tls: { certificate: c, key: k, client_ca: a } }" + rest)
        #expect(remote.configuration.listen.tls == ListenSettings.TLS(certificateFile: "c", keyFile: "k", clientCAFile: "a"))
        #expect(remote.warnings.isEmpty)
    }

    @Test("Literal secrets, unset variables and unsafe words are warnings")
    func warnings() throws {
        let text = """
            listen: { address: 0.0.0.0:80, unsafe_listen: true }
            upstreams: { api: { url: https://a.example, headers: { Authorization: x }, tls: { unsafe_skip_verify: true } } }
            tokens:
              a: { static: { token: hunter2 } }
              b: { env: { name: CRYONET_TEST_UNSET } }
              c: { login: { refresh: { url: http://a.example/, json: { password: hunter2 } }, fields: { token: t } } }
            routes: [ { name: r, path: /*, upstream: api } ]
            """
        let loaded = try read(text)
        #expect(
            loaded.warnings.map(\.description) == [
                "c.yaml:1:47: listen.unsafe_listen: whoever can reach this address uses the tokens",
                "c.yaml:2:71: upstreams.api.headers.Authorization: looks like a secret in the file: better a token",
                "c.yaml:2:103: upstreams.api.tls.unsafe_skip_verify: any certificate is accepted; whoever answers gets the token",
                "c.yaml:4:25: tokens.a.static.token: a literal secret: better env:NAME or file:PATH",
                "c.yaml:5:21: the environment variable CRYONET_TEST_UNSET is not set",
                "c.yaml:6:33: tokens.c.login.refresh.url: http sends secrets in clear text",
                "c.yaml:6:70: tokens.c.login.refresh.json.password: looks like a secret in the file: better env:NAME or file:PATH",
            ])
        #expect(!ConfigurationPrinter.text(of: loaded).contains("hunter2"))
    }

    private func policy(_ text: String) throws -> PolicySettings {
        let base = "listen: { address: 127.0.0.1:0 }\nupstreams: { api: { url: https://a.example } }\n"
        let rest = "routes: [ { name: r, path: /*, upstream: api } ]\npolicies: { p: \(text) }\n"
        return try #require(try read(base + rest).configuration.policies.first)
    }

    @Test("A condition is read as it is written, whatever is joined in it")
    func conditions() throws {
        let code = try #require(JSONPath("code"))
        let error = try #require(JSONPath("a.b"))
        func test(_ condition: SuccessTest.Condition) -> SuccessPredicate { .test(SuccessTest(path: code, condition: condition)) }
        let expected: [(String, SuccessPredicate)] = [
            (
                "{ field: code, equals: \"0\", missing: failure, strict: true }",
                .equals(code, .string([0x30]), missing: .failure, isStrict: true)
            ),
            ("{ field: code, equals: null }", test(.equals(.null))),
            ("{ field: code, in: [0, true, OK] }", test(.oneOf([.number("0"), .bool(true), .string(Array("OK".utf8))]))),
            ("{ field: code, range: { min: -1.5, max: 1e3 } }", test(.range(JSONNumberRange(lowest: "-1.5", highest: "1e3")))),
            ("{ field: code, range: { max: 7 } }", test(.range(JSONNumberRange(lowest: nil, highest: "7")))),
            ("{ field: code, exists: false }", test(.exists(false))), ("{ field: /code, truthy: true }", test(.truthy(true))),
            ("{ field: code, matches: \"2*\" }", test(.matches(try #require(TextPattern("2*"))))),
            (
                "{ all: [ { field: code, equals: 0 }, { not: { any: [ { field: a.b, exists: true } ] } } ] }",
                .all([.equals(code, .number("0")), .not(.any([.test(SuccessTest(path: error, condition: .exists(true)))]))])
            ),
        ]
        for (text, predicate) in expected { #expect(try policy("{ success: \(text) }").success == predicate, "\(text)") }
    }

    @Test("A preset says where everything is, unless the policy does")
    func presets() throws {
        let named = try policy("{ success: retCode, reply: data }")
        let preset = try #require(EnvelopePreset.named("retCode"))
        #expect(named.success == preset.success && named.codePath == preset.codePath && named.dataPath == preset.dataPath)
        #expect(named.messagePaths == preset.messagePaths)
        let own = try policy("{ success: retCode, code: c, message: [m], data: /d, reply: data }")
        #expect(own.success == preset.success && own.codePath == JSONPath("c") && own.dataPath == JSONPath("d"))
        #expect(own.messagePaths == [JSONPath("m")])
        var quick = QuickConfiguration(url: "http://127.0.0.1:9")
        quick.success = "success_true"
        #expect(
            try quick.load(environment: { _ in nil }).get().configuration.policies.first?.success
                == EnvelopePreset.named("success_true")?.success)
    }

    @Test("Codes have a short and a long form, and texts one or two languages")
    func failures() throws {
        let settings = try policy(
            """
            { failure_format: message, failure: { mode: annotate, session_expired: [9], codes: { "1": 401, "5*": { name: Busy, retryable: true },
              "2": { status: 403, message: x, session_expired: true } }, messages: { "404": { en: gone }, reset: weg } } }
            """)
        #expect(settings.failureFormat == .message && settings.failureMode == .annotate && settings.sessionExpiredCodes == ["9"])
        #expect(
            settings.codes == [
                "1": 401, "5*": CodeRule(name: "Busy", isRetryable: true),
                "2": CodeRule(status: 403, message: LocalizedText("x"), endsSession: true),
            ])
        #expect(settings.statusMessages == [404: LocalizedText(chinese: nil, english: "gone")])
        #expect(settings.reasonMessages == [.reset: LocalizedText("weg")])
    }
}
