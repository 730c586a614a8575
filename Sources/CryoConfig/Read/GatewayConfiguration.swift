// Owns the immutable configuration the gateway runs with, and what comes with it when it is read.
// Domain: shared

package import CryoPipeline

/// Everything the configuration says, checked. Swapped whole on reload; an exchange keeps the one it began with.
package struct GatewayConfiguration: Sendable {
    package var listen: ListenSettings
    /// `listen.client_key`: what every client must show; nil: nothing.
    package var clientKey: SecretReference?
    package var limits = LimitSettings()
    /// 0: one for each processor.
    package var workers = 0
    /// nil: no admin listener.
    package var admin: ListenSettings?
    /// `admin.key`; nil: one is made at the start.
    package var adminKey: SecretReference?
    package var upstreams: [UpstreamSettings] = []
    package var tokens: [TokenSettings] = []
    package var policies: [PolicySettings] = []
    package var routes: [RouteSettings] = []
    /// nil: no audit is written.
    package var audit: AuditSettings?
    package var tracing = TracingSettings()
    /// Whether answers are searched for the gateway's secrets.
    package var echo = EchoMode.off

    package init(listen: ListenSettings) { self.listen = listen }
}

package struct LoadedConfiguration: Sendable {
    package var configuration: GatewayConfiguration
    /// Literal secrets, `unsafe_*` words, unset environment variables: to be printed, never a reason to stop.
    package var warnings: [ConfigurationProblem]
    package var fileName: String
    /// What was said, flags and environment included; holds secrets: print through `ConfigurationPrinter` only.
    package var document: YAMLNode

    /// Where each value that was given came from, by dotted path; a path that is absent has its default.
    package var origins: [String: ConfigurationOrigin] {
        var origins: [String: ConfigurationOrigin] = [:]
        func collect(_ node: YAMLNode, _ path: String) {
            switch node.content {
            case .scalar: origins[path] = node.origin
            case .sequence(let items):
                for (index, item) in items.enumerated() { collect(item, "\(path)[\(index)]") }
            case .mapping(let entries):
                for entry in entries { collect(entry.value, path.isEmpty ? entry.key : "\(path).\(entry.key)") }
            }
        }
        collect(document, "")
        return origins
    }
}
