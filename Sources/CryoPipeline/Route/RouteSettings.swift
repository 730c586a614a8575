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
    /// What a request needs in order to go on.
    package enum Auth: String, Sendable, CaseIterable {
        /// A usable token.
        case required
        /// Nothing; it carries the token if there is a usable one.
        case optional
        /// Nothing, and it carries none.
        case none
    }
    /// nil: required where there is a token.
    package var auth: Auth?
    /// What a request may choose itself by header.
    package enum Override: String, Sendable, CaseIterable { case token, policy }
    package var allowedOverrides: [Override] = []
    package var policy: String?
    package var stripPrefix: String?
    /// What the drills may ask of the route with GET; nil: it is not marked for them.
    package var drillPath: String?
    package var retry = RetrySettings()
    package var streams = StreamSettings()
    package var limits = RouteLimitSettings()
    package var cors = CORSSettings()
    package var rewrite = RewriteSettings()

    package init(name: String, path: String, upstream: String) {
        self.name = name
        self.path = path
        self.upstream = upstream
    }
}
