// Owns the tests of `tokens.*.store.redis`.
// Domain: cold

import CryoConfig
import CryoPipeline
import Testing

@Suite struct RedisStoreConfigurationTests {
    private func read(_ store: String) throws -> LoadedConfiguration {
        let text = """
            upstreams: { api: { url: https://api.example.com } }
            routes: [ { name: api, path: /*, upstream: api, token: t } ]
            tokens:
              t:
                login: { refresh: { url: https://a.example }, fields: { token: t } }
                store: \(store)

            """
        return try readConfiguration(Array(text.utf8), fileName: "c.yaml", environment: setEnvironment).get()
    }

    private func problems(_ store: String) -> [String] {
        do {
            return try read(store).warnings.map(\.description)
        } catch {
            return "\(error)".split(separator: "\n").map(String.init)
        }
    }

    @Test(
        "an address is a name or an IP address with a port, or a socket; a url says the same and the database",
        arguments: [
            ("address: 127.0.0.1:6380", "127.0.0.1:6380", 0), ("address: localhost", "localhost:6379", 0),
            ("address: \"[::1]:7000\"", "[::1]:7000", 0), ("address: unix:/run/redis.sock", "unix:/run/redis.sock", 0),
            ("address: localhost, database: 3", "localhost:6379", 3), ("url: redis://localhost/7", "localhost:6379", 7),
            ("url: redis://127.0.0.1:6380", "127.0.0.1:6380", 0),
        ])
    func places(text: String, address: String, database: Int) throws {
        let loaded = try read("{ redis: { \(text), key: cryonet:a } }")
        let redis = try #require(loaded.configuration.tokens.first?.storeRedis)
        #expect(redis.address.description == address && redis.database == database && redis.key == "cryonet:a")
        #expect(redis.leaseMilliseconds == 5000 && redis.timeoutMilliseconds == 1000 && redis.username == nil)
        #expect(loaded.warnings.isEmpty)
    }

    @Test("credentials and times are read") func all() throws {
        let text = "{ redis: { address: localhost, key: k, username: u, password: env:P, lease_ms: 200, timeout_ms: 50 } }"
        let redis = try #require(read(text).configuration.tokens.first?.storeRedis)
        #expect(redis.username == "u" && redis.leaseMilliseconds == 200 && redis.timeoutMilliseconds == 50)
        guard case .environment("P") = redis.password else {
            Issue.record("no password")
            return
        }
    }

    @Test(
        "what is wrong is told",
        arguments: [
            ("{ redis: { key: k } }", "needs one of address, url"),
            ("{ redis: { address: localhost } }", "missing key \"key\""),
            ("{ redis: { address: localhost, key: \"\" } }", "must not be empty"),
            ("{ redis: { address: localhost:0, key: k } }", "a port is a number from 1 to 65535"),
            ("{ redis: { address: \"unix:r.sock\", key: k } }", "a socket is unix: and an absolute path"),
            ("{ redis: { url: rediss://localhost, key: k } }", "TLS to Redis is not built in"),
            ("{ redis: { url: redis://u:p@localhost, key: k } }", "a URL must not hold a user or password"),
            ("{ redis: { url: redis://localhost/x, key: k } }", "the path of a Redis URL is the number of its database"),
            ("{ redis: { url: redis://localhost/1, database: 2, key: k } }", "the url names another one"),
            ("{ redis: { address: localhost, username: u, key: k } }", "username needs password"),
            ("{ redis: { address: redis.example.com:6379, key: k } }", "tokens go there in clear text"),
            ("{ file: /a, redis: { address: localhost, key: k } }", "redis and file exclude each other"),
        ])
    func wrong(store: String, message: String) {
        #expect(problems(store).contains { $0.contains(message) }, "\(problems(store))")
    }
}
