// Owns how a pair and its lease lie in Redis: a hash with a version, and beside it a key that expires.
// Domain: cold (confined to the queue of the token it serves)
//
//     KEY        format 1 · version N · token · refresh_token · expires_at      or, of a login that was refused for good:
//                format 1 · version N · refused (the refresh token that must not be presented again)
//     KEY:lease  a random owner; expires by itself when its owner dies
//
// Each script touches one key, does all of its work or nothing, and may be sent twice: an answer that was lost does no harm.

import CryoPipeline

/// What Redis holds of a token.
enum SharedEntry {
    case absent
    case pair(NewCredential, version: UInt64)
    case refused(refreshToken: Secret?, version: UInt64)
    /// Moved out of the way as `keptAs`.
    case corrupt(cause: String, keptAs: String)
}

enum SharedWrite: Equatable {
    case written(version: UInt64)
    /// Somebody else wrote in the meantime; nothing was changed.
    case conflict
}

final class RedisTokenLink {
    static let formatVersion = "1"
    /// Unusable entries kept beside the key; one more can't be set aside.
    private static let keptMax = 100
    /// Looks at an entry that changes between two commands.
    private static let rereadsMax = 3

    private let connection: RedisConnection
    private let key: String
    private let leaseKey: String
    private let leaseMilliseconds: UInt32
    private let owner: String

    /// `owner`: who holds a lease that this link takes; random, and the same for all links of one gateway's token.
    init(_ settings: RedisStoreSettings, owner: String) throws(RedisError) {
        connection = try RedisConnection(settings)
        key = settings.key
        leaseKey = settings.key + ":lease"
        leaseMilliseconds = settings.leaseMilliseconds
        self.owner = owner
    }

    static func randomOwner() -> String {
        var generator = SystemRandomNumberGenerator()
        return String(generator.next(), radix: 16) + String(generator.next(), radix: 16)
    }

    func ping() throws(RedisError) { _ = try connection.command(["PING"]) }

    // MARK: The entry

    private struct Flaw: Error { let text: String }

    func read() throws(RedisError) -> SharedEntry { try read(again: Self.rereadsMax) }

    private func read(again: Int) throws(RedisError) -> SharedEntry {
        let fields = ["HMGET", key, "format", "version", "token", "refresh_token", "expires_at", "refused"]
        let reply: RedisReply
        do throws(RedisError) {
            reply = try connection.command(fields)
        } catch {
            guard error == .refused(code: "WRONGTYPE") else { throw error }
            return try setAside(cause: "not a hash", seen: nil, again)
        }
        guard case .list(let values) = reply, values.count == 6 else { throw .unexpected("no list of fields") }
        if values.allSatisfy({ $0 == .none }) {
            guard try connection.command(["EXISTS", key]) != .integer(0) else { return .absent }
            return try setAside(cause: "not written by this program", seen: values, again)
        }
        switch Self.entry(values.map(Self.bytes)) {
        case .success(let entry): return entry
        case .failure(let flaw): return try setAside(cause: flaw.text, seen: values, again)
        }
    }

    private static func entry(_ fields: [[UInt8]?]) -> Result<SharedEntry, Flaw> {
        func number<T: FixedWidthInteger>(_ index: Int) -> T? { fields[index].flatMap { T(String(decoding: $0, as: UTF8.self)) } }
        guard fields[0] == Array(formatVersion.utf8) else {
            return .failure(Flaw(text: "another format than \(formatVersion), which this program writes"))
        }
        guard let version: UInt64 = number(1) else { return .failure(Flaw(text: "no version")) }
        guard let token = fields[2] else {
            return fields[5].map { .success(.refused(refreshToken: Secret($0), version: version)) } ?? .failure(Flaw(text: "no token"))
        }
        guard !token.isEmpty, SecretResolver.flaw(of: token) == nil else { return .failure(Flaw(text: "no usable token")) }
        guard fields[4] == nil || (number(4) as Int64?) != nil else { return .failure(Flaw(text: "expires_at is no number")) }
        if let refreshToken = fields[3], refreshToken.isEmpty || SecretResolver.flaw(of: refreshToken) != nil {
            return .failure(Flaw(text: "no usable refresh_token"))
        }
        let pair = NewCredential(token: Secret(token), refreshToken: fields[3].map { Secret($0) }, expiresAt: number(4))
        return .success(.pair(pair, version: version))
    }

