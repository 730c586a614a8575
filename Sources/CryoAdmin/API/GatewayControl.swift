// What the admin side needs of the gateway it stands beside. The composition root implements it.
// Domain: cold

package import CryoPipeline

/// One token with what belongs to it.
package struct AdminToken: Sendable {
    package let store: CredentialStore
    package let session: SessionKeeper
    package let statistics: TokenStatistics
    /// The word of the configuration for where it comes from: static, env, file, …
    package let source: String
    /// The routes that inject it.
    package let routes: [String]
    /// How often asking the source ended in what, by name; what was never seen is left out.
    package var sourceOutcomes: @Sendable () -> [(name: String, count: UInt64)] = { [] }
    package var keeping: @Sendable () -> Keeping = { Keeping() }

    /// Where what is renewed is kept, and how that goes.
    package struct Keeping: Sendable {
        /// memory, file or redis.
        package var kind = "memory"
        package var place: String?
        /// nil: it works, as far as is known.
        package var trouble: String?
        package var events: [(name: String, count: UInt64)] = []

        package init() {}
    }

    package init(store: CredentialStore, session: SessionKeeper, statistics: TokenStatistics, source: String, routes: [String]) {
        self.store = store
        self.session = session
        self.statistics = statistics
        self.source = source
        self.routes = routes
    }

    package var name: String { store.settings.name }
}

/// What became of the events that the hooks of one token or policy were to be told.
package struct AdminHook: Sendable {
    /// token or policy
    package let owner: String
    package let name: String
    package let sent: UInt64
    package let failed: UInt64
    package let dropped: UInt64

    package init(owner: String, name: String, sent: UInt64, failed: UInt64, dropped: UInt64) {
        self.owner = owner
        self.name = name
        self.sent = sent
        self.failed = failed
        self.dropped = dropped
    }
}

/// The gateway at one moment: one configuration's parts, and numbers summed over the workers.
package struct GatewaySnapshot: Sendable {
    package var version = ""
    package var startUnixSeconds: Int64 = 0
    package var tokens: [AdminToken] = []
    package var sessions: [SessionKeeper] = []
    package var upstreams: [UpstreamPlan] = []
    package var routes: [RoutePlan] = []
    /// Monotonic, as the data path counts it.
    package var nanoseconds: UInt64 = 0
    package var statistics: ExchangeStatistics?
    package var openExchanges = 0
    package var openConnections = 0
    package var openAdminConnections = 0
    package var failedHandshakes = 0
    package var hooks: [AdminHook] = []
    /// Answers that carried a secret of the gateway; nil: nobody looks.
    package var echoedSecrets: UInt64?
    /// nil: no audit is written.
    package var audit: AuditState?
    package var isDraining = false
    package var isStarted = false
    package var reloadsDone: UInt64 = 0
    package var reloadsRefused: UInt64 = 0
    /// Whether the last reload was taken; true before the first.
    package var isLastReloadTaken = true

    package init() {}

    package struct AuditState: Sendable {
        package var written: UInt64
        package var dropped: UInt64
        /// The last batch went into the file.
        package var isWritable: Bool

        package init(written: UInt64, dropped: UInt64, isWritable: Bool) {
            self.written = written
            self.dropped = dropped
            self.isWritable = isWritable
        }
    }
}

package enum ReloadAnswer: Sendable {
    /// What has changed and stays as it was until a restart, one line each.
    case done(needsRestart: [String])
    /// There is no file to read again.
    case nothingToReload
    /// Hold no secret. `problems` are those of the configuration, as `file:line:col: message`.
    case refused(String, problems: [String])
}

package protocol GatewayControl: AnyObject, Sendable {
    /// What the exchanges leave for the admin side.
    var feed: ExchangeFeed? { get }
    func snapshot() -> GatewaySnapshot
    /// The effective configuration as YAML, secrets masked.
    func configurationText() -> String
    var clientAddress: ClientAddress { get }
    /// Answers once, on any thread.
    func replay(_ request: ReplayRequest, completion: @escaping @Sendable (Result<ReplayAnswer, ReplayRefusal>) -> Void)
    func reload(completion: @escaping @Sendable (ReloadAnswer) -> Void)
    /// Begins what TERM begins.
    func drain()
}
