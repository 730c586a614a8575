// Where the token comes from: the program's own keeper, or one in memory.
// Domain: cold

/// Keeps a token and can get another one (source: seed README, 自定义 Token 管理; ledger TK1).
///
/// A reference type, because clients that share one keeper share its refreshes. `getToken` is asked before each request, so a token
/// the program has set is used by the next one. Without an authentication session a changed token counts as the same login's: requests
/// that were refused with the former one are sent again with it. With one they are only while its revision is the same.
public protocol TokenManagerProtocol: AnyObject, Sendable {
    /// The present token; nil or empty when there is none, and then requests go out without `Authorization`. The request waits for it
    /// without a bound of its own. Answers what was set last: a token that comes back after a refresh replaced it is used again.
    func getToken() async -> String?
    /// Keeps a token. Also called with the one a refresh returned, unless `getToken` already answers it.
    func setToken(_ newToken: String) async
    /// Forgets the token. By default `setToken("")`.
    func clearToken() async
    /// Gets another token after the present one was answered with 401; nil when there is none.
    ///
    /// Called for one request at a time; all others that were refused wait for its end, but not longer than the client's
    /// `defaultTimeout`. Requests made inside it carry the present token and are never refreshed themselves. After nil the next
    /// call comes one second later at the earliest, after further ones up to 30. At most 5 calls in 30 seconds.
    func refreshToken() async -> String?
}

extension TokenManagerProtocol {
    /// Forgets the token by setting an empty one.
    public func clearToken() async { await setToken("") }
}

/// The same protocol under the name of its file in the seed.
public typealias TokenManaging = TokenManagerProtocol

/// Keeps a token in memory and can't refresh it (ledger TK2).
public actor DefaultTokenManager: TokenManagerProtocol {
    private var token: String?

    /// Begins with that token; nil or empty is none.
    public init(token: String? = nil) { self.token = token }

    /// The present token.
    public func getToken() -> String? { token }
    /// Replaces the token.
    public func setToken(_ newToken: String) { token = newToken }
    /// Forgets the token.
    public func clearToken() { token = nil }
    /// Always nil: a refused token stays refused.
    public func refreshToken() -> String? { nil }
}
