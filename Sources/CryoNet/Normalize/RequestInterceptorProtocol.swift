// What a program may put around its requests: a change before they are sent, the judgement of their answers, one place for failures.
// Domain: cold

public import Foundation

/// Changes requests and judges answers (source: seed README, 不使用 DefaultInterceptor 时如何配置). Called concurrently, on any thread.
public protocol RequestInterceptorProtocol: Sendable {
    /// The login these requests belong to; nil (the default) when the program looks after that itself.
    var authenticationSession: (any AuthenticationSessionManaging)? { get }
    /// Changes a request before it is sent; by default it stays as it is. Called once per request, not per attempt.
    ///
    /// The client adds `Authorization: Bearer` with the manager's token itself, per attempt. A request that comes back with another
    /// `Authorization` than it went in with, other than that very value, is sent as it is and not refreshed.
    func interceptRequest(_ request: CryoRequest, tokenManager: any TokenManagerProtocol) async -> CryoRequest
    /// The business data of an answer, or why there is none. Decides before models are made.
    func interceptResponse(_ response: CryoResponse) -> Result<Data, any Error>
    /// The whole body of an answer after the same checks.
    func interceptResponseWithCompleteData(_ response: CryoResponse) -> Result<Data, any Error>
}

extension RequestInterceptorProtocol {
    /// None.
    public var authenticationSession: (any AuthenticationSessionManaging)? { nil }
    /// The request as it is.
    public func interceptRequest(_ request: CryoRequest, tokenManager: any TokenManagerProtocol) async -> CryoRequest { request }
}

/// One place for the failures of all requests of an interceptor (source: seed README, 拦截器的单一全局失败入口).
public protocol CryoFailureHandling {
    /// Told of a failure of an `intercept…` request before that request's own callback, once per failure. On any thread, concurrently;
    /// can't change or withhold the failure. Must not send the request again.
    func handleFailure(_ failure: CryoFailure, request: CryoRequest?)
}
