// Makes the source a token's settings ask for, with the token it begins with.
// Domain: cold

import CryoIO
package import CryoPipeline
import Dispatch

package struct LoadedTokenSource: Sendable {
    package var refresher: any TokenRefresher
    /// nil: no token yet. Sources that can refresh get one at the first use.
    package let initial: NewCredential?
    /// How often the source was asked with which end.
    package let counters: SourceCounters
    /// Whether what it renews is kept, and how that goes.
    package var store = TokenStoreMonitor(.memory)
    /// Keeps a login from outside across restarts, or forgets what was kept. Blocks; nil where nothing is kept.
    package var adopt: (@Sendable (LoginChange) -> Void)?
    /// For the source that a reload may make in the place of this one.
    package var kept: KeptLogin?
}

/// The login that a source holds in memory, for another source of the same login with other settings.
package struct KeptLogin: Sendable {
    let keeper: PairKeeper
    let credential: Credential?

    /// With the credential that is in use at the moment.
    package func with(_ credential: Credential?) -> KeptLogin { KeptLogin(keeper: keeper, credential: credential) }
}

package enum TokenSourceFactory {
    /// A missing token is no reason not to start: it is reported, and each exchange that needs it is told. Only a store
    /// that can be neither read nor set aside is, because going on would overwrite what may be the last good login.
    /// `report` is called on any thread, also later, when a new pair can't be stored.
    /// `inherited`: the same login under the settings before a reload; what is kept in memory only goes on from there.
    package static func make(
        _ settings: TokenSettings, inheriting inherited: KeptLogin? = nil, report: @escaping @Sendable (TokenReport) -> Void
    ) -> Result<LoadedTokenSource, TokenProblem> {
        make(settings, inheriting: inherited, report: report, call: nil)
    }

    /// `call` stands in for the HTTP client in tests.
    static func make(
        _ settings: TokenSettings, inheriting inherited: KeptLogin? = nil, report: @escaping @Sendable (TokenReport) -> Void,
        call: EndpointCall?
    ) -> Result<LoadedTokenSource, TokenProblem> {
        let timeout = settings.refresh.timeoutMilliseconds
        let lifetime = TokenLifetime(settings.refresh)
        switch settings.source {
        case .fixed(let reference):
            return .success(held(SecretResolver.resolve(reference).map { NewCredential(token: $0) }, settings, FixedTokenSource(), report))
        case .environment(let name):
            let found = SecretResolver.environment(name).map { NewCredential(token: $0) }
            return .success(held(found, settings, EnvironmentTokenSource(), report))
        case .file(let path): return .success(file(FileTokenProducer(path: path, lifetime: lifetime), settings, report))
        case .exec(let exec):
            let producer = ExecTokenProducer(settings: exec, lifetime: lifetime, timeoutMilliseconds: timeout)
            return .success(queued(producer, settings, begun(resolve(settings.initialToken, report), nil, settings)))
        case .oauth2(let oauth2):
            let call = call ?? TokenEndpoint.call(caFile: oauth2.caFile)
            return pair(settings, OAuth2Grants(oauth2, lifetime: lifetime, call: call), inherited, report)
        case .login(let login):
            let call = call ?? TokenEndpoint.call(caFile: login.caFile)
            return pair(settings, LoginGrants(login, lifetime: lifetime, call: call), inherited, report)
        }
    }

    private static func queued(
        _ producer: any TokenProducer, _ settings: TokenSettings, _ initial: NewCredential?, on queue: DispatchQueue? = nil
    ) -> LoadedTokenSource {
        let counters = SourceCounters()
        return LoadedTokenSource(
            refresher: QueuedTokenSource(producer, name: settings.name, counters: counters, queue: queue), initial: initial,
            counters: counters)
    }

    private static func file(
        _ producer: FileTokenProducer, _ settings: TokenSettings, _ report: @Sendable (TokenReport) -> Void
    ) -> LoadedTokenSource {
        let initial: NewCredential?
        switch producer.read() {
        case .success(let new): initial = new.credential
        case .failure(let trouble):
            initial = resolve(settings.initialToken, report).map { NewCredential(token: $0) }
            if initial == nil { report(.sourceUnavailable(detail: trouble.detail)) }
        }
        return queued(producer, settings, initial)
    }

    /// A source that holds its token itself; `initial` stands in for one that is not there yet.
    private static func held(
        _ found: Result<NewCredential, TokenProblem>, _ settings: TokenSettings, _ refresher: any TokenRefresher,
        _ report: @Sendable (TokenReport) -> Void
    ) -> LoadedTokenSource {
        switch found {
        case .success(let new): return LoadedTokenSource(refresher: refresher, initial: new, counters: SourceCounters())
        case .failure(let problem):
            let initial = resolve(settings.initialToken, report)
            if initial == nil { tell(problem, report) }
            return LoadedTokenSource(
                refresher: refresher, initial: initial.map { NewCredential(token: $0) }, counters: SourceCounters())
        }
    }

    /// A stored pair wins over `initial`: it is what became of it.
    private static func pair(
        _ settings: TokenSettings, _ grants: any TokenGrants, _ inherited: KeptLogin?, _ report: @escaping @Sendable (TokenReport) -> Void
    ) -> Result<LoadedTokenSource, TokenProblem> {
        let initialRefreshToken = { resolve(settings.initialRefreshToken, report) }
        return OpenedStore.open(settings, inheriting: inherited, initialRefreshToken: initialRefreshToken, report: report).map { store in
            let producer = PairTokenProducer(
                grants: grants, keeper: store.keeper, timeoutMilliseconds: settings.refresh.timeoutMilliseconds)
            let first = store.stored != nil || store.isLoggedOut ? nil : resolve(settings.initialToken, report)
            let initial = store.stored ?? begun(first, store.keeper.refreshToken(for: nil), settings)
            return store.loaded(queued(producer, settings, initial, on: store.keeper.asking), settings, report: report)
        }
    }

    /// The configured token, unless it says itself that it has ended; how long another one lives is not known.
    private static func begun(_ token: Secret?, _ refreshToken: Secret?, _ settings: TokenSettings) -> NewCredential? {
        var lifetime = TokenLifetime(settings.refresh)
        lifetime.defaultSeconds = nil
        let now = Clock.unixSeconds()
        let issued = token.map {
            lifetime.issued($0, refreshToken: refreshToken, told: .nothing, now: now, random: .random(in: 0...UInt64.max))
        }
        return try? issued?.get().credential
    }

    /// As it is now, without a word about what is missing.
    static func initialPair(_ settings: TokenSettings) -> InitialPair {
        InitialPair(token: resolve(settings.initialToken, { _ in }), refreshToken: resolve(settings.initialRefreshToken, { _ in }))
    }

    private static func resolve(_ reference: SecretReference?, _ report: @Sendable (TokenReport) -> Void) -> Secret? {
        guard let reference else { return nil }
        switch SecretResolver.resolve(reference) {
        case .success(let secret): return secret
        case .failure(let problem):
            tell(problem, report)
            return nil
        }
    }

    /// The configuration's check has named unset variables already.
    private static func tell(_ problem: TokenProblem, _ report: @Sendable (TokenReport) -> Void) {
        if case .environmentMissing = problem { return }
        report(.sourceUnavailable(detail: String(describing: problem)))
    }
}
