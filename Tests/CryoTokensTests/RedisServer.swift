// A real redis-server on a socket in a temporary directory, ended by its process id.

import CryoPipeline
import CryoSync
import Dispatch
import Glibc

@testable import CryoTokens

final class RedisServer {
    static let isInstalled = access("/usr/bin/redis-server", X_OK) == 0

    private let directory = TemporaryDirectory()
    private var process: pid_t = 0

    /// nil when it does not answer.
    init?() {
        let path = directory.file("r.sock")
        let words = [
            "redis-server", "--port", "0", "--unixsocket", path, "--save", "", "--appendonly", "no", "--dir", directory.path,
            "--logfile", directory.file("redis.log"),
        ]
        var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        guard posix_spawn(&process, "/usr/bin/redis-server", nil, nil, &arguments, environ) == 0 else { return nil }
        for _ in 0..<2000 {
            if let link = try? link(), (try? link.ping()) != nil { return }
            usleep(5000)
        }
        return nil
    }

    deinit {
        if process > 0 {
            kill(process, SIGKILL)
            waitpid(process, nil, 0)
        }
    }

    func settings(key: String = "cryonet:test", leaseMilliseconds: UInt32 = 5000) -> RedisStoreSettings {
        var settings = RedisStoreSettings(address: .unix(path: directory.file("r.sock")), key: key)
        settings.leaseMilliseconds = leaseMilliseconds
        return settings
    }

    func link() throws -> RedisTokenLink { try RedisTokenLink(settings(), owner: RedisTokenLink.randomOwner()) }

    @discardableResult
    func command(_ words: String...) throws -> RedisReply { try RedisConnection(settings()).command(words) }
}

/// A source that answers as told, on a queue of its own.
final class ScriptedSource: TokenRefresher {
    private let answer: @Sendable (Credential?) -> RefreshResult
    private let queue = DispatchQueue(label: "test.source")
    private let asked = Mutex(0)

    init(_ answer: @escaping @Sendable (Credential?) -> RefreshResult) { self.answer = answer }

    var canRefresh: Bool { true }
    var calls: Int { asked.withLock { $0 } }

    func refresh(_ current: Credential?, completion: @escaping @Sendable (RefreshResult) -> Void) {
        queue.async { [self] in
            asked.withLock { $0 += 1 }
            completion(answer(current))
        }
    }
}
