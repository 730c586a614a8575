// The configuration in the form the data path uses: immutable, built once, swapped whole. An exchange keeps the one it began with.
// Domain: shared (immutable)

/// An upstream with its bytes prepared.
package final class UpstreamPlan: Sendable {
    package let settings: UpstreamSettings
    let authority: [UInt8]
    let basePath: [UInt8]
    let host: [UInt8]
    /// Names in lower case beside names and values as configured.
    let headers: [(lowercased: [UInt8], name: [UInt8], value: [UInt8])]
    let retryBudget = RetryBudget()

    package init(_ settings: UpstreamSettings) {
        self.settings = settings
        authority = Array(settings.url.authority.utf8)
        basePath = Array(settings.url.basePath.utf8)
        host = Array(settings.url.host.utf8)
        headers = settings.headers.map { (Array($0.name.lowercased().utf8), Array($0.name.utf8), Array($0.value.utf8)) }
    }
}

/// A route with what it refers to.
package final class RoutePlan: Sendable {
    package let settings: RouteSettings
    package let upstream: UpstreamPlan
    package let credentials: CredentialStore?
    package let policy: PolicyPlan?
    let pattern: PathPattern
    let host: [UInt8]?
    let methods: [[UInt8]]
    let stripPrefix: [UInt8]
    let name: [UInt8]
    /// nil: no page of another site may use the route.
    let cors: CORSPlan?
    let retry: RetryRule
    let refreshBusinessCodes: Set<[UInt8]>
    let tokenHeader: [UInt8]
    let tokenHeaderLowercased: [UInt8]
    /// nil: nobody counts.
    let statistics: RouteStatistics?
    let upstreamDurations: DurationHistogram?

    package init(
        _ settings: RouteSettings, upstream: UpstreamPlan, credentials: CredentialStore?, policy: PolicyPlan?,
        statistics: ExchangeStatistics? = nil
    ) {
        self.statistics = statistics?.routes[settings.name]
        upstreamDurations = statistics?.upstreams[upstream.settings.name]
        self.settings = settings
        self.upstream = upstream
        self.credentials = credentials
        self.policy = policy
        pattern = PathPattern(settings.path)
        host = settings.host.map { Array($0.utf8) }
        methods = settings.methods.map { Array($0.utf8) }
        stripPrefix = Array((settings.stripPrefix ?? "").utf8)
        name = Array(settings.name.utf8)
        cors = CORSPlan(settings.cors, routeMethods: settings.methods)
        retry = RetryRule(settings.retry)
        refreshBusinessCodes = Set((credentials?.settings.refresh.onBusinessCodes ?? []).map { Array($0.utf8) })
        let header = credentials?.settings.inject.header ?? "Authorization"
        tokenHeader = Array(header.utf8)
        tokenHeaderLowercased = Array(header.lowercased().utf8)
    }
}

package final class PipelinePlan: Sendable {
    package let routes: [RoutePlan]
    package let upstreams: [UpstreamPlan]
    package let credentials: [CredentialStore]
    package let redactor: Redactor
    package let audit: AuditSettings?
    package let auditSink: (any AuditSink)?
    let hosts: [[UInt8]]
    /// What every client must show; nil: nothing.
    let clientKey: Secret?
    let trustedProxies: [AddressBlock]
    let connect: ListenSettings.Connect
    let bodyBytesMax: UInt64
    /// Counts exchanges that never come to a route; nil: nobody does.
    let unroutedStatistics: RouteStatistics?

    package init(
        routes: [RoutePlan], upstreams: [UpstreamPlan], credentials: [CredentialStore], hosts: [String], audit: AuditSettings?,
        auditSink: (any AuditSink)?, limits: LimitSettings, clientKey: Secret? = nil,
        trustedProxies: [AddressBlock] = [], connect: ListenSettings.Connect = .off, statistics: ExchangeStatistics? = nil,
        otherSecrets: [Secret] = []
    ) {
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
        self.hosts = hosts.map { Array($0.lowercased().utf8) }
        self.audit = audit
        self.auditSink = auditSink
        self.clientKey = clientKey
        self.trustedProxies = trustedProxies
        self.connect = connect
        bodyBytesMax = limits.bodyBytesMax
        redactor = Redactor(
            audit?.redaction ?? RedactionSettings(), credentials: credentials, secrets: otherSecrets + (clientKey.map { [$0] } ?? []))
    }
}
