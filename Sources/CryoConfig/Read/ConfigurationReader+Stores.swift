// Owns building token stores.
// Domain: cold

import CryoPipeline

extension ConfigurationReader {
    /// A file holds one login: several tokens in it would take each other's pair for their own.
    mutating func refuseSharedFiles(_ tokens: YAMLNode?) {
        var owners: [String: String] = [:]
        for entry in tokens?.entries ?? [] {
            let file = entry.value["store"]?["file"]
            guard let path = file?.text else { continue }
            if let owner = owners[path] { note(file, "tokens.\(entry.key).store.file: tokens.\(owner) keeps its login there") }
            owners[path] = owners[path] ?? entry.key
        }
    }

    mutating func redisStore(_ node: YAMLNode, at path: String) -> RedisStoreSettings? {
        let password = secret(node["password"], at: "\(path).password")
        let url = node["url"]?.text.flatMap { try? parseRedisURL($0) }
        let address = url?.address ?? node["address"]?.text.flatMap { try? parseRedisAddress($0) }
        guard let address, let key = node["key"]?.text else { return nil }
        if isClearText(address) { warn(node["address"] ?? node["url"], "\(path): tokens go there in clear text") }
        if node["username"] != nil, node["password"] == nil { note(node["username"], "\(path).username needs password") }
        // A printed configuration has the default beside a url.
        if let named = url?.database, let other = node["database"]?.integer, other != 0, other != named {
            note(node["database"], "\(path).database: the url names another one")
        }
        var settings = RedisStoreSettings(address: address, key: key)
        settings.username = node["username"]?.text
        settings.password = password
        assign(node["database"], to: &settings.database)
        settings.database = url?.database ?? settings.database
        assign(node["lease_ms"], to: &settings.leaseMilliseconds)
        assign(node["timeout_ms"], to: &settings.timeoutMilliseconds)
        return settings
    }
}
