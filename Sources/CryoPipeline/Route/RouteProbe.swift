// Tells which way a request would go, without an exchange: for tests and for commands that explain a configuration.
// Domain: pure

package import CryoHTTP

package enum RouteProbe {
    package struct Way: Sendable {
        package let name: String
        /// The path as the client sent it, in the head's bytes.
        package let path: Range<Int>
        /// The target named the upstream itself.
        package let isAbsolute: Bool
    }

    /// nil when the request would be refused.
    package static func route(of head: RequestHead, in plan: PipelinePlan, localPort: UInt16) -> Way? {
        guard case .matched(let match) = RouteRule(plan: plan, localPort: localPort).decide(head) else { return nil }
        return Way(name: match.route.settings.name, path: match.path, isAbsolute: match.isAbsolute)
    }
}
