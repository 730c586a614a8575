// Owns the tests of the printed configuration and of the form without a file.
// Domain: cold

import CryoConfig
import CryoJSON
import CryoPipeline
import Testing

@Suite struct ConfigurationPrinterTests {
    private func lines(_ loaded: LoadedConfiguration) -> [String] {
        ConfigurationPrinter.text(of: loaded).split(separator: "\n").map { line in
            // One space in the place of the padding before the comment.
            line.split(separator: " # ").enumerated().map { index, part in
                index == 0 ? String(part.reversed().drop { $0 == " " }.reversed()) : String(part)
            }.joined(separator: " # ")
        }
    }

    @Test("Each value is printed with its origin, and secrets are masked")
    func origins() throws {
        let text = """
            listen: { address: 127.0.0.1:0, hosts: [a, b] }
            upstreams: { api: { url: https://a.example, headers: { A: "1", X-Api-Key: hunter2 } } }
            tokens: { t: { static: { token: hunter2 } }, u: { static: { token: env:APP } } }
            policies: { p: { success: { field: code, equals: "0" }, failure: { codes: { "1": 401 } } } }
            routes: [ { name: r, path: /*, upstream: api } ]
            """
        let overrides = [ConfigurationOverride(path: "workers", value: "2", flag: "--workers")]
        let environment = ["CRYONET_LIMITS_HEAD_BYTES_MAX": "4096", "APP": "hunter2"]
        let loaded = try readConfiguration(
            Array(text.utf8), fileName: "c.yaml", overrides: overrides, environment: { environment[$0] }
        ).get()
        let lines = lines(loaded)
        for expected in [
            "listen:", "  address: 127.0.0.1:0 # file:1", "  hosts: [a, b] # file:1", "  unsafe_listen: false # default",
            "workers: 2 # flag",
            "  head_bytes_max: 4096 # env CRYONET_LIMITS_HEAD_BYTES_MAX", "      A: \"1\" # file:2", "      X-Api-Key: \"***\" # file:2",
            "      connect_ms: 5000 # default", "      token: \"***\" # file:3", "      token: env:APP # file:3",
            "      equals: \"0\" # file:4",
            "        \"1\": 401 # file:4", "  - name: r # file:5", "    path: /* # file:5", "    token: none # default",
            "      limit: 0 # default",
        ] {
            #expect(lines.contains(expected), "\(expected)")
        }
        #expect(!lines.contains("admin:") && !lines.contains("audit:"))
        #expect(!lines.joined().contains("hunter2"))
    }

    @Test("What is printed reads back to the same", arguments: ["cryonet.yaml", "minimal.yaml", "sidecar.yaml"])
    func readsBack(name: String) throws {
        let loaded = try readConfiguration(try confFile(name), fileName: name, environment: setEnvironment).get()
        let text = ConfigurationPrinter.text(of: loaded)
        let again = try readConfiguration(Array(text.utf8), fileName: name, environment: setEnvironment).get()
        func values(_ loaded: LoadedConfiguration) -> [String] { lines(loaded).map { String($0.prefix { $0 != "#" }) } }
        #expect(values(again) == values(loaded))
    }

    @Test("What is printed of policies means the same when it is read again: presets, conditions, codes, texts")
    func readsBackPolicies() throws {
        let text = """
            listen: { address: 127.0.0.1:0 }
            upstreams: { api: { url: https://a.example } }
            routes: [ { name: r, path: /*, upstream: api, policy: a } ]
            policies:
              a: { success: retCode, failure: { codes: { "5*": 401, "*": { name: X, message: { zh: 甲 } } }, messages: { "404": x } } }
              b: { success: { all: [ { field: code, in: [0, "0", true] }, { not: { field: /a/0, range: { min: 1 } } } ] } }
              c: { success: { field: a, matches: "[!x]\\\\*y#*" }, reply: data, keys: camel_case, failure_format: message }
              d: { success: { field: a, exists: true }, failure: { mode: annotate, codes: { "1": { retryable: true } } } }
            """
        let loaded = try readConfiguration(Array(text.utf8), fileName: "c.yaml", environment: { _ in nil }).get()
        let printed = ConfigurationPrinter.text(of: loaded)
        let again = try readConfiguration(Array(printed.utf8), fileName: "c.yaml", environment: { _ in nil }).get()
        for (policy, same) in zip(loaded.configuration.policies, again.configuration.policies) {
            #expect(policy.success == same.success && policy.messagePaths == same.messagePaths && policy.codePath == same.codePath)
            #expect(policy.dataPath == same.dataPath && policy.codes == same.codes && policy.statusMessages == same.statusMessages)
            #expect(policy.failureMode == same.failureMode && policy.failureFormat == same.failureFormat && policy.keys == same.keys)
        }
        #expect(again.configuration.policies.count == 4)
        #expect(again.configuration.policies[0].codePath == JSONPath("retCode"))
    }

