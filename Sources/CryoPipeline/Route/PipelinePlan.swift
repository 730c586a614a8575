// The configuration in the form the data path uses: immutable, built once, swapped whole. An exchange keeps the one it began with.
// Domain: shared (immutable)

import CryoSync

/// An upstream with its bytes prepared.
package final class UpstreamPlan: Sendable {
    package let settings: UpstreamSettings
    let authority: [UInt8]
    let basePath: [UInt8]
    let host: [UInt8]
    /// Names in lower case beside names and values as configured.
    let headers: [(lowercased: [UInt8], name: [UInt8], value: [UInt8])]
    let retryBudget = RetryBudget()
    /// nil: every attempt is made.
    package let breaker: Breaker?
    /// nil: requests are not signed.
    let signer: RequestSigner?
    let isSigned: Bool
    /// The timeouts as deadlines are made of them; 0: none.
    let responseNanoseconds: UInt64
    let idleNanoseconds: UInt64
    let totalNanoseconds: UInt64

    /// `breaker`: one that lives on from an earlier configuration.
    package init(_ settings: UpstreamSettings, breaker: Breaker? = nil, signer: RequestSigner? = nil) {
        self.settings = settings
        self.signer = signer
        isSigned = signer != nil
        self.breaker = breaker ?? settings.breaker.map { Breaker($0) }
        authority = Array(settings.url.authority.utf8)
        basePath = Array(settings.url.basePath.utf8)
        host = Array(settings.url.host.utf8)
        responseNanoseconds = UInt64(settings.timeouts.responseMilliseconds) * 1_000_000
        idleNanoseconds = UInt64(settings.timeouts.idleMilliseconds) * 1_000_000
        totalNanoseconds = UInt64(settings.timeouts.totalMilliseconds) * 1_000_000
        headers = settings.headers.map { (Array($0.name.lowercased().utf8), Array($0.name.utf8), Array($0.value.utf8)) }
    }
}

/// A route with what it refers to.
package final class RoutePlan: Sendable {
    package let settings: RouteSettings
    package let upstream: UpstreamPlan
    /// nil: nothing is injected.
    package let credentials: CredentialStore?
    /// Where the store's token goes. Asked here, so that the store is not counted: it is by the workers all at once, which makes that dear.
    let injection: Injection?
    package let policy: PolicyPlan?
    let pattern: PathPattern
    let host: [UInt8]?
    let methods: [[UInt8]]
    let stripPrefix: [UInt8]
    let name: [UInt8]
    /// Its members of a record.
    let auditNames: [UInt8]
    /// nil: no page of another site may use the route.
    let cors: CORSPlan?
    let retry: RetryRule
    /// nil: no limits.
    package let load: RouteLoad?
    let allowsTokenOverride: Bool
    let allowsPolicyOverride: Bool
    /// What an exchange on this route may do, as far as the route alone decides it.
    let rules: ExchangeRules
    /// nil: nobody counts.
    let statistics: RouteStatistics?
    let upstreamDurations: DurationHistogram?

    package init(
        _ settings: RouteSettings, upstream: UpstreamPlan, credentials: CredentialStore?, policy: PolicyPlan?,
        statistics: ExchangeStatistics? = nil, load: RouteLoad? = nil
    ) {
        self.load = load ?? (settings.limits.isOn ? RouteLoad() : nil)
        self.statistics = statistics?.routes[settings.name]
        upstreamDurations = statistics?.upstreams[upstream.settings.name]
        self.settings = settings
        self.upstream = upstream
        self.credentials = settings.auth == RouteSettings.Auth.none ? nil : credentials
        injection = self.credentials?.injection
        self.policy = policy
        pattern = PathPattern(settings.path)
        host = settings.host.map { Array($0.utf8) }
        methods = settings.methods.map { Array($0.utf8) }
        stripPrefix = Array((settings.stripPrefix ?? "").utf8)
        name = Array(settings.name.utf8)
        auditNames = AuditName.members(route: settings.name, policy: policy?.settings.name, upstream: upstream.settings.name)
        cors = CORSPlan(settings.cors, routeMethods: settings.methods)
        retry = RetryRule(settings.retry)
        allowsTokenOverride = settings.allowedOverrides.contains(.token)
        allowsPolicyOverride = settings.allowedOverrides.contains(.policy)
        rules = Self.rules(settings, credentials: self.credentials, policy: policy)
        requiresToken = settings.auth == .required
    }

    /// The same route with another token and policy, as one request chose them. Shares everything that was prepared.
    init(_ route: RoutePlan, credentials: CredentialStore?, policy: PolicyPlan?) {
        settings = route.settings
        upstream = route.upstream
        self.credentials = route.settings.auth == RouteSettings.Auth.none ? nil : credentials
        injection = self.credentials?.injection
        self.policy = policy
        pattern = route.pattern
        host = route.host
        methods = route.methods
        stripPrefix = route.stripPrefix
        name = route.name
        auditNames = AuditName.members(
            route: route.settings.name, policy: policy?.settings.name, upstream: route.upstream.settings.name)
        cors = route.cors
        retry = route.retry
        load = route.load
        allowsTokenOverride = route.allowsTokenOverride
        allowsPolicyOverride = route.allowsPolicyOverride
        rules = Self.rules(route.settings, credentials: self.credentials, policy: policy)
        requiresToken = route.requiresToken
        statistics = route.statistics
        upstreamDurations = route.upstreamDurations
    }

    private static func rules(_ settings: RouteSettings, credentials: CredentialStore?, policy: PolicyPlan?) -> ExchangeRules {
        var rules = ExchangeRules()
        rules.injectsToken = credentials != nil
        rules.isAuthOptional = settings.auth == .optional
        rules.canRefresh = credentials?.canRefresh ?? false
        // The raw view is the upstream's answer whatever it is (ledger IC3).
        rules.hasPolicy = policy.map { $0.settings.view != .raw && $0.settings.failureMode == .replace } ?? false
        rules.passesOversize = policy?.settings.oversize != .fail
        rules.passesNonJSON = policy?.settings.nonJSON == .pass
        rules.resumesLimit = settings.streams.reconnect.limit
        return rules
    }

    /// Without a token no request goes on.
    let requiresToken: Bool

    var allowsOverride: Bool { allowsTokenOverride || allowsPolicyOverride }

    var refreshBusinessCodes: Set<[UInt8]> { credentials?.refreshBusinessCodes ?? [] }
}

