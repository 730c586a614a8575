// Makes the source a token's settings ask for, with the token it begins with.
// Domain: cold

package import CryoPipeline

package struct LoadedTokenSource: Sendable {
    package let refresher: any TokenRefresher
    /// nil: no token yet. Sources that can refresh get one at the first use.
    package let initial: NewCredential?
    /// Whether what it renews is kept, and how that goes.
    package var store = TokenStoreMonitor(.memory)
    /// Keeps a login from outside across restarts, nil forgets what was kept. Blocks; nil where nothing is kept.
    package var adopt: (@Sendable (NewCredential?) -> Void)?
}

package enum TokenSourceFactory {
    /// A missing token is no reason not to start: it is reported, and each exchange that needs it is told. Only a store
    /// that can be neither read nor set aside is, because going on would overwrite what may be the last good login.
    /// `report` is called on any thread, also later, when a new pair can't be stored.
    package static func make(
        _ settings: TokenSettings, report: @escaping @Sendable (TokenReport) -> Void
    ) -> Result<LoadedTokenSource, TokenProblem> {
        make(settings, report: report, call: nil)
    }

    /// `call` stands in for the HTTP client in tests.
    static func make(
        _ settings: TokenSettings, report: @escaping @Sendable (TokenReport) -> Void, call: EndpointCall?
    ) -> Result<LoadedTokenSource, TokenProblem> {
        let timeout = settings.refresh.timeoutMilliseconds
        switch settings.source {
        case .fixed(let reference):
            return .success(held(SecretResolver.resolve(reference), settings, FixedTokenSource(), report))
        case .environment(let name):
            return .success(held(SecretResolver.environment(name), settings, EnvironmentTokenSource(), report))
        case .file(let path):
            return .success(held(SecretResolver.file(path), settings, FileTokenSource(path: path, name: settings.name), report))
        case .oauth2(let oauth2):
            return pair(settings, report).map { pair in
                let call = call ?? TokenEndpoint.call(timeoutMilliseconds: timeout, caFile: oauth2.caFile)
                return pair.loaded(OAuth2TokenSource(oauth2, name: settings.name, keeper: pair.keeper, call: call), settings)
            }
        case .login(let login):
            return pair(settings, report).map { pair in
                let call = call ?? TokenEndpoint.call(timeoutMilliseconds: timeout, caFile: login.caFile)
                return pair.loaded(LoginTokenSource(login, name: settings.name, keeper: pair.keeper, call: call), settings)
            }
        }
    }

    /// A source that holds its token itself; `initial` stands in for one that is not there yet.
    private static func held(
        _ found: Result<Secret, TokenProblem>, _ settings: TokenSettings, _ refresher: any TokenRefresher,
        _ report: @Sendable (TokenReport) -> Void
    ) -> LoadedTokenSource {
        switch found {
        case .success(let token): return LoadedTokenSource(refresher: refresher, initial: NewCredential(token: token))
        case .failure(let problem):
            let initial = resolve(settings.initialToken, report)
            if initial == nil { tell(problem, report) }
            return LoadedTokenSource(refresher: refresher, initial: initial.map { NewCredential(token: $0) })
        }
    }

    private struct Pair {
        let store: OpenedStore
        let initial: NewCredential?
        let report: @Sendable (TokenReport) -> Void

        var keeper: PairKeeper { store.keeper }

        func loaded(_ refresher: any TokenRefresher, _ settings: TokenSettings) -> LoadedTokenSource {
            store.loaded(refresher, initial: initial, settings, report: report)
        }
    }

    /// A stored pair wins over `initial`: it is what became of it.
    private static func pair(
        _ settings: TokenSettings, _ report: @escaping @Sendable (TokenReport) -> Void
    ) -> Result<Pair, TokenProblem> {
        let initialRefreshToken = { resolve(settings.initialRefreshToken, report) }
        return OpenedStore.open(settings, initialRefreshToken: initialRefreshToken, report: report).map { store in
            let initial =
                store.stored
                ?? resolve(settings.initialToken, report).map {
                    NewCredential(token: $0, refreshToken: store.keeper.refreshToken(for: nil))
                }
            return Pair(store: store, initial: initial, report: report)
        }
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
        report(.sourceUnavailable(problem))
    }
}