    @Test("The form without a file has an upstream, a token, a policy and a route")
    func quick() throws {
        var quick = QuickConfiguration(url: "https://api.example.com")
        quick.bearer = "env:TOKEN"
        quick.success = "code=0"
        quick.auditFile = "audit.jsonl"
        let configuration = try quick.load(environment: setEnvironment).get().configuration
        #expect(configuration.listen.address == .tcp(host: "127.0.0.1", port: 8080))
        #expect(configuration.upstreams.map(\.url.origin) == ["https://api.example.com"])
        guard case .environment("TOKEN") = configuration.tokens.first?.source else {
            Issue.record("the token is not from the environment")
            return
        }
        #expect(configuration.policies.first?.success == .equals(try #require(JSONPath("code")), .number("0")))
        #expect(configuration.routes.map(\.path) == ["/*"])
        #expect(configuration.routes[0].token == configuration.tokens[0].name)
        #expect(configuration.routes[0].policy == configuration.policies[0].name)
        #expect(configuration.audit?.file == "audit.jsonl")
    }

    @Test("Problems of the form without a file name the argument")
    func quickProblems() {
        var quick = QuickConfiguration(url: "api.example.com")
        quick.success = "code"
        quick.listen = "0.0.0.0:80"
        quick.bearer = "env:"
        guard case .failure(let problems) = quick.load(environment: { _ in nil }) else {
            Issue.record("no problems")
            return
        }
        #expect(
            Set(problems.problems.map(\.description)) == [
                "URL: upstreams.upstream.url: a URL begins with https:// or http://, did you mean \"https://api.example.com\"",
                "--success: policies.envelope.success: needs one of equals, in, range, exists, truthy, matches, all, any, not",
                "--listen: listen.address: not a loopback address: others could use the tokens; say unsafe_listen: true if that is meant",
                "--bearer: tokens.bearer.env.name: an environment variable's name is letters, digits and \"_\", not beginning with a digit",
            ])
    }

    @Test("Values of success are numbers, truth, nothing or text as JSON would have it")
    func successValues() throws {
        let expected: [(String, JSONScalar)] = [
            ("code=200", .number("200")), ("ok=true", .bool(true)), ("error=null", .null), ("s=\"0\"", .string([0x30])),
            ("s=OK", .string(Array("OK".utf8))),
        ]
        for (text, value) in expected {
            var quick = QuickConfiguration(url: "http://127.0.0.1:9")
            quick.success = text
            let policy = try quick.load(environment: { _ in nil }).get().configuration.policies[0]
            guard case .test(let test) = policy.success else {
                Issue.record("\(text) is no test")
                continue
            }
            #expect(test.condition == .equals(value), "\(text)")
        }
    }

    @Test("A printed secret of any kind is masked and a quick token is warned about")
    func quickLiteral() throws {
        var quick = QuickConfiguration(url: "http://127.0.0.1:9")
        quick.bearer = "hunter2"
        let loaded = try quick.load(environment: { _ in nil }).get()
        #expect(
            loaded.warnings.map(\.description) == ["--bearer: tokens.bearer.static.token: a literal secret: better env:NAME or file:PATH"])
        #expect(!ConfigurationPrinter.text(of: loaded).contains("hunter2"))
    }

    @Test("The nearest word is suggested, a far one is not")
    func suggestions() {
        func suggested(_ key: String) -> Bool {
            let result = readConfiguration(Array("\(key): 1".utf8), fileName: "c", environment: { _ in nil })
            guard case .failure(let problems) = result else { return false }
            return problems.description.contains("did you mean \"routes\"")
        }
        #expect(suggested("route") && suggested("rotues") && suggested("Routes") && suggested("routs"))
        #expect(!suggested("paths") && !suggested("r"))
    }
}