package final class PipelinePlan: Sendable {
    package let routes: [RoutePlan]
    package let upstreams: [UpstreamPlan]
    package let credentials: [CredentialStore]
    let policies: [PolicyPlan]
    let hooks: (any HookSink)?
    /// Where each of `credentials` may be taken by a request that chooses it, as origins; nil: anywhere.
    private let tokenOrigins: [Set<String>?]
    package let redactor: Redactor
    package let audit: AuditSettings?
    package let auditSink: (any AuditSink)?
    /// What the admin side is shown; nil without one.
    let feed: ExchangeFeed?
    let tracing: TracingSettings
    let auditRules: AuditRules?
    /// nil: nobody looks for secrets in answers.
    let echoes: EchoReports?
    /// An answer that carries one is stopped.
    let blocksEchoes: Bool
    /// A reply goes out only with its audit record.
    let withholdsReplies: Bool
    /// Something stands between exchanges and their connections.
    let watchesReplies: Bool
    /// Tells this plan from every other that ever was.
    let serial = PipelinePlan.serials.add(1, ordering: .relaxed).newValue
    private static let serials = Atomic<UInt64>(0)
    let hosts: [[UInt8]]
    /// What every client must show; nil: nothing.
    package let clientKey: Secret?
    let trustedProxies: [AddressBlock]
    let connect: ListenSettings.Connect
    let bodyBytesMax: UInt64
    /// Counts exchanges that never come to a route; nil: nobody does.
    let unroutedStatistics: RouteStatistics?

    package init(
        routes: [RoutePlan], upstreams: [UpstreamPlan], credentials: [CredentialStore], hosts: [String], audit: AuditSettings?,
        auditSink: (any AuditSink)?, limits: LimitSettings, clientKey: Secret? = nil,
        trustedProxies: [AddressBlock] = [], connect: ListenSettings.Connect = .off, statistics: ExchangeStatistics? = nil,
        otherSecrets: [Secret] = [], policies: [PolicyPlan] = [], hooks: (any HookSink)? = nil,
        feed: ExchangeFeed? = nil, tracing: TracingSettings = TracingSettings(),
        redactionMark: (@Sendable (UnsafeRawBufferPointer) -> [UInt8])? = nil, echoes: EchoReports? = nil,
        blocksEchoes: Bool = false
    ) {
        self.feed = feed
        self.tracing = tracing
        unroutedStatistics = statistics?.unrouted
        // The most specific first: a named host before any host, a longer path before a shorter one, then as written.
        self.routes = routes.enumerated().sorted { one, other in
            let (first, second) = (one.element, other.element)
            if (first.host != nil) != (second.host != nil) { return first.host != nil }
            if first.pattern.weight != second.pattern.weight { return first.pattern.weight > second.pattern.weight }
            return one.offset < other.offset
        }.map(\.element)
        self.upstreams = upstreams
        self.credentials = credentials
        self.policies = policies
        self.hooks = hooks
        tokenOrigins = credentials.map { Self.origins(of: $0, routes: routes, upstreams: upstreams) }
        self.hosts = hosts.map { Array($0.lowercased().utf8) }
        self.audit = audit
        self.auditSink = auditSink
        auditRules = audit.map { AuditRules($0) }
        self.echoes = echoes
        self.blocksEchoes = blocksEchoes
        withholdsReplies = auditSink != nil && auditRules?.onFull == .refuse
        watchesReplies = withholdsReplies || echoes != nil
        self.clientKey = clientKey
        self.trustedProxies = trustedProxies
        self.connect = connect
        bodyBytesMax = limits.bodyBytesMax
        redactor = Redactor(
            audit?.redaction ?? RedactionSettings(), credentials: credentials, secrets: otherSecrets + (clientKey.map { [$0] } ?? []),
            markOf: redactionMark)
    }

    private static func origins(of store: CredentialStore, routes: [RoutePlan], upstreams: [UpstreamPlan]) -> Set<String>? {
        let named = upstreams.filter { store.settings.upstreams.contains($0.settings.name) }
        if !store.settings.upstreams.isEmpty { return Set(named.map(\.settings.url.origin)) }
        let used = Set(routes.filter { $0.credentials === store }.map(\.upstream.settings.url.origin))
        return used.isEmpty ? nil : used
    }

    /// A token goes only to the origins it belongs to (design §7), whatever a request asks for.
    func mayTake(_ index: Int, to upstream: UpstreamPlan) -> Bool {
        tokenOrigins[index]?.contains(upstream.settings.url.origin) ?? true
    }
}
