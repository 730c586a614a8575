// `cryonet demo`: the demo upstream and the configuration of a gateway in front of it.
// Domain: cold

import CryoIO
import CryoJSON
package import CryoPipeline
import CryoServer
import Dispatch

package final class Demo: Sendable {
    private let worker: Worker
    private let server: Server
    package let upstream = DemoUpstream()
    /// Where the demo upstream listens.
    package let upstreamAddress: String

    /// Starts the demo upstream, on a free port of the loopback interface unless told otherwise.
    package init(
        _ listen: ListenSettings = ListenSettings(address: .tcp(host: "127.0.0.1", port: 0))
    ) throws(GatewayError) {
        do {
            worker = try Worker(index: 0)
            server = Server(workers: [worker], limits: LimitSettings(), acceptor: upstream)
            worker.start()
            upstreamAddress = try server.listen(listen)
        } catch {
            throw GatewayError("can't start the demo upstream: \(error)")
        }
    }

    /// The configuration as a person would write it; also printed by `cryonet demo --print-config`.
    package func configurationText(listen: String, auditFile: String) -> String {
        """
        listen: { address: "\(listen)" }
        admin: { address: "127.0.0.1:0" }
        upstreams:
          demo: { url: "http://\(upstreamAddress)" }
        tokens:
          app:
            login:
              refresh: { method: POST, url: "http://\(upstreamAddress)/auth/refresh", json: { refreshToken: "{refresh_token}" } }
              fields: { token: data.token, refresh_token: data.refreshToken, expires_in: data.expiresIn }
              success: { field: code, equals: 0 }
            initial: { token: \(DemoUpstream.initialToken), refresh_token: \(DemoUpstream.initialRefreshToken) }
        policies:
          envelope:
            success: { field: code, equals: 0, missing: success }
            failure: { status: 422, codes: { "10001": 401 } }
          unwrapped:
            success: { field: code, equals: 0, missing: success }
            reply: data
            failure: { status: 422, codes: { "10001": 401 } }
        routes:
          - { name: public, path: /public/*, upstream: demo, token: none, policy: envelope }
          - { name: control, path: /demo/*, upstream: demo, token: none }
          - { name: data, path: /data/*, strip_prefix: /data, upstream: demo, token: app, policy: unwrapped }
          - { name: raw, path: /raw/*, strip_prefix: /raw, upstream: demo, token: app }
          - { name: api, path: /*, upstream: demo, token: app, policy: envelope, retry: { limit: 2 } }
        audit: { file: "\(auditFile)", bodies: all }
        """
    }

    package func stop() {
        server.beginDrain {}
        server.forceClose()
        worker.submit { [worker] in worker.stop() }
        worker.waitUntilStopped(.seconds(2))
    }
}
