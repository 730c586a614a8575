// Makes the source a token's settings ask for, with the token it begins with.
// Domain: cold

package import CryoPipeline

package struct LoadedTokenSource: Sendable {
    package let refresher: any TokenRefresher
    /// nil: no token yet. Sources that can refresh get one at the first use.
    package let initial: NewCredential?
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
                return LoadedTokenSource(
                    refresher: OAuth2TokenSource(oauth2, name: settings.name, keeper: pair.keeper, call: call), initial: pair.initial,
                    adopt: { pair.keeper.adopt($0) })
            }
        case .login(let login):
            return pair(settings, report).map { pair in
                let call = call ?? TokenEndpoint.call(timeoutMilliseconds: timeout, caFile: login.caFile)
                return LoadedTokenSource(
                    refresher: LoginTokenSource(login, name: settings.name, keeper: pair.keeper, call: call), initial: pair.initial,
                    adopt: { pair.keeper.adopt($0) })
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
        let keeper: PairKeeper
        let initial: NewCredential?
    }

    /// A stored pair wins over `initial`: it is what became of it.
    private static func pair(
        _ settings: TokenSettings, _ report: @escaping @Sendable (TokenReport) -> Void
    ) -> Result<Pair, TokenProblem> {
        let store = settings.storeFile.map { TokenStoreFile(path: $0) }
        if let store {
            switch store.read() {
            case .absent: break
            case .pair(var stored, let mode):
                if stored.refreshToken == nil { stored.refreshToken = resolve(settings.initialRefreshToken, report) }
                if mode & 0o077 != 0 { report(.storePermissionsWide(path: store.path, mode: mode)) }
                let keeper = PairKeeper(store: store, refreshToken: stored.refreshToken, report: report)
                return .success(Pair(keeper: keeper, initial: stored))
            case .corrupt(let cause, let keptAs): report(.storeCorrupt(path: store.path, keptAs: keptAs, cause: cause))
            case .failed(let cause): return .failure(.storeUnreadable(path: store.path, cause: cause))
            }
        }
        let token = resolve(settings.initialToken, report)
        let refreshToken = resolve(settings.initialRefreshToken, report)
        return .success(
            Pair(
                keeper: PairKeeper(store: store, refreshToken: refreshToken, report: report),
                initial: token.map { NewCredential(token: $0, refreshToken: refreshToken) }))
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
