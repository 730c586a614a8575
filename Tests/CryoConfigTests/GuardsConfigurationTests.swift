// Owns the tests of what a configuration says about an upstream's breaker and signatures, and a route's limits.
// Domain: cold

import CryoConfig
import CryoPipeline
import Testing

@Suite("configuration: guards") struct GuardsConfigurationTests {
    private func read(_ upstream: String, route: String = "") -> Result<LoadedConfiguration, ConfigurationProblems> {
        let text = """
            listen: { address: 127.0.0.1:0 }
            upstreams:
              api:
                url: https://api.example.com
                \(upstream)
            routes: [{ name: api, path: /*, upstream: api\(route) }]

            """
        return readConfiguration(Array(text.utf8), fileName: "c.yaml", environment: { $0 == "KEY" ? "set" : nil })
    }

    private func problems(_ upstream: String) -> String {
        if case .failure(let problems) = read(upstream) { "\(problems)" } else { "" }
    }

    @Test("without the section there is no breaker; the share alone is enough")
    func standards() throws {
        #expect(try read("http2: true").get().configuration.upstreams.first?.breaker == nil)
        #expect(
            try read("breaker: { failure_percent: 50 }").get().configuration.upstreams.first?.breaker == BreakerSettings(failurePercent: 50)
        )
    }

    @Test("every key is read")
    func keys() throws {
        let breaker = try read(
            "breaker: { failure_percent: 25, min_requests: 7, window_ms: 500, open_ms: 60, max_open_ms: 90, probes: 2, "
                + "on: [reset, 5xx, \"business:5*\"] }"
        ).get().configuration.upstreams.first?.breaker
        var wanted = BreakerSettings(failurePercent: 25)
        wanted.requestsMin = 7
        wanted.windowMilliseconds = 500
        wanted.openMilliseconds = 60
        wanted.openMillisecondsMax = 90
        wanted.probes = 2
        wanted.conditions = [.reason(.reset), .statusClass(5), .businessCode("5*")]
        #expect(breaker == wanted)
    }

    @Test("what makes no sense is told with its place")
    func nonsense() {
        #expect(problems("breaker: { probes: 2 }").contains("failure_percent"))
        #expect(problems("breaker: { failure_percent: 0 }").contains("c.yaml:5"))
        #expect(problems("breaker: { failure_percent: 50, open_ms: 90, max_open_ms: 60 }").contains("max_open_ms: less than open_ms"))
        #expect(problems("breaker: { failure_percent: 50, on: [pin_mismatch] }").contains("breaker.on"))
    }

    @Test("a route's limits are off unless they are written, and may be parts of a second")
    func limits() throws {
        func limits(_ text: String) throws -> RouteLimitSettings? {
            try read("http2: true", route: text).get().configuration.routes.first?.limits
        }
        #expect(try limits("")?.isOn == false)
        let written = try limits(", limits: { concurrent: 3, requests_per_second: 0.5, burst: 4 }")
        #expect(written?.concurrent == 3 && written?.requestsPerSecond == 0.5 && written?.burst == 4 && written?.isOn == true)
        for (text, wanted) in [("burst: 2", "burst: needs requests_per_second"), ("requests_per_second: 0.0001", "less than 0.001")] {
            guard case .failure(let problems) = read("http2: true", route: ", limits: { \(text) }") else {
                Issue.record("\(text) was taken")
                continue
            }
            #expect("\(problems)".contains(wanted))
        }
    }

    @Test("requests are not signed unless a key is there; every key is read")
    func sign() throws {
        #expect(try read("http2: true").get().configuration.upstreams.first?.sign == nil)
        let sign = try read(
            "sign: { key: env:KEY, key_encoding: base64, key_id: k, label: l, components: [\"@path\", date], body: true, expires_s: 9, "
                + "nonce: true, alg: true, tag: t }"
        ).get().configuration.upstreams.first?.sign
        #expect(sign?.keyEncoding == .base64 && sign?.keyID == "k" && sign?.label == "l" && sign?.components == ["@path", "date"])
        #expect(sign?.coversBody == true && sign?.expiresSeconds == 9 && sign?.hasNonce == true && sign?.tellsAlgorithm == true)
        #expect(sign?.tag == "t")
        let standard = try read("sign: { key: env:KEY }").get().configuration.upstreams.first?.sign
        #expect(standard?.components == ["@method", "@authority", "@path", "@query"] && standard?.coversBody == false)
    }

    @Test(
        "a signature that could not hold, or says nothing, is a problem",
        arguments: [
            ("{ key_id: k }", "key"), ("{ key: env:KEY, components: [] }", "says nothing"),
            ("{ key: env:KEY, components: [\"@status\"] }", "not one of"), ("{ key: env:KEY, components: [Date] }", "date"),
            ("{ key: env:KEY, components: [host] }", "@authority"), ("{ key: env:KEY, components: [content-length] }", "sets this header"),
            ("{ key: env:KEY, components: [signature] }", "can't cover"), ("{ key: env:KEY, label: Sig }", "label"),
            ("{ key: env:KEY, key_id: \"\\u4f59\" }", "printable ASCII"), ("{ key: env:KEY, algorithm: rsa }", "hmac-sha256"),
        ])
    func badSignatures(_ text: String, _ wanted: String) { #expect(problems("sign: \(text)").contains(wanted)) }

    @Test("a key in the file is warned about, and printed as stars")
    func literalKey() throws {
        let loaded = try read("sign: { key: super-secret-value, components: [content-digest] }").get()
        #expect(loaded.warnings.count == 2)
        #expect(!ConfigurationPrinter.text(of: loaded).contains("super-secret-value"))
    }
}
