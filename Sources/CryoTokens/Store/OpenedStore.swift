// Opens the store a token's settings name and reads what it holds.
// Domain: cold

import CryoPipeline

/// A store with the pair it was found with.
struct OpenedStore {
    var keeper: PairKeeper
    /// nil: begin with `initial`.
    var stored: NewCredential?
    var monitor: TokenStoreMonitor
    private var file: TokenStoreFile?
    /// Where several gateways share it.
    private var redis: (settings: RedisStoreSettings, version: UInt64, trouble: String?)?

    /// A store that can be neither read nor set aside is a reason not to start, because going on could overwrite what may be the last
    /// good login. A Redis that can't be reached is none: it may come back.
    static func open(
        _ settings: TokenSettings, initialRefreshToken: () -> Secret?, report: @escaping @Sendable (TokenReport) -> Void
    ) -> Result<OpenedStore, TokenProblem> {
        if let redis = settings.storeRedis { return .success(shared(redis, initialRefreshToken, report)) }
        guard let path = settings.storeFile else {
            let monitor = TokenStoreMonitor(.memory)
            let keeper = PairKeeper(store: nil, refreshToken: initialRefreshToken(), monitor: monitor, report: report)
            return .success(OpenedStore(keeper: keeper, stored: nil, monitor: monitor))
        }
        return file(TokenStoreFile(path: path), initialRefreshToken, report)
    }

    private static func file(
        _ store: TokenStoreFile, _ initialRefreshToken: () -> Secret?, _ report: @escaping @Sendable (TokenReport) -> Void
    ) -> Result<OpenedStore, TokenProblem> {
        let monitor = TokenStoreMonitor(.file, place: store.path)
        var stored: NewCredential?
        switch store.read() {
        case .absent: break
        case .pair(let pair, let mode):
            stored = pair
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
        let refreshToken = stored == nil ? initialRefreshToken() : stored?.refreshToken
        let keeper = PairKeeper(store: store, refreshToken: refreshToken, monitor: monitor, report: report)
        return .success(OpenedStore(keeper: keeper, stored: stored, monitor: monitor, file: store))
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

    /// The source as exchanges see it: where the store is shared, behind the others' refreshes.
    func loaded(
        _ refresher: any TokenRefresher, initial: NewCredential?, _ settings: TokenSettings,
        report: @escaping @Sendable (TokenReport) -> Void
    ) -> LoadedTokenSource {
        let keeper = keeper
        if let redis {
            let shared = SharedTokenSource(
                refresher, keeper: keeper, settings: redis.settings, version: redis.version,
                patienceMilliseconds: settings.refresh.timeoutMilliseconds, monitor: monitor, report: report)
            if let trouble = redis.trouble { shared.startProbing(after: trouble) }
            return LoadedTokenSource(refresher: shared, initial: initial, store: monitor, adopt: { shared.adopt($0) })
        }
        let marked = file.map { MarkedTokenSource(inner: refresher, keeper: keeper, store: $0) }
        return LoadedTokenSource(refresher: marked ?? refresher, initial: initial, store: monitor, adopt: { keeper.adopt($0) })
    }
}

extension RedisStoreSettings {
    /// For messages.
    var place: String { "redis \(address) key \(key)" }
}
