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

/// The gateway at one moment: one configuration's parts, and numbers summed over the workers.
package struct GatewaySnapshot: Sendable {
    package var version = ""
    package var startUnixSeconds: Int64 = 0
    package var tokens: [AdminToken] = []
    package var sessions: [SessionKeeper] = []
    package var statistics: ExchangeStatistics?
    package var openExchanges = 0
    package var openConnections = 0
    package var openAdminConnections = 0
    package var failedHandshakes = 0
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
    case done
    /// There is no file to read again.
    case nothingToReload
    /// Holds no secret.
    case refused(String)
}

package protocol GatewayControl: AnyObject, Sendable {
    func snapshot() -> GatewaySnapshot
    /// The effective configuration as YAML, secrets masked.
    func configurationText() -> String
    func reload(completion: @escaping @Sendable (ReloadAnswer) -> Void)
    /// Begins what TERM begins.
    func drain()
}
