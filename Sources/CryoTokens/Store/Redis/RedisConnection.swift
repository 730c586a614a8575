// Owns one blocking connection to a Redis server: commands out, replies in, every wait bounded.
// Domain: cold (confined to the queue of the token it serves)

import CHiredis
import CryoPipeline
import Glibc

/// Why Redis did not do what was asked, in words that hold no secret.
enum RedisError: Error, Equatable, CustomStringConvertible {
    case connectFailed(cause: String)
    /// No whole answer came in time, or the connection broke.
    case lost(cause: String)
    /// An error reply. Only its first word is kept: Redis may repeat arguments in the rest, a password among them.
    case refused(code: String)
    case unexpected(String)
    case passwordUnavailable(cause: String)

    var description: String {
        switch self {
        case .connectFailed(let cause): "can't connect: \(cause)"
        case .lost(let cause): "no answer: \(cause)"
        case .refused(let code): "it answered \(code)"
        case .unexpected(let what): "it answered \(what)"
        case .passwordUnavailable(let cause): "no password: \(cause)"
        }
    }
}

enum RedisReply: Equatable {
    case none
    case integer(Int64)
    case bytes([UInt8])
    case status(String)
    case list([RedisReply])
}

final class RedisConnection {
    private let context: UnsafeMutablePointer<redisContext>
    private static let codeBytesMax = 32

    /// Connects, authenticates and chooses the database.
    init(_ settings: RedisStoreSettings) throws(RedisError) {
        // hiredis writes without MSG_NOSIGNAL.
        signal(SIGPIPE, SIG_IGN)
        let timeout = Self.timeout(settings.timeoutMilliseconds)
        let made =
            switch settings.address {
            case .tcp(let host, let port): redisConnectWithTimeout(host, Int32(port), timeout)
            case .unix(let path): redisConnectUnixWithTimeout(path, timeout)
            }
        guard let made else { throw .connectFailed(cause: "out of memory") }
        context = made
        guard context.pointee.err == 0 else { throw .connectFailed(cause: Self.text(of: context)) }
        guard redisSetTimeout(context, timeout) == REDIS_OK else { throw .connectFailed(cause: Self.text(of: context)) }
        try authenticate(settings)
        if settings.database != 0 { _ = try command(["SELECT", "\(settings.database)"]) }
    }

    deinit { redisFree(context) }

    private func authenticate(_ settings: RedisStoreSettings) throws(RedisError) {
        guard let reference = settings.password else { return }
        switch SecretResolver.resolve(reference) {
        case .failure(let problem): throw .passwordUnavailable(cause: String(describing: problem))
        case .success(let password):
            var words = [Array("AUTH".utf8)]
            if let username = settings.username { words.append(Array(username.utf8)) }
            password.withBytes { words.append($0) }
            _ = try command(words)
        }
    }

    func command(_ words: [String]) throws(RedisError) -> RedisReply { try command(words.map { Array($0.utf8) }) }

    /// Sends one command and waits for its answer. An error reply is thrown.
    func command(_ words: [[UInt8]]) throws(RedisError) -> RedisReply {
        var lengths = words.map(\.count)
        let joined = words.flatMap(\.self) + [0]
        let raw = joined.withUnsafeBufferPointer { buffer -> UnsafeMutableRawPointer? in
            var offset = 0
            var starts = lengths.map { length -> UnsafePointer<CChar>? in
                defer { offset += length }
                return buffer.baseAddress.map { UnsafeRawPointer($0 + offset).assumingMemoryBound(to: CChar.self) }
            }
            return redisCommandArgv(context, Int32(words.count), &starts, &lengths)
        }
        guard let raw else { throw .lost(cause: Self.text(of: context)) }
        defer { freeReplyObject(raw) }
        return try Self.reply(raw.assumingMemoryBound(to: redisReply.self).pointee)
    }

    private static func reply(_ reply: redisReply) throws(RedisError) -> RedisReply {
        switch reply.type {
        case REDIS_REPLY_NIL: return .none
        case REDIS_REPLY_INTEGER: return .integer(reply.integer)
        case REDIS_REPLY_STRING: return .bytes(bytes(of: reply))
        case REDIS_REPLY_STATUS: return .status(String(decoding: bytes(of: reply), as: UTF8.self))
        case REDIS_REPLY_ERROR: throw .refused(code: code(of: reply))
        case REDIS_REPLY_ARRAY:
            var items: [RedisReply] = []
            for index in 0..<reply.elements {
                guard let item = reply.element?[index] else { throw .unexpected("half a list") }
                items.append(try Self.reply(item.pointee))
            }
            return .list(items)
        default: throw .unexpected("a reply of another kind")
        }
    }

    private static func bytes(of reply: redisReply) -> [UInt8] {
        Array(UnsafeRawBufferPointer(start: reply.str, count: reply.str == nil ? 0 : reply.len))
    }

    private static func code(of reply: redisReply) -> String {
        let word = bytes(of: reply).prefix { (0x41...0x5A).contains($0) }.prefix(codeBytesMax)
        return word.isEmpty ? "an error" : String(decoding: word, as: UTF8.self)
    }

    private static func text(of context: UnsafeMutablePointer<redisContext>) -> String {
        // With REDIS_ERR_IO hiredis leaves the cause in errno; a timeout is EAGAIN there.
        if context.pointee.err == REDIS_ERR_IO, errno == EAGAIN { return "timed out" }
        return String(cString: cryo_redis_error_text(context))
    }

    private static func timeout(_ milliseconds: UInt32) -> timeval {
        timeval(tv_sec: Int(milliseconds / 1000), tv_usec: Int(milliseconds % 1000) * 1000)
    }
}
