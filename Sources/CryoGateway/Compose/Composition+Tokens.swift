// How a token's settings become a credential store with its source behind it.
// Domain: cold

import CryoHooks
import CryoIO
import CryoPipeline
import CryoTokens
import Dispatch

extension Composition {
    static func token(
        _ settings: TokenSettings, replacing old: TokenPart?, session: SessionKeeper, log: Log
    ) throws(GatewayError) -> TokenPart {
        let fingerprint = fingerprint(of: settings)
        if let old, old.fingerprint == fingerprint { return old }
        let name = settings.name
        let loginFingerprint = loginFingerprint(of: settings)
        let inherited = old?.loginFingerprint == loginFingerprint ? old?.kept?.with(old?.store.snapshot()) : nil
        switch TokenSourceFactory.make(settings, inheriting: inherited, report: { log.warning("token \(name): \($0)") }) {
        case .failure(let problem): throw GatewayError("token \(name): \(problem)")
        case .success(let source):
            let statistics = TokenStatistics(changedAt: source.initial == nil ? nil : Clock.unixSeconds())
            let early = EarlyRefresher()
            let store = CredentialStore(
                settings: settings, refresher: source.refresher, initial: source.initial,
                monotonic: { Clock.monotonicNanoseconds() },
                report: { name, event in
                    count(event, statistics)
                    report(name, event, log)
                    tell(event, of: name, session)
                    if case .renewed = event { early.nudge() }
                })
            early.watch(store)
            return TokenPart(
                store: store, keeping: source.store, watcher: watcher(of: settings, store, statistics),
                early: source.refresher.canRefresh ? early : nil, counters: source.counters, fingerprint: fingerprint,
                loginFingerprint: loginFingerprint, kept: source.kept, session: session, statistics: statistics,
                persist: persist(settings.name, source.adopt, statistics))
        }
    }

    private static func watcher(of settings: TokenSettings, _ store: CredentialStore, _ statistics: TokenStatistics) -> FileWatcher? {
        guard case .file(let path) = settings.source else { return nil }
        return FileWatcher(path: path, refresh: settings.refresh) { new in
            statistics.changed(at: Clock.unixSeconds())
            store.install(new, isLogin: false)
        }
    }

    /// Logins and logouts of one token reach the disk in their order.
    private static func persist(
        _ name: String, _ adopt: (@Sendable (LoginChange) -> Void)?, _ statistics: TokenStatistics
    ) -> @Sendable (LoginChange, @escaping @Sendable () -> Void) -> Void {
        let queue = DispatchQueue(label: "cryonet.token.\(name).login")
        return { change, completion in
            queue.async { @Sendable in
                adopt?(change)
                statistics.changed(at: Clock.unixSeconds())
                completion()
            }
        }
    }

    /// One keeper per session name; a reload keeps those it still needs.
    static func session(
        of settings: TokenSettings, among present: [String: SessionKeeper], hooks: Hooks, log: Log
    ) -> SessionKeeper {
        let name = settings.sessionName ?? settings.name
        if let keeper = present[name] { return keeper }
        return SessionKeeper(
            name: name, revision: .random(), monotonic: { Clock.monotonicNanoseconds() },
            later: { milliseconds, work in
                DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(milliseconds), execute: work)
            }, observer: SessionObservers([SessionLog(log: log), hooks]))
    }

    private static func tell(_ event: TokenEvent, of token: String, _ session: SessionKeeper) {
        switch event {
        case .sessionExpired(let revision): session.storeExpired(revision)
        case .sessionBegan(let revision): session.storeBegan(token, revision)
        case .renewed, .refreshFailed, .refreshRejected, .staleResultDropped: break
        }
    }

    private static func count(_ event: TokenEvent, _ statistics: TokenStatistics) {
        switch event {
        case .renewed:
            statistics.count(.renewed)
            statistics.changed(at: Clock.unixSeconds())
        case .refreshFailed: statistics.count(.failed)
        case .refreshRejected: statistics.count(.rejected)
        case .staleResultDropped: statistics.count(.dropped)
        case .sessionExpired, .sessionBegan: break
        }
    }

    /// Everything a token is made of as one text; literal secrets by their hash. Tells whether a reload keeps the login.
    private static func fingerprint(of settings: TokenSettings) -> String {
        var settings = settings
        // Who is told of a token is no part of it.
        settings.hooks = []
        var text = String(describing: settings)
        for case .literal(let secret) in settings.references { text += " \(secret.fingerprint)" }
        return text
    }

    /// As `fingerprint`, without what says how a token is used and when it is refreshed.
    private static func loginFingerprint(of settings: TokenSettings) -> String {
        var login = TokenSettings(name: settings.name, source: settings.source)
        login.initialToken = settings.initialToken
        login.initialRefreshToken = settings.initialRefreshToken
        login.storeFile = settings.storeFile
        login.storeRedis = settings.storeRedis
        return fingerprint(of: login)
    }

    private static func report(_ name: String, _ event: TokenEvent, _ log: Log) {
        switch event {
        case .renewed(let version): log.info("token \(name): renewed, version \(version)")
        case .refreshFailed(let detail): log.warning("token \(name): refresh failed: \(detail)")
        case .refreshRejected(let detail): log.warning("token \(name): refresh refused: \(detail)")
        // The session tells, once for all its tokens.
        case .sessionExpired, .sessionBegan: break
        case .staleResultDropped: log.info("token \(name): the result of an outdated refresh was dropped")
        }
    }
}
