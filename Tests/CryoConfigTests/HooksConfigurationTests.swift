// Owns the tests of what a configuration says about hooks.
// Domain: cold

import CryoConfig
import CryoPipeline
import Testing

@Suite struct HooksConfigurationTests {
    private func read(_ hooks: String) -> Result<LoadedConfiguration, ConfigurationProblems> {
        let text = """
            listen: { address: 127.0.0.1:0 }
            upstreams: { api: { url: https://api.example.com } }
            tokens: { app: { env: { name: A }, hooks: \(hooks) } }
            policies: { envelope: { hooks: \(hooks) } }
            routes: [{ name: api, path: /*, upstream: api, token: app, policy: envelope }]

            """
        return readConfiguration(Array(text.utf8), fileName: "c.yaml", environment: { $0 == "A" || $0 == "S" ? "set" : nil })
    }

    @Test("tokens and policies have hooks alike: webhooks and commands, with their events and times")
    func hooks() throws {
        let loaded = try read(
            """
            [{ webhook: { url: https://ops.example.com/h, secret: env:S, headers: { X-A: b }, ca: ca.pem }, events: [session_expired] },
              { command: [/bin/on-failure, -v], timeout_ms: 50 }]
            """
        ).get()
        #expect(loaded.warnings == [])
        for hooks in [loaded.configuration.tokens.first?.hooks, loaded.configuration.policies.first?.hooks] {
            #expect(hooks?.count == 2)
            guard let first = hooks?.first, let second = hooks?.last, case .webhook(let webhook) = first.target,
                case .command(let arguments) = second.target
            else {
                Issue.record("other hooks than written")
                return
            }
            #expect(webhook.url == "https://ops.example.com/h" && webhook.caFile == "ca.pem")
            #expect(webhook.headers.map(\.name) == ["X-A"] && webhook.headers.map(\.value) == ["b"])
            if case .environment(let name) = webhook.secret { #expect(name == "S") } else { Issue.record("no secret") }
            #expect(first.events == [.sessionExpired] && first.timeoutMilliseconds == 5_000)
            #expect(arguments == ["/bin/on-failure", "-v"] && second.events == [.failure, .sessionExpired])
            #expect(second.timeoutMilliseconds == 50)
        }
    }

    @Test(
        "what is wrong is told",
        arguments: [
            ("[{}]", "hooks[0]: needs one of webhook, command"),
            ("[{ command: [a], webhook: { url: https://a.example } }]", "hooks[0]: webhook and command exclude each other"),
            ("[{ command: [] }]", "hooks[0].command: names no program"),
            ("[{ command: [a], events: [] }]", "hooks[0].events: needs at least one event"),
            ("[{ command: [a], events: [session] }]", "hooks[0].events[0]: expected failure, session_expired, found session"),
            ("[{ webhook: {} }]", "hooks[0].webhook: missing key \"url\""),
        ])
    func problems(_ hooks: String, _ message: String) {
        guard case .failure(let problems) = read(hooks) else {
            Issue.record("no problem")
            return
        }
        let messages = problems.problems.map(\.message)
        #expect(messages == ["tokens.app.\(message)", "policies.envelope.\(message)"])
    }

    @Test("a webhook without TLS and a secret in the file are warned about, and the secret is not printed")
    func warnings() throws {
        let loaded = try read("[{ webhook: { url: http://a.example, secret: the-literal-secret } }]").get()
        #expect(loaded.warnings.filter { $0.message.contains("clear text") }.count == 2)
        #expect(loaded.warnings.filter { $0.message.contains("a literal secret") }.count == 2)
        #expect(!ConfigurationPrinter.text(of: loaded).contains("the-literal-secret"))
    }
}
