// What the admin side sees of the gateway and may ask of it.
// Domain: cold

package import CryoAdmin
import CryoAudit
import CryoConfig
import CryoHooks
import CryoIO
package import CryoPipeline
import CryoServer
import CryoTokens

/// What lies with the program around the gateway: its configuration file, its signals, its end.
package struct GatewayActions: Sendable {
    package var version: String
    /// The effective configuration as YAML, secrets masked.
    package var configurationText: @Sendable () -> String
    package var reload: @Sendable (@escaping @Sendable (ReloadAnswer) -> Void) -> Void
    package var drain: @Sendable () -> Void

    package init(
        version: String, configurationText: @escaping @Sendable () -> String,
        reload: @escaping @Sendable (@escaping @Sendable (ReloadAnswer) -> Void) -> Void, drain: @escaping @Sendable () -> Void
    ) {
        self.version = version
        self.configurationText = configurationText
        self.reload = reload
        self.drain = drain
    }
}

/// Where the admin side listens, and the key of its calls.
package struct AdminAccess: Sendable {
    package let address: String
    package let key: Secret
    /// The configuration names the key: nobody needs to be told.
    package let isKeyConfigured: Bool
}

extension Gateway: GatewayControl {
    /// The configured key, or a new one.
    static func adminKey(_ reference: SecretReference?) throws(GatewayError) -> Secret {
        guard let reference else { return AdminSide.makeKey() }
        switch SecretResolver.resolve(reference) {
        case .success(let key): return key
        case .failure(let problem): throw GatewayError("admin.key: \(problem)")
        }
    }

    /// What `configuration` changes beside what a reload takes. The running addresses are those of the start, whatever came between.
    func needsRestart(_ configuration: GatewayConfiguration) -> [String] {
        var notes: [String] = []
        let listen = started.listen
        if configuration.listen.address != listen.address {
            notes.append("listen.address needs a restart: it stays \(Self.text(listen.address))")
        }
        if configuration.listen.mode != listen.mode { notes.append("listen.mode needs a restart") }
        if configuration.listen.halfClose != listen.halfClose { notes.append("listen.half_close needs a restart") }
        if configuration.workers != started.workers { notes.append("workers needs a restart") }
        if configuration.admin?.address != started.admin?.address {
            notes.append("admin.address needs a restart: it stays \(started.admin.map { Self.text($0.address) } ?? "absent")")
        }
        if started.admin != nil, configuration.admin != nil, hasOtherKey(configuration) { notes.append("admin.key needs a restart") }
        return notes
    }

    /// Also when the same reference leads to another key now.
    private func hasOtherKey(_ configuration: GatewayConfiguration) -> Bool {
        guard let reference = configuration.adminKey, started.adminKey != nil else {
            return (configuration.adminKey == nil) != (started.adminKey == nil)
        }
        guard case .success(let key) = SecretResolver.resolve(reference) else { return true }
        return !key.matches(adminKey)
    }

    package func snapshot() -> GatewaySnapshot {
        let composition = present
        var snapshot = GatewaySnapshot()
        snapshot.version = actions?.version ?? ""
        snapshot.startUnixSeconds = startUnixSeconds
        snapshot.tokens = composition.configuration.tokens.compactMap { settings in
            guard let part = composition.tokens[settings.name] else { return nil }
            let routes = composition.configuration.routes.filter { $0.token == settings.name }.map(\.name)
            var token = AdminToken(
                store: part.store, session: part.session, statistics: part.statistics, source: settings.source.name, routes: routes)
            token.sourceOutcomes = { part.counters.seen.map { ($0.outcome.rawValue, $0.count) } }
            token.keeping = { Self.keeping(part.keeping.status) }
            return token
        }
        snapshot.sessions = composition.sessions.values.sorted { $0.name < $1.name }
        snapshot.hooks = Self.hooks(composition.hooks)
        snapshot.statistics = composition.statistics
        snapshot.upstreams = composition.plan.upstreams
        snapshot.routes = composition.plan.routes
        snapshot.nanoseconds = Clock.monotonicNanoseconds()
        snapshot.openExchanges = openExchanges
        if let statistics = serverStatistics {
            snapshot.isStarted = true
            snapshot.openConnections = statistics.openConnections
            snapshot.failedHandshakes = statistics.failedHandshakes
        }
        snapshot.openAdminConnections = openAdminConnections
        snapshot.echoedSecrets = composition.echoes?.count
        snapshot.audit = composition.audit.map { .init(written: $0.written, dropped: $0.dropped, isWritable: $0.isWritable) }
        let life = life
        snapshot.isDraining = life.isDraining
        snapshot.reloadsDone = life.reloadsDone
        snapshot.reloadsRefused = life.reloadsRefused
        snapshot.isLastReloadTaken = life.isLastReloadTaken
        return snapshot
    }

    private static func hooks(_ hooks: Hooks) -> [AdminHook] {
        let all = hooks.queues.map { owner, queues in
            let counts = queues.map(\.counts)
            return AdminHook(
                owner: owner.parts.kind, name: owner.parts.name, sent: counts.reduce(0) { $0 + $1.sent },
                failed: counts.reduce(0) { $0 + $1.failed }, dropped: counts.reduce(0) { $0 + $1.dropped })
        }
        return all.sorted { ($0.owner, $0.name) < ($1.owner, $1.name) }
    }

    private static func keeping(_ status: TokenStoreStatus) -> AdminToken.Keeping {
        var keeping = AdminToken.Keeping()
        keeping.kind = status.kind.rawValue
        keeping.place = status.place
        keeping.trouble = status.trouble
        keeping.events = TokenStoreOutcome.allCases.compactMap { outcome in status.counts[outcome].map { (outcome.rawValue, $0) } }
        return keeping
    }

    package func configurationText() -> String { actions?.configurationText() ?? "" }

    package func reload(completion: @escaping @Sendable (ReloadAnswer) -> Void) {
        guard let actions else { return completion(.nothingToReload) }
        actions.reload(completion)
    }

    package func drain() { actions?.drain() }
}
