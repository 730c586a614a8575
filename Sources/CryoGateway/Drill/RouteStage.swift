// The stage of a drill against a real API: private gateways with one route of a configuration and its token, on free ports.
// Domain: cold

import CryoConfig
import CryoPipeline
import CryoTokens

/// The faults are made on this side of the API: a token that nobody ever issued stands for one that was revoked.
final class RouteStage {
    private let path: String
    private let upstream: String
    private let token: String
    private var gateways: [Gateway] = []
    private var addresses: [String] = []

    /// `change` is applied to the token's settings.
    init(
        _ given: GatewayConfiguration, _ route: RouteSettings, gateways count: Int = 1, _ change: (inout TokenSettings) -> Void = { _ in }
    ) throws(GatewayError) {
        guard let path = route.drillPath, let name = route.token, var settings = given.tokens.first(where: { $0.name == name }) else {
            throw GatewayError("route \(route.name) is not marked for drills")
        }
        self.path = path
        upstream = route.upstream
        token = name
        settings.refresh.perWindowMax = 1000
        settings.refresh.windowSeconds = 1
        // Nobody outside is to be alarmed by a drill.
        settings.hooks = []
        change(&settings)
        var configuration = GatewayConfiguration(listen: ListenSettings(address: .tcp(host: "127.0.0.1", port: 0)))
        configuration.workers = 1
        configuration.upstreams = given.upstreams
        configuration.tokens = [settings]
        configuration.policies = given.policies.filter { $0.name == route.policy }
        for index in configuration.policies.indices { configuration.policies[index].hooks = [] }
        var own = RouteSettings(name: route.name, path: route.path, upstream: route.upstream)
        own.token = name
        own.policy = route.policy
        own.stripPrefix = route.stripPrefix
        configuration.routes = [own]
        do throws(GatewayError) {
            for _ in 0..<count {
                let gateway = try Gateway(configuration, log: Log(isSilent: true))
                gateways.append(gateway)
                addresses += try gateway.start()
            }
        } catch {
            stop()
            throw error
        }
    }

    func stop() {
        for gateway in gateways { gateway.close() }
    }

    func get() -> DrillAnswer { DrillClients.send("GET", url: "http://\(addresses[0])\(path)") }

    func together(_ count: Int) -> [DrillAnswer] { DrillClients.together(count, path, at: addresses) }

    // MARK: The token

    private var parts: [Composition.TokenPart] { gateways.compactMap { $0.present.tokens[token] } }

    var credential: Credential? { parts.first?.store.snapshot() }

    /// Puts a credential of another stage into use.
    func install(_ credential: Credential) {
        let new = NewCredential(token: credential.token, refreshToken: credential.refreshToken, expiresAt: credential.expiresAt)
        for part in parts { part.store.install(new, isLogin: true) }
    }

    /// A token that the API can't know takes the place of the one in use; what it is refreshed with stays. `expiresAt`: nil for never.
    func revoke(expiresAt: Int64? = nil) {
        for part in parts {
            let dead = Secret("cryonet-drill-\(UInt64.random(in: .min ... .max))")
            let refreshToken = part.store.snapshot()?.refreshToken
            part.store.install(NewCredential(token: dead, refreshToken: refreshToken, expiresAt: expiresAt), isLogin: false)
        }
    }

    // MARK: What was seen

    /// Tokens that came from the source.
    var renewals: UInt64 { parts.reduce(0) { $0 + $1.counters.count(of: .renewed) + $1.counters.count(of: .issued) } }

    /// Questions to the source, whatever came of them.
    var questions: UInt64 {
        parts.flatMap { $0.counters.seen }.reduce(0) { $0 + ($1.outcome == .lifetimeIgnored ? 0 : $1.count) }
    }

    /// Attempts against the API.
    var attempts: UInt64 {
        gateways.reduce(0) { $0 + ($1.present.statistics.upstreams[upstream]?.buckets.reduce(0, +) ?? 0) }
    }
}
