// What all requests of one client have in common.
// Domain: cold

public import Foundation

/// The configuration of a `CryoNet` client (source: seed README, 初始化).
public struct CryoNetConfiguration: Sendable {
    /// Put in front of a request's path, with exactly one slash between them. Empty by default.
    public var baseURL = ""
    /// Sent with every request unless the request names the same header.
    public var basicHeaders = [HTTPHeader(name: "Content-Type", value: "application/json")]
    /// Seconds without progress after which a request fails with 请求超时; used where `RequestModel.overtime` is 0. At most 86,400.
    public var defaultTimeout: TimeInterval = 30
    /// Where the token comes from. By default one that holds nothing.
    public var tokenManager: any TokenManagerProtocol = DefaultTokenManager()
    /// Judges the answers of `intercept…` requests; nil lets those fail with kind `interceptorMissing`.
    public var interceptor: (any RequestInterceptorProtocol)?
    /// Transient retries, apart from the one retry with a refreshed token. Off by default.
    public var retry = RetryPolicy()

    init() {}
}

/// When a request is sent again after a failure that may pass: a lost or refused connection, a timeout, or one of `statuses`
/// (source: seed STHTTPSession, 重试策略). Before retry k = 0, 1, … a random time up to `base^k × scale` seconds passes, at least
/// what `Retry-After` asks for, at most 10 seconds.
public struct RetryPolicy: Sendable, Equatable {
    /// Retries after the first attempt; 0 is off.
    public var limit: UInt32
    /// The growth of the delay from one retry to the next.
    public var base: Double
    /// The first delay in seconds, at most 10.
    public var scale: TimeInterval
    /// Only these methods are sent again.
    public var methods: [HTTPMethod]
    /// The statuses that count as passing failures.
    public var statuses: [Int]

    /// A policy; without arguments one that never retries.
    public init(
        limit: UInt32 = 0, base: Double = 2, scale: TimeInterval = 0.5,
        methods: [HTTPMethod] = [.get, .head, .put, .delete, .options, .trace], statuses: [Int] = [408, 500, 502, 503, 504]
    ) {
        self.limit = limit
        self.base = base
        self.scale = scale
        self.methods = methods
        self.statuses = statuses
    }
}
