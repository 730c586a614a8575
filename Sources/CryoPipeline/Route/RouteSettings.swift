// What the configuration says about one route.
// Domain: pure

package struct RouteSettings: Sendable {
    package var name: String
    /// `/api/*` matches `/api` and everything below it on segment borders; `/*` everything; without `*` exactly that path.
    package var path: String
    /// Lower case, without port; nil matches every host.
    package var host: String?
    /// Empty: every method.
    package var methods: [String] = []
    package var upstream: String
    package var token: String?
    package var policy: String?
    package var stripPrefix: String?
    package var retry = RetrySettings()
    package var cors = CORSSettings()
    package var rewrite = RewriteSettings()

    package init(name: String, path: String, upstream: String) {
        self.name = name
        self.path = path
        self.upstream = upstream
    }
}
