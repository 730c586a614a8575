// Owns the catalogue's keys of token stores.
// Domain: pure

import CryoPipeline

extension Catalogue {
    static let store = Section(
        [
            CatalogueKey(
                "file", .text(.file), example: "/var/lib/cryonet/app.json", "keeps a rotated pair across restarts, mode 0600"),
            CatalogueKey("redis", .section(redis), "keeps it for several gateways that share one login"),
        ], exactlyOne: ["file", "redis"])

    private static let redisStandards = RedisStoreSettings(address: .tcp(host: "", port: RedisStoreSettings.standardPort), key: "")
    private static let redis = Section(
        [
            CatalogueKey("address", .text(.redisAddress), example: "127.0.0.1:6379", "host:port, or unix:/path"),
            CatalogueKey("url", .text(.redisURL), example: "redis://127.0.0.1:6379/0", "in the place of address and database"),
            CatalogueKey("username", .text(.any), example: "cryonet", "of an ACL user; without it the password is the server's"),
            CatalogueKey("password", .text(.secret), example: "env:REDIS_PASSWORD", "env:NAME or file:PATH"),
            CatalogueKey("database", .integer(redisDatabases), standard: "\(redisStandards.database)", "chosen after connecting"),
            CatalogueKey(
                "key", .text(.redisKey), required: true, example: "cryonet:app", "gateways that name the same key share one login"),
            CatalogueKey(
                "lease_ms", .integer(100...600_000), standard: "\(redisStandards.leaseMilliseconds)", units: "milliseconds",
                "a gateway that dies while it refreshes holds the others up for this long"),
            CatalogueKey(
                "timeout_ms", .integer(10...60_000), standard: "\(redisStandards.timeoutMilliseconds)", units: "milliseconds",
                "of connecting, and of each answer"),
        ], exactlyOne: ["address", "url"])
}
