// One configuration made real: credential stores, the audit and the plan exchanges run by. Swapped whole on reload.
// Domain: cold

import CryoAudit
import CryoConfig
import CryoHooks
import CryoIO
import CryoPipeline
import CryoServer
import CryoTokens

final class Composition: Sendable {
    let configuration: GatewayConfiguration
    let plan: PipelinePlan
    let audit: AuditWriter?
    /// Whom the listener lets in.
    let admission: Admission
    let tokens: [String: TokenPart]
    let statistics: ExchangeStatistics
    /// One for all compositions of a gateway, so that a token that lives on tells the newest hooks.
    let hooks: Hooks
    private let guards: Guards
    /// nil: nobody looks for secrets in answers.
    let echoes: EchoReports?
    private let hookTable: [HookOwner: [HookQueue]]

    /// A token's store and the source behind it.
    struct TokenPart: Sendable {
        let store: CredentialStore
        /// Whether what is renewed is kept, and how that goes.
        let keeping: TokenStoreMonitor
        let watcher: FileWatcher?
        let early: EarlyRefresher?
        let counters: SourceCounters
        /// Tells whether a reload asks for the same token; then the store and its login live on.
        let fingerprint: String
        /// Tells whether it is the same login under other settings; then what is kept in memory goes on.
        let loginFingerprint: String
        let kept: KeptLogin?
        let session: SessionKeeper
        let statistics: TokenStatistics
        let persist: @Sendable (LoginChange, @escaping @Sendable () -> Void) -> Void

        /// Begins to watch what changes by itself: a file, the time.
        func start() {
            watcher?.start()
            early?.start()
        }

        func stop() {
            watcher?.stop()
            early?.stop()
        }
    }

    /// What the gateway lends to every composition.
    struct Surroundings: Sendable {
        let log: Log
        let workers: Int
        /// Secrets of the gateway that no configuration holds.
        var secrets: [Secret] = []
        /// nil without an admin side.
        var feed: ExchangeFeed?
    }

    init(_ configuration: GatewayConfiguration, replacing old: Composition?, in surroundings: Surroundings) throws(GatewayError) {
        let log = surroundings.log
        self.configuration = configuration
        admission = try Self.admission(configuration.listen)
        hooks = old?.hooks ?? Hooks(unixMicroseconds: { Clock.unixMicroseconds() })
        hookTable = try Self.hookTable(configuration, replacing: old?.hookTable ?? [:], log: log)
        var tokens: [String: TokenPart] = [:]
        var sessions = old?.sessions ?? [:]
        for settings in configuration.tokens {
            let session = Self.session(of: settings, among: sessions, hooks: hooks, log: log)
            sessions[session.name] = session
            tokens[settings.name] = try Self.token(settings, replacing: old?.tokens[settings.name], session: session, log: log)
        }
        self.tokens = tokens
        let statistics = ExchangeStatistics(
            workers: surroundings.workers, routes: configuration.routes.map(\.name), upstreams: configuration.upstreams.map(\.name),
            replacing: old?.statistics)
        self.statistics = statistics
        audit = try Self.audit(configuration.audit, replacing: old, log: log)
        let guards = try Self.guards(configuration, replacing: old?.guards, log: log)
        self.guards = guards
        echoes = configuration.echo != .off ? old?.echoes ?? EchoReports(warn: { log.warning($0) }) : nil
        plan = try Self.plan(
            configuration, guards: guards, tokens: tokens, audit: audit, clientKey: Self.clientKey(configuration, log),
            statistics: statistics, secrets: surroundings.secrets, hooks: hooks, feed: surroundings.feed,
            echoes: echoes)
    }

    var sessions: [String: SessionKeeper] {
        Dictionary(tokens.values.map { ($0.session.name, $0.session) }, uniquingKeysWith: { first, _ in first })
    }

    /// Reads the certificate files anew each time: on HUP they may hold new ones.
    private static func admission(_ settings: ListenSettings) throws(GatewayError) -> Admission {
        guard let tls = settings.tls else { return Admission(peerUIDs: settings.peerUIDs) }
        do {
            let files = TLSFiles(certificate: tls.certificateFile, key: tls.keyFile, clientCA: tls.clientCAFile)
            return Admission(tls: try TLSContext(files), peerUIDs: settings.peerUIDs)
        } catch {
            throw GatewayError("listen.tls: \(error)")
        }
    }

