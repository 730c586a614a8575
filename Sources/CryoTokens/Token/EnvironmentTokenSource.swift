// A token in an environment variable: a process's environment does not change, so neither does the token.
// Domain: shared

package import CryoPipeline

package struct EnvironmentTokenSource: TokenRefresher {
    package init() {}

    package var canRefresh: Bool { false }

    package func refresh(_ current: Credential?, completion: @escaping @Sendable (RefreshResult) -> Void) { completion(.unchanged) }
}
