// How a token's settings become a credential store with its source behind it.
// Domain: cold

import CryoHooks
import CryoIO
import CryoPipeline
import CryoTokens

extension Composition {
    static func token(_ settings: TokenSettings, replacing old: TokenPart?, hooks: Hooks, log: Log) throws(GatewayError) -> TokenPart {
        let fingerprint = fingerprint(of: settings)
        if let old, old.fingerprint == fingerprint { return old }
        let name = settings.name
        switch TokenSourceFactory.make(settings, report: { log.warning("token \(name): \($0)") }) {
        case .failure(let problem): throw GatewayError("token \(name): \(problem)")
        case .success(let source):
            let store = CredentialStore(
                settings: settings, refresher: source.refresher, initial: source.initial,
                monotonic: { Clock.monotonicNanoseconds() },
                report: { name, event in
                    report(name, event, log)
                    if case .sessionExpired(let revision) = event { hooks.sessionExpired(token: name, revision: revision) }
                })
            return TokenPart(store: store, watcher: watcher(of: settings, store, log), fingerprint: fingerprint)
        }
    }

    private static func watcher(of settings: TokenSettings, _ store: CredentialStore, _ log: Log) -> FileWatcher? {
        guard case .file(let path) = settings.source else { return nil }
        return FileWatcher(path: path) { new in store.install(new, isLogin: false) }
    }

    /// Everything a token is made of as one text; literal secrets by their hash. Tells whether a reload keeps the login.
    private static func fingerprint(of settings: TokenSettings) -> String {
        var settings = settings
        // Who is told of a token is no part of it.
        settings.hooks = []
        var text = String(describing: settings)
        func add(_ reference: SecretReference?) {
            if case .literal(let secret) = reference { text += " \(secret.fingerprint)" }
        }
        add(settings.initialToken)
        add(settings.initialRefreshToken)
        switch settings.source {
        case .fixed(let token): add(token)
        case .oauth2(let oauth2): add(oauth2.clientSecret)
        case .environment, .file, .login: break
        }
        return text
    }

    private static func report(_ name: String, _ event: TokenEvent, _ log: Log) {
        switch event {
        case .renewed(let version): log.info("token \(name): renewed, version \(version)")
        case .refreshFailed(let detail): log.warning("token \(name): refresh failed: \(detail)")
        case .refreshRejected(let detail): log.warning("token \(name): refresh refused: \(detail)")
        case .sessionExpired: log.warning("token \(name): session expired, log in again")
        case .staleResultDropped: log.info("token \(name): the result of an outdated refresh was dropped")
        }
    }
}