    private static func audit(_ settings: AuditSettings?, replacing old: Composition?, log: Log) throws(GatewayError) -> AuditWriter? {
        guard let settings, settings.level != .off else { return nil }
        do {
            if let writer = old?.audit, let before = old?.configuration.audit, before.file == settings.file {
                // With the same settings the file is opened anew once all the rest has been taken: its disk may keep that waiting.
                if before.sink != settings.sink { try writer.replaceSettings(settings.sink) }
                return writer
            }
            return try AuditWriter(path: settings.file, settings: settings.sink, warn: { log.warning($0) })
        } catch {
            throw GatewayError("\(error)")
        }
    }

    private static func redactionMark(
        _ settings: RedactionSettings?
    ) throws(GatewayError) -> (@Sendable (UnsafeRawBufferPointer) -> [UInt8])? {
        guard let settings, settings.mode == .hmac, let path = settings.keyFile else { return nil }
        do throws(SystemError) {
            let key = try RedactionKey(path, makes: true)
            return { key.mark(of: $0) }
        } catch {
            throw GatewayError("audit.redact.hmac_key \(path): \(error)")
        }
    }

    /// A shorter key can be guessed by somebody who may try often.
    private static let clientKeyBytesMin = 16

    private static func clientKey(_ configuration: GatewayConfiguration, _ log: Log) throws(GatewayError) -> Secret? {
        guard let reference = configuration.clientKey else { return nil }
        switch SecretResolver.resolve(reference) {
        case .failure(let problem): throw GatewayError("listen.client_key: \(problem)")
        case .success(let key):
            if key.count < clientKeyBytesMin { log.warning("listen.client_key: shorter than \(clientKeyBytesMin) bytes is easy to guess") }
            return key
        }
    }

    private static func plan(
        _ configuration: GatewayConfiguration, guards: Guards, tokens: [String: TokenPart], audit: AuditWriter?, clientKey: Secret?,
        statistics: ExchangeStatistics, secrets: [Secret], hooks: Hooks, feed: ExchangeFeed?,
        echoes: EchoReports?
    ) throws(GatewayError) -> PipelinePlan {
        let upstreams = configuration.upstreams.map {
            UpstreamPlan($0, breaker: guards.breakers[$0.name]?.breaker, signer: guards.signers[$0.name])
        }
        var policies: [String: PolicyPlan] = [:]
        for settings in configuration.policies {
            guard let policy = PolicyPlan(settings) else { throw GatewayError("policy \(settings.name): too many paths") }
            policies[settings.name] = policy
        }
        var routes: [RoutePlan] = []
        for settings in configuration.routes {
            guard let upstream = upstreams.first(where: { $0.settings.name == settings.upstream }) else {
                throw GatewayError("route \(settings.name): there is no upstream \(settings.upstream)")
            }
            routes.append(
                RoutePlan(
                    settings, upstream: upstream, credentials: settings.token.flatMap { tokens[$0]?.store },
                    policy: settings.policy.flatMap { policies[$0] }, statistics: statistics,
                    load: settings.limits.isOn ? guards.loads[settings.name] : nil))
        }
        // The admin side shows the records also when no file keeps them.
        let shown = configuration.audit ?? configuration.admin.map { _ in AuditSettings(file: "") }
        return PipelinePlan(
            routes: routes, upstreams: upstreams, credentials: tokens.values.map(\.store), hosts: configuration.listen.hosts,
            audit: shown, auditSink: audit, limits: configuration.limits, clientKey: clientKey,
            trustedProxies: configuration.listen.trustedProxies, connect: configuration.listen.connect, statistics: statistics,
            otherSecrets: secrets + guards.signingKeys, policies: Array(policies.values), hooks: hooks, feed: feed,
            tracing: configuration.tracing, redactionMark: try redactionMark(configuration.audit?.redaction), echoes: echoes,
            blocksEchoes: configuration.echo == .block)
    }

    /// Joins the tokens to their sessions; before this composition's first exchange.
    func joinSessions() {
        for part in tokens.values where !part.session.members.contains(where: { $0.store === part.store }) {
            part.session.join(SessionKeeper.Member(store: part.store, persist: part.persist))
        }
    }

    /// Begins to watch the sources that may change by themselves, and tells its hooks from now on.
    func watchSources() {
        hooks.use(hookTable)
        for part in tokens.values { part.start() }
    }

    /// Ends what a newer composition does not carry on.
    func retire(except new: Composition) {
        for (name, part) in tokens where new.tokens[name]?.store !== part.store {
            part.stop()
            part.session.leave(part.store)
        }
        if let audit, new.audit !== audit { audit.close(patienceMilliseconds: AuditWriter.patienceMilliseconds) }
    }

    /// How long the end waits for hooks that have not been told yet.
    private static let hooksCloseMilliseconds = 2_000

    /// Ends everything; what the audit holds is written.
    func close() {
        for part in tokens.values { part.stop() }
        hooks.close(within: Self.hooksCloseMilliseconds)
        audit?.close()
    }
}
