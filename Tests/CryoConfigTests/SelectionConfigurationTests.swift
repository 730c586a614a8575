// Owns the tests of what a configuration says about choosing, placing and requiring tokens.
// Domain: cold

import CryoConfig
import CryoPipeline
import Testing

@Suite struct SelectionConfigurationTests {
    private func read(_ tokens: String, _ route: String = "") -> Result<LoadedConfiguration, ConfigurationProblems> {
        let text = """
            listen: { address: 127.0.0.1:0 }
            upstreams: { api: { url: https://api.example.com }, other: { url: https://other.example.com } }
            tokens: { app: { env: { name: A }\(tokens) } }
            policies: { envelope: { success: { field: code, equals: 0 } }, raw: { reply: raw } }
            routes: [{ name: api, path: /*, upstream: api\(route) }]

            """
        return readConfiguration(Array(text.utf8), fileName: "c.yaml", environment: { $0 == "A" ? "set" : nil })
    }

    private func inject(_ text: String) throws -> InjectSettings? {
        try read(", inject: { \(text) }").get().configuration.tokens.first?.inject
    }

    @Test("a token goes into a header, a query or a cookie; the format fits the place unless it is given")
    func places() throws {
        let standard = try inject("on_client_value: reject")
        #expect(standard?.place == .header && standard?.name == "Authorization" && standard?.format == "Bearer {token}")
        #expect(standard?.onClientValue == .reject)
        let query = try inject("query: api_key")
        #expect(query?.place == .query && query?.name == "api_key" && query?.format == "{token}")
        let cookie = try inject("cookie: sid, format: \"v1:{token}\"")
        #expect(cookie?.place == .cookie && cookie?.name == "sid" && cookie?.format == "v1:{token}")
    }

    @Test("what is printed for another place reads back as the same")
    func printed() throws {
        for text in ["query: k", "cookie: k, format: \"a{token}\"", "header: X-K", ""] {
            let loaded = try read(", inject: { \(text) }").get()
            let again = try readConfiguration(
                Array(ConfigurationPrinter.text(of: loaded).utf8), fileName: "p.yaml", environment: { $0 == "A" ? "set" : nil }
            ).get()
            let (one, other) = (loaded.configuration.tokens.first?.inject, again.configuration.tokens.first?.inject)
            #expect(one?.place == other?.place && one?.name == other?.name && one?.format == other?.format, "\(text)")
        }
    }

    @Test("a route says what it requires and what a request may choose")
    func route() throws {
        let route = try read("", ", token: app, auth: optional, allow_override: [token, policy]").get().configuration.routes.first
        #expect(route?.auth == .optional && route?.allowedOverrides == [.token, .policy])
        let plain = try read("", ", token: app").get().configuration.routes.first
        #expect(plain?.auth == nil && plain?.allowedOverrides == [])
        let chosen = try read("", ", auth: required, allow_override: [token]").get()
        #expect(chosen.warnings == [] && chosen.configuration.routes.first?.auth == .required)
        #expect(try read(", upstreams: [other, api]").get().configuration.tokens.first?.upstreams == ["other", "api"])
    }

    @Test(
        "what does not go together is told with its place",
        arguments: [
            ("", ", auth: required", "routes[0].auth: required, but the route has no token"),
            (", upstreams: [other]", ", token: app", "routes[0].token: tokens.app.upstreams does not list api"),
            ("", ", token: app, auth: maybe", "routes[0].auth: expected required, optional, none, found maybe"),
            ("", ", token: app, allow_override: [tokens]", "routes[0].allow_override[0]: expected token, policy, found tokens"),
        ])
    func problems(_ tokens: String, _ route: String, _ message: String) {
        guard case .failure(let problems) = read(tokens, route) else {
            Issue.record("no problem")
            return
        }
        #expect(problems.problems.count == 1 && problems.problems.first?.message == message)
    }

    @Test("business codes that nobody will look for are warned about", arguments: ["", ", policy: raw", ", policy: envelope"])
    func unjudged(_ policy: String) throws {
        let loaded = try read(", refresh: { on_business_codes: [10001] }", ", token: app" + policy).get()
        let isTold = loaded.warnings.contains { $0.message.contains("on_business_codes need a policy") }
        #expect(isTold == !policy.contains("envelope"))
    }
}
