// Joins a program's token manager to the pipeline's credential store: single flight, versions and waiters are the store's.
// Domain: cold

import CryoIO
import CryoPipeline
import CryoSync
import Foundation

/// Marks the work inside a refresh: its requests must not wait for the refresh they are part of.
enum RefreshScope {
    @TaskLocal static var managers: Set<ObjectIdentifier> = []
}

/// One per token manager in the process. Everything that changes the store comes through here, one after the other, so that a token
/// read long ago never replaces a newer one.
actor TokenBridge {
    nonisolated let store: CredentialStore
    nonisolated let manager: any TokenManagerProtocol
    private var session: (any AuthenticationSessionManaging)?
    private var knownRevision: UUID?

    private init(_ manager: any TokenManagerProtocol, timeout: TimeInterval) {
        self.manager = manager
        let refresher = BridgeRefresher(timeout: timeout)
        var settings = TokenSettings(name: "token", source: .fixed(token: .literal(Secret(""))))
        settings.refresh.timeoutMilliseconds = UInt32(timeout * 1000)
        store = CredentialStore(
            settings: settings, refresher: refresher, initial: nil, monotonic: { Clock.monotonicNanoseconds() }, report: { _, _ in })
        refresher.connect(to: self)
    }

    /// Whether this runs inside this manager's own refresh.
    nonisolated var isRefreshingHere: Bool { RefreshScope.managers.contains(ObjectIdentifier(manager)) }

    /// The bridge of that manager; made by the first client that uses it, whose timeout counts.
    static func of(_ manager: any TokenManagerProtocol, timeout: TimeInterval) -> TokenBridge {
        bridges.withLock { bridges in
            let key = ObjectIdentifier(manager)
            // A live bridge holds its manager, so the key can't have been given to another object meanwhile.
            if let bridge = bridges[key]?.bridge { return bridge }
            bridges = bridges.filter { $0.value.bridge != nil }
            let bridge = TokenBridge(manager, timeout: timeout)
            bridges[key] = WeakBridge(bridge: bridge)
            return bridge
        }
    }

    private struct WeakBridge {
        weak var bridge: TokenBridge?
    }
    private static let bridges = Mutex<[ObjectIdentifier: WeakBridge]>([:])

    /// What a request begins with.
    struct Standing: Sendable {
        var token: String?
        var revision: UUID?
    }

    /// Asks the manager for its token and gives it to the store, before a request.
    func synchronize(session: (any AuthenticationSessionManaging)?) async -> Standing {
        if let session { self.session = session }
        let version = store.snapshot()?.version
        let standing = await read(session)
        // Others came first while the manager was asked: what they brought is newer.
        if store.snapshot()?.version == version { install(standing) }
        return standing
    }

    private func read(_ session: (any AuthenticationSessionManaging)?) async -> Standing {
        let revision = await session?.snapshot().revision
        let token = await manager.getToken()
        return Standing(token: token?.isEmpty == false ? token : nil, revision: revision)
    }

    /// A token under another revision is another login, and requests of the former one must not use it (ledger B-C5).
    private func install(_ standing: Standing) {
        defer { if let revision = standing.revision { knownRevision = revision } }
        guard let token = standing.token else {
            if store.snapshot() != nil { _ = store.logOut(expected: nil) }
            return
        }
        let isLogin = standing.revision.map { revision in knownRevision.map { $0 != revision } ?? false } ?? false
        store.install(NewCredential(token: Secret(token)), isLogin: isLogin)
    }

    // MARK: The flight

    /// Refreshes, or finds that somebody else has done so. Answers before returning.
    fileprivate func refresh(_ flown: Credential?, _ answer: OnceAnswer) async {
        let before = await read(session)
        guard let token = before.token else {
            install(before)
            return answer.give(.unchanged)
        }
        if before.revision != nil, knownRevision != nil, before.revision != knownRevision {
            install(before)
            return answer.give(.unchanged)
        }
        if let flown, !flown.token.matches(Secret(token)) { return answer.give(.renewed(NewCredential(token: Secret(token)))) }
        let manager = manager
        let new = await RefreshScope.$managers.withValue(RefreshScope.managers.union([ObjectIdentifier(manager)])) {
            await manager.refreshToken()
        }
        guard let new, !new.isEmpty else { return answer.give(.failed(detail: "the token manager has no other token")) }
        let after = await read(session)
        guard let kept = after.token, after.revision == before.revision else {
            // A logout or another login while the refresh ran: its result is nobody's any more.
            install(after)
            return answer.give(.unchanged)
        }
        if kept == token, kept != new { await manager.setToken(new) }
        answer.give(.renewed(NewCredential(token: Secret(kept == token ? new : kept))))
    }
}

/// The port's side of the bridge.
private final class BridgeRefresher: TokenRefresher {
    private struct Connection {
        weak var bridge: TokenBridge?
    }
    private let connection = Mutex(Connection())
    private let timeout: TimeInterval

    init(timeout: TimeInterval) { self.timeout = timeout }

    func connect(to bridge: TokenBridge) { connection.withLock { $0.bridge = bridge } }

    var canRefresh: Bool { true }

    func refresh(_ current: Credential?, completion: @escaping @Sendable (RefreshResult) -> Void) {
        let answer = OnceAnswer(completion)
        guard let bridge = connection.withLock({ $0.bridge }) else { return answer.give(.failed(detail: "the client is gone")) }
        // Detached: the flight belongs to no caller, and must not be cancelled with one.
        let work = Task.detached { await bridge.refresh(current, answer) }
        let timeout = timeout
        let watchdog = Task.detached {
            // A cancelled sleep throws: the work was done in time.
            do { try await Task.sleep(for: .seconds(timeout)) } catch { return }
            answer.give(.failed(detail: "the token manager took too long"))
        }
        Task.detached {
            await work.value
            watchdog.cancel()
        }
    }
}

/// Passes on the first of several answers.
private final class OnceAnswer: Sendable {
    private let completion: Mutex<(@Sendable (RefreshResult) -> Void)?>

    init(_ completion: @escaping @Sendable (RefreshResult) -> Void) { self.completion = Mutex(completion) }

    func give(_ result: RefreshResult) {
        let completion = completion.withLock { held in
            defer { held = nil }
            return held
        }
        completion?(result)
    }
}
