// The stage of one drill: the demo upstream, one gateway or several in front of it on free ports, and their clients.
// Domain: cold

import CryoConfig

/// What a drill asks of its gateways.
struct DrillSetting {
    var gateways = 1
    /// Members of `tokens.app.refresh`.
    var refresh = "window: { seconds: 1, max: 1000 }"
    /// Address of a Redis that they share, and the key there.
    var redis: (address: String, key: String)?
}

final class DrillStage {
    let upstream: DemoUpstream
    private let demo: Demo
    private var gateways: [Gateway] = []
    private var addresses: [String] = []

    init(_ setting: DrillSetting = DrillSetting()) throws(GatewayError) {
        demo = try Demo()
        upstream = demo.upstream
        var faults = DemoFaults()
        faults.endsLoginOnReuse = true
        upstream.faults = faults
        do throws(GatewayError) {
            for _ in 0..<setting.gateways { try addGateway(setting) }
        } catch {
            stop()
            throw error
        }
    }

    private func addGateway(_ setting: DrillSetting) throws(GatewayError) {
        let text = configurationText(setting)
        switch readConfiguration(Array(text.utf8), fileName: "drill", environment: { _ in nil }) {
        case .failure(let problems): throw GatewayError("\(problems)")
        case .success(let loaded):
            let gateway = try Gateway(loaded.configuration, log: Log(isSilent: true))
            gateways.append(gateway)
            addresses += try gateway.start()
        }
    }

    private func configurationText(_ setting: DrillSetting) -> String {
        let store = setting.redis.map { "\n    store: { redis: { address: \"\($0.address)\", key: \"\($0.key)\" } }" } ?? ""
        return """
            listen: { address: 127.0.0.1:0 }
            workers: 1
            upstreams:
              demo: { url: "http://\(demo.upstreamAddress)" }
            tokens:
              app:
                login:
                  refresh: { method: POST, url: "http://\(demo.upstreamAddress)/auth/refresh", json: { refreshToken: "{refresh_token}" } }
                  fields: { token: data.token, refresh_token: data.refreshToken, expires_in: data.expiresIn }
                  success: { field: code, equals: 0 }
                initial: { token: \(DemoUpstream.initialToken), refresh_token: \(DemoUpstream.initialRefreshToken) }
                refresh: { \(setting.refresh) }
            \(store.isEmpty ? "" : store.dropFirst())
            policies:
              envelope: { success: { field: code, equals: 0, missing: success } }
            routes:
              - { name: api, path: /*, upstream: demo, token: app, policy: envelope }
            """
    }

    func stop() {
        for gateway in gateways { gateway.close() }
        demo.stop()
    }

    // MARK: Clients

    func get(_ path: String = "/news/list", gateway: Int = 0) -> DrillAnswer { send("GET", path, [], to: gateway) }

    func send(_ method: String, _ path: String, _ body: [UInt8], to gateway: Int) -> DrillAnswer {
        DrillClients.send(method, url: "http://\(addresses[gateway])\(path)", body)
    }

    func together(_ count: Int, _ path: String = "/news/list") -> [DrillAnswer] {
        DrillClients.together(count, path, at: addresses)
    }
}
