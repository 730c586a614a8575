// A token that stands in the configuration, or in the environment: read once, never another one.
// Domain: shared

package import CryoPipeline

package struct FixedTokenSource: TokenRefresher {
    package init() {}

    package var canRefresh: Bool { false }

    package func refresh(_ current: Credential?, completion: @escaping @Sendable (RefreshResult) -> Void) { completion(.unchanged) }
}
