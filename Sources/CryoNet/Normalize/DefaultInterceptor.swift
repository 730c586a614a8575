// Judges answers by a few closures of the program, in the seeds' order: HTTP status, network, business (ledger §I, §J).
// Domain: cold

public import Foundation

/// The interceptor for envelopes (source: seed README, 便捷配置). Without any closure every 2xx that is JSON is a success and its whole
/// body the data. Subclasses may override single rules; they are called concurrently, on any thread.
// SAFETY: an open class can't be checked; all its stored properties are immutable and Sendable.
open class DefaultInterceptor: RequestInterceptorProtocol, CryoFailureHandling, @unchecked Sendable {
    /// The part of a successful answer that models are made of.
    public typealias ExtractData = @Sendable (JSON, Data) -> Result<Data, any Error>

    /// The login these requests belong to.
    public let authenticationSession: (any AuthenticationSessionManaging)?
    private let extractData: ExtractData
    private let isSuccess: @Sendable (JSON) -> Bool
    private let failureReason: @Sendable (JSON, Data) -> String?
    private let businessCode: @Sendable (JSON, Data) -> Int?
    private let onFailure: @Sendable (CryoFailure, CryoRequest?) -> Void

    /// An interceptor by its rules.
    ///
    /// - Parameters:
    ///   - extractData: the business data of a success; by default the whole body.
    ///   - isSuccess: asked for a 2xx with JSON only; by default true.
    ///   - extractFailureReason: asked when `isSuccess` said no; by default the first non-empty string of `message`, `msg`, `error`,
    ///     `reason`, `detail`. nil shows 拦截器未获取到失败原因.
    ///   - extractBusinessCode: asked when `isSuccess` said no; by default `code` when it is a number.
    ///   - authenticationSession: captures the login's revision for each request.
    ///   - handleFailure: told of every failure before the request's own callback.
    public init(
        extractData: @escaping ExtractData = { _, data in .success(data) }, isSuccess: @escaping @Sendable (JSON) -> Bool = { _ in true },
        extractFailureReason: @escaping @Sendable (JSON, Data) -> String? = { json, _ in DefaultInterceptor.defaultReason(json) },
        extractBusinessCode: @escaping @Sendable (JSON, Data) -> Int? = { json, _ in json["code"].int },
        authenticationSession: (any AuthenticationSessionManaging)? = nil,
        handleFailure: @escaping @Sendable (CryoFailure, CryoRequest?) -> Void = { _, _ in }
    ) {
        self.extractData = extractData
        self.isSuccess = isSuccess
        failureReason = extractFailureReason
        businessCode = extractBusinessCode
        self.authenticationSession = authenticationSession
        onFailure = handleFailure
    }

    /// The seeds' default reason: the first non-empty string of the usual members.
    public static func defaultReason(_ json: JSON) -> String? {
        ["message", "msg", "error", "reason", "detail"].lazy.compactMap { json[$0].string }.first { !$0.isEmpty }
    }

    // MARK: Rules

    /// Whether a 2xx with that JSON is a success.
    open func isResponseSuccess(json: JSON) -> Bool { isSuccess(json) }

    /// The business data of a success. A failure is told as it is.
    open func extractSuccessData(from json: JSON, data: Data) -> Result<Data, any Error> { extractData(json, data) }

    /// The reason of a business failure; nil shows the seeds' fallback.
    open func extractFailureReason(from json: JSON, data: Data) -> String? { failureReason(json, data) }

    /// The code of a business failure.
    open func extractBusinessCode(from json: JSON, data: Data) -> Int? { businessCode(json, data) }

    /// Told of every failure before the request's own callback.
    open func handleFailure(_ failure: CryoFailure, request: CryoRequest?) { onFailure(failure, request) }

    // MARK: The order

    /// The request as it is; the client adds the token.
    open func interceptRequest(_ request: CryoRequest, tokenManager: any TokenManagerProtocol) async -> CryoRequest { request }

    /// HTTP status, network, JSON, `isResponseSuccess`, then `extractSuccessData`. 204, 205 and answers to HEAD are a success without
    /// data; other empty ones are none (ledger RO4).
    open func interceptResponse(_ response: CryoResponse) -> Result<Data, any Error> {
        judged(response).flatMap { json, data in json.map { extractSuccessData(from: $0, data: data) } ?? .success(data) }
    }

    /// The same checks, then the whole body.
    open func interceptResponseWithCompleteData(_ response: CryoResponse) -> Result<Data, any Error> {
        judged(response).map { _, data in data }
    }

    private func judged(_ response: CryoResponse) -> Result<(JSON?, Data), any Error> {
        response.checkedData().flatMap { data -> Result<(JSON?, Data), any Error> in
            let status = response.statusCode ?? 0
            if data.isEmpty {
                return response.hasNoBody ? .success((nil, data)) : .failure(CryoError(.emptyResponse).answered(status))
            }
            guard let json = JSON(data: data) else { return .failure(CryoError(.notJSON).answered(status, data)) }
            return isResponseSuccess(json: json) ? .success((json, data)) : .failure(businessError(json, data, status: status))
        }
    }

    private func businessError(_ json: JSON, _ data: Data, status: Int) -> CryoError {
        let code = extractBusinessCode(from: json, data: data)
        return CryoError(
            domain: "BusinessError", code: code ?? status, message: extractFailureReason(from: json, data: data) ?? "拦截器未获取到失败原因",
            statusCode: status, businessCode: code, responseData: data)
    }
}

extension CryoError {
    /// The same error of an answer; the seeds give those the status as code.
    fileprivate func answered(_ status: Int, _ data: Data? = nil) -> CryoError {
        CryoError(domain: domain, code: status, message: message, statusCode: status, responseData: data)
    }
}
