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
    private let tokens: [String: TokenPart]
    /// One for all compositions of a gateway, so that a token that lives on tells the newest hooks.
    let hooks: Hooks
    private let hookTable: [HookOwner: [HookQueue]]

    /// A token's store and the source behind it.
    struct TokenPart: Sendable {
        let store: CredentialStore
        let watcher: FileWatcher?
        /// Tells whether a reload asks for the same token; then the store and its login live on.
        let fingerprint: String
    }

    init(_ configuration: GatewayConfiguration, replacing old: Composition?, log: Log) throws(GatewayError) {
        self.configuration = configuration
        admission = try Self.admission(configuration.listen)
        hooks = old?.hooks ?? Hooks(unixMicroseconds: { Clock.unixMicroseconds() })
        hookTable = try Self.hookTable(configuration, replacing: old?.hookTable ?? [:], log: log)
        var tokens: [String: TokenPart] = [:]
        for settings in configuration.tokens {
            tokens[settings.name] = try Self.token(settings, replacing: old?.tokens[settings.name], hooks: hooks, log: log)
        }
        self.tokens = tokens
        audit = try Self.audit(configuration.audit, replacing: old, log: log)
        plan = try Self.plan(configuration, tokens: tokens, audit: audit, clientKey: Self.clientKey(configuration, log), hooks: hooks)
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
        guard let settings else { return nil }
        if let writer = old?.audit, old?.configuration.audit?.file == settings.file {
            writer.reopen()
            return writer
        }
        do {
            return try AuditWriter(path: settings.file, warn: { log.warning($0) })
        } catch {
            throw GatewayError("can't open the audit file \(settings.file): \(error)")
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
        _ configuration: GatewayConfiguration, tokens: [String: TokenPart], audit: AuditWriter?, clientKey: Secret?, hooks: Hooks
    ) throws(GatewayError) -> PipelinePlan {
        let upstreams = configuration.upstreams.map { UpstreamPlan($0) }
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
                    policy: settings.policy.flatMap { policies[$0] }))
        }
        return PipelinePlan(
            routes: routes, upstreams: upstreams, credentials: tokens.values.map(\.store), hosts: configuration.listen.hosts,
            audit: configuration.audit, auditSink: audit, limits: configuration.limits, clientKey: clientKey,
            trustedProxies: configuration.listen.trustedProxies, policies: Array(policies.values),
            hooks: hooks)
    }

    /// Begins to watch the sources that may change by themselves, and tells its hooks from now on.
    func watchSources() {
        hooks.use(hookTable)
        for part in tokens.values { part.watcher?.start() }
    }

    /// Ends what a newer composition does not carry on.
    func retire(except new: Composition) {
        for (name, part) in tokens where new.tokens[name]?.store !== part.store { part.watcher?.stop() }
        if let audit, new.audit !== audit { audit.close() }
    }

    /// How long the end waits for hooks that have not been told yet.
    private static let hooksCloseMilliseconds = 2_000

    /// Ends everything; what the audit holds is written.
    func close() {
        for part in tokens.values { part.watcher?.stop() }
        hooks.close(within: Self.hooksCloseMilliseconds)
        audit?.close()
    }
}