    private static func bytes(_ reply: RedisReply) -> [UInt8]? { if case .bytes(let bytes) = reply { bytes } else { nil } }

    private static let setAsideScript = """

        local now = redis.pcall('HMGET', KEYS[1], 'format', 'version', 'token', 'refresh_token', 'expires_at', 'refused')
        if now.err then
            if ARGV[1] ~= 'other' then return -1 end
        else
            if ARGV[1] ~= 'hash' then return -1 end
            for index = 1, 6 do if (now[index] or '') ~= ARGV[index + 1] then return -1 end end
        end
        return redis.call('RENAMENX', KEYS[1], KEYS[2])
        """

    /// Renames the key to the first free of `KEY:corrupt`, `KEY:corrupt:1`, …, if what was seen is still there: another gateway may have
    /// written a good pair since. `seen` nil: the key is no hash.
    private func setAside(cause: String, seen: [RedisReply]?, _ again: Int) throws(RedisError) -> SharedEntry {
        let kind = seen == nil ? "other" : "hash"
        for number in 0..<Self.keptMax {
            let target = "\(key):corrupt" + (number == 0 ? "" : ":\(number)")
            let words = ["EVAL", Self.setAsideScript, "2", key, target, kind].map { Array($0.utf8) }
            switch try connection.command(words + (seen ?? []).map { Self.bytes($0) ?? [] }) {
            case .integer(1): return .corrupt(cause: cause, keptAs: target)
            case .integer(-1):
                guard again > 0 else { throw .unexpected("the key changes with each look") }
                return try read(again: again - 1)
            default: continue
            }
        }
        throw .unexpected("something else at the key (\(cause)), and \(Self.keptMax) such are kept already")
    }

    private static let publishScript = """
        local version = redis.call('HGET', KEYS[1], 'version')
        if version == ARGV[2] and redis.call('HGET', KEYS[1], ARGV[3]) == ARGV[4] then return 1 end
        if version and version ~= ARGV[1] then return 0 end
        if not version and redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
        redis.call('DEL', KEYS[1])
        redis.call('HSET', KEYS[1], 'format', '\(formatVersion)', 'version', ARGV[2])
        for index = 3, #ARGV, 2 do redis.call('HSET', KEYS[1], ARGV[index], ARGV[index + 1]) end
        return 1
        """

    /// Compare-and-swap: writes version `after + 1` if the version is `after`, or if Redis has forgotten the entry.
    func publish(_ pair: NewCredential, after version: UInt64) throws(RedisError) -> SharedWrite {
        var fields = [Array("token".utf8), pair.token.withBytes { $0 }]
        if let refreshToken = pair.refreshToken { fields += [Array("refresh_token".utf8), refreshToken.withBytes { $0 }] }
        if let expiresAt = pair.expiresAt { fields += [Array("expires_at".utf8), Array("\(expiresAt)".utf8)] }
        return try write(fields, after: version)
    }

    /// In the place of the pair: its refresh token was refused for good.
    func refuse(_ refreshToken: Secret, after version: UInt64) throws(RedisError) -> SharedWrite {
        try write([Array("refused".utf8), refreshToken.withBytes { $0 }], after: version)
    }

    private func write(_ fields: [[UInt8]], after version: UInt64) throws(RedisError) -> SharedWrite {
        let next = version &+ 1
        let words = ["EVAL", Self.publishScript, "1", key, "\(version)", "\(next)"].map { Array($0.utf8) }
        return try connection.command(words + fields) == .integer(1) ? .written(version: next) : .conflict
    }

    // MARK: The lease

    private static let acquireScript = """
        if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end
        if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
        return 0
        """
    private static let renewScript = """
        if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
        return 0
        """
    private static let releaseScript = """
        if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
        return 0
        """

    /// True when this link's owner holds the lease now.
    func acquire() throws(RedisError) -> Bool { try lease(Self.acquireScript) }

    /// False when the lease ran out and may be another's.
    func renew() throws(RedisError) -> Bool { try lease(Self.renewScript) }

    /// Never takes away another's lease. What can't be released runs out by itself.
    func release() throws(RedisError) { _ = try lease(Self.releaseScript) }

    private func lease(_ script: String) throws(RedisError) -> Bool {
        try connection.command(["EVAL", script, "1", leaseKey, owner, "\(leaseMilliseconds)"]) == .integer(1)
    }
}
