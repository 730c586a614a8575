// Opens the store a token's settings name and reads what it holds.
// Domain: cold

import CryoPipeline

/// A store with the pair it was found with.
struct OpenedStore {
    var keeper: PairKeeper
    /// nil: begin with `initial`.
    var stored: NewCredential?
    var monitor: TokenStoreMonitor
    /// The user logged out, and `initial` has not changed since: it is not used.
    var isLoggedOut = false
    private var file: TokenStoreFile?
    /// Where several gateways share it.
    private var redis: (settings: RedisStoreSettings, version: UInt64, trouble: String?)?

    /// A store that can be neither read nor set aside is a reason not to start, because going on could overwrite what may be the last
    /// good login. A Redis that can't be reached is none: it may come back.
    static func open(
        _ settings: TokenSettings, inheriting inherited: KeptLogin?, initialRefreshToken: () -> Secret?,
        report: @escaping @Sendable (TokenReport) -> Void
    ) -> Result<OpenedStore, TokenProblem> {
        if let redis = settings.storeRedis { return .success(shared(redis, initialRefreshToken, report)) }
        guard let path = settings.storeFile else {
            if let inherited, let store = OpenedStore(inherited) { return .success(store) }
            let monitor = TokenStoreMonitor(.memory)
            let keeper = PairKeeper(store: nil, refreshToken: initialRefreshToken(), monitor: monitor, report: report)
            return .success(OpenedStore(keeper: keeper, stored: nil, monitor: monitor))
        }
        return file(TokenStoreFile(path: path), settings, initialRefreshToken, report)
    }

    /// nil where there was neither a token nor the end of a login: `initial` may be there by now.
    private init?(_ inherited: KeptLogin) {
        guard inherited.credential != nil || inherited.keeper.adoptions > 0 else { return nil }
        keeper = inherited.keeper
        stored = inherited.credential.map {
            NewCredential(token: $0.token, refreshToken: $0.refreshToken, expiresAt: $0.expiresAt, refreshAt: $0.refreshAt)
        }
        monitor = inherited.keeper.monitor
        isLoggedOut = stored == nil
    }

    private init(
        keeper: PairKeeper, stored: NewCredential?, monitor: TokenStoreMonitor, isLoggedOut: Bool = false, file: TokenStoreFile? = nil,
        redis: (settings: RedisStoreSettings, version: UInt64, trouble: String?)? = nil
    ) {
        self.keeper = keeper
        self.stored = stored
        self.monitor = monitor
        self.isLoggedOut = isLoggedOut
        self.file = file
        self.redis = redis
    }

    private static func file(
        _ store: TokenStoreFile, _ settings: TokenSettings, _ initialRefreshToken: () -> Secret?,
        _ report: @escaping @Sendable (TokenReport) -> Void
    ) -> Result<OpenedStore, TokenProblem> {
        let monitor = TokenStoreMonitor(.file, place: store.path)
        var stored: NewCredential?
        var known = StoredLogin.nothing
        var isLoggedOut = false
        switch store.read() {
        case .absent: break
        case .loggedOut(let mark):
            known = .loggedOut(mark)
            isLoggedOut = mark.isOf(TokenSourceFactory.initialPair(settings))
            if isLoggedOut { report(.storeLoggedOut(path: store.path)) }
        case .pair(let pair, let mode):
            stored = pair
            known = .pair(pair)
            if mode & 0o077 != 0 { report(.storePermissionsWide(path: store.path, mode: mode)) }
        case .corrupt(let cause, let keptAs):
            monitor.count(.corruptKeptAside)
            report(.storeCorrupt(path: store.path, keptAs: keptAs, cause: cause))
        case .failed(let cause): return .failure(.storeUnreadable(path: store.path, cause: cause))
        }
        store.removeLeftovers()
        if store.clearMark() {
            monitor.count(.interrupted)
            report(.storeInterrupted(path: store.path))
        }
        if stored != nil, stored?.refreshToken == nil { stored?.refreshToken = initialRefreshToken() }
        let refreshToken = isLoggedOut ? nil : stored == nil ? initialRefreshToken() : stored?.refreshToken
        let keeper = PairKeeper(
            store: store, holding: known, refreshToken: refreshToken, initial: { TokenSourceFactory.initialPair(settings) },
            monitor: monitor,
            report: report)
        return .success(OpenedStore(keeper: keeper, stored: stored, monitor: monitor, isLoggedOut: isLoggedOut, file: store))
    }

    private static func shared(
        _ settings: RedisStoreSettings, _ initialRefreshToken: () -> Secret?, _ report: @escaping @Sendable (TokenReport) -> Void
    ) -> OpenedStore {
        let monitor = TokenStoreMonitor(.redis, place: settings.place)
        var stored: NewCredential?
        var version: UInt64 = 0
        var trouble: String?
        do throws(RedisError) {
            switch try RedisTokenLink(settings, owner: RedisTokenLink.randomOwner()).read() {
            case .absent: break
            case .pair(let pair, let found):
                stored = pair
                version = found
            case .refused(_, let found): version = found
            case .corrupt(let cause, let keptAs):
                monitor.count(.corruptKeptAside)
                report(.storeCorrupt(path: settings.place, keptAs: keptAs, cause: cause))
            }
        } catch {
            trouble = String(describing: error)
        }
        if stored != nil, stored?.refreshToken == nil { stored?.refreshToken = initialRefreshToken() }
        let refreshToken = stored == nil ? initialRefreshToken() : stored?.refreshToken
        let keeper = PairKeeper(store: nil, refreshToken: refreshToken, monitor: monitor, report: report)
        return OpenedStore(keeper: keeper, stored: stored, monitor: monitor, redis: (settings, version, trouble))
    }

    /// The source as exchanges see it: where the store may be shared, behind the others' refreshes.
    func loaded(
        _ source: LoadedTokenSource, _ settings: TokenSettings, report: @escaping @Sendable (TokenReport) -> Void
    ) -> LoadedTokenSource {
        let keeper = keeper
        var source = source
        source.store = monitor
        source.adopt = { keeper.adopt($0) }
        if file == nil, redis == nil { source.kept = KeptLogin(keeper: keeper, credential: nil) }
        if let redis {
            let shared = SharedTokenSource(
                source.refresher, keeper: keeper, settings: redis.settings, version: redis.version,
                patienceMilliseconds: settings.refresh.timeoutMilliseconds, monitor: monitor, report: report)
            if let trouble = redis.trouble { shared.startProbing(after: trouble) }
            source.refresher = shared
            source.adopt = { shared.adopt($0) }
        } else if let file {
            let shared = FileTokenSource(
                source.refresher, keeper: keeper, store: file, patienceMilliseconds: settings.refresh.timeoutMilliseconds, monitor: monitor,
                report: report)
            source.refresher = shared
            source.adopt = { shared.adopt($0) }
        }
        return source
    }
}

extension RedisStoreSettings {
    /// For messages.
    var place: String { "redis \(address) key \(key)" }
}
