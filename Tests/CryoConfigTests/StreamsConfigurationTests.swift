// Owns the tests of what a configuration says about the streams of a route.
// Domain: cold

import CryoConfig
import CryoPipeline
import Testing

@Suite struct StreamsConfigurationTests {
    private func read(_ streams: String) -> Result<LoadedConfiguration, ConfigurationProblems> {
        let text = """
            listen: { address: 127.0.0.1:0 }
            upstreams: { api: { url: https://api.example.com } }
            routes: [{ name: api, path: /*, upstream: api\(streams) }]

            """
        return readConfiguration(Array(text.utf8), fileName: "c.yaml", environment: { _ in nil })
    }

    @Test("by default streams are left alone, and may be silent for an hour")
    func defaults() throws {
        let streams = try read("").get().configuration.routes.first?.streams
        #expect(streams == StreamSettings() && streams?.onLoss == .cut && streams?.heartbeatMilliseconds == 0)
        #expect(streams?.idleMilliseconds == 3_600_000)
    }

    @Test("every key is taken, and printed as it was")
    func keys() throws {
        let loaded = try read(
            ", streams: { idle_ms: 60000, heartbeat_ms: 15000, on_loss: reconnect, reconnect: { limit: 5, delay_ms: 10, total_ms: 9000 } }"
        ).get()
        let streams = loaded.configuration.routes.first?.streams
        #expect(streams?.idleMilliseconds == 60_000 && streams?.heartbeatMilliseconds == 15_000 && streams?.onLoss == .reconnect)
        #expect(
            streams?.reconnect.limit == 5 && streams?.reconnect.delayMilliseconds == 10 && streams?.reconnect.totalMilliseconds == 9_000)
        let again = try readConfiguration(
            Array(ConfigurationPrinter.text(of: loaded).utf8), fileName: "p.yaml", environment: { _ in nil }
        ).get()
        #expect(again.configuration.routes.first?.streams == streams && loaded.warnings.isEmpty)
    }

    @Test("what is no value is a problem, what has no effect a warning")
    func problems() throws {
        for text in [
            "on_loss: resume", "idle_ms: 0", "heartbeat_ms: -1", "reconnect: { limit: 0 }", "reconnect: { tries: 1 }", "heartbeat: 1",
        ] {
            guard case .failure(let problems) = read(", streams: { \(text) }") else {
                Issue.record("taken: \(text)")
                continue
            }
            #expect(problems.problems.count == 1, "\(text)")
        }
        let warnings = try read(", streams: { idle_ms: 1000, heartbeat_ms: 1000 }").get().warnings
        #expect(warnings.map(\.message).contains { $0.hasPrefix("routes[0].streams.heartbeat_ms: not less than idle_ms") })
    }
}
