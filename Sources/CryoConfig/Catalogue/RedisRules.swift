// Owns reading where a Redis is out of text.
// Domain: pure

import CryoPipeline

/// `host:port` with a name or an address, or `unix:/path`.
func parseRedisAddress(_ text: String) throws(WrongText) -> RedisStoreSettings.Address {
    guard !hasControls(text) else { throw WrongText("must not contain control characters") }
    if text.hasPrefix("unix:") {
        guard case .unix(let path) = try parseListenAddress(text) else { throw WrongText("not a socket") }
        return .unix(path: path)
    }
    guard let colon = text.lastIndex(of: ":"), !text[colon...].contains("]") else {
        return .tcp(host: try parseRedisHost(text), port: RedisStoreSettings.standardPort)
    }
    let digits = text[text.index(after: colon)...]
    guard !digits.isEmpty, digits.utf8.allSatisfy(isDigit), let port = UInt16(digits), port > 0 else {
        throw WrongText("a port is a number from 1 to 65535")
    }
    return .tcp(host: try parseRedisHost(String(text[..<colon])), port: port)
}

private func parseRedisHost(_ text: String) throws(WrongText) -> String {
    let host = try parseHost(text)
    return host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
}

/// `redis://host:port/database`, as other programs write it. A password has a key of its own.
func parseRedisURL(_ text: String) throws(WrongText) -> (address: RedisStoreSettings.Address, database: Int?) {
    let scheme = "redis://"
    if text.lowercased().hasPrefix("rediss://") {
        throw WrongText("TLS to Redis is not built in: use a unix socket, or a TLS tunnel on this machine")
    }
    guard text.lowercased().hasPrefix(scheme) else { throw WrongText("a Redis URL is redis://host:port/database") }
    let parts = text.dropFirst(scheme.count).split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    let authority = String(parts.first ?? "")
    guard !authority.contains("@") else { throw WrongText("a URL must not hold a user or password: use username and password") }
    let address = try parseRedisAddress(authority)
    guard parts.count == 2, !parts[1].isEmpty else { return (address, nil) }
    guard parts[1].utf8.allSatisfy(isDigit), let database = Int(parts[1]), redisDatabases.contains(Int64(database)) else {
        throw WrongText("the path of a Redis URL is the number of its database")
    }
    return (address, database)
}

let redisDatabases: ClosedRange<Int64> = 0...65_535

/// Others on the network can read what is sent there.
func isClearText(_ address: RedisStoreSettings.Address) -> Bool {
    switch address {
    case .unix: false
    case .tcp(let host, _): !(host == "localhost" || host.hasPrefix("127.") || host == "::1")
    }
}
