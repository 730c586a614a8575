// Every cause of a failure the gateway shows, and the row of the table that says how it is shown (design §6).
// Domain: pure

/// The eight kinds of the seeds' CryoFailure.
package enum FailureKind: String, Sendable, CaseIterable {
    case authenticationExpired, http, business, network, decoding, cancelled, interceptorMissing, unknown
}

package enum FailureReason: String, Sendable, CaseIterable {
    case requestMalformed = "request_malformed"
    case requestTooLarge = "request_too_large"
    case requestTimedOut = "request_timed_out"
    case routeNotFound = "route_not_found"
    case hostDenied = "host_denied"
    case originDenied = "origin_denied"
    case clientKeyMissing = "client_key_missing"
    case adminKeyMissing = "admin_key_missing"
    case adminRefused = "admin_refused"
    case loopDetected = "loop_detected"
    case overrideUnknown = "override_unknown"
    case concurrencyLimited = "concurrency_limited"
    case rateLimited = "rate_limited"
    case tokenMissing = "token_missing"
    case tokenUnavailable = "token_unavailable"
    case clientValueRejected = "client_value_rejected"
    case bodyNotSignable = "body_not_signable"
    case breakerOpen = "breaker_open"
    case upstreamDNSFailed = "upstream_dns_failed"
    case connectRefused = "connect_refused"
    case connectTimedOut = "connect_timed_out"
    case tlsFailed = "tls_failed"
    case tlsCertificateInvalid = "tls_certificate_invalid"
    case pinMismatch = "pin_mismatch"
    case reset
    case emptyResponse = "empty_response"
    case responseMalformed = "response_malformed"
    case upstreamTimedOut = "upstream_timed_out"
    case upstreamStatus = "upstream_status"
    case refreshRejected = "refresh_rejected"
    case refreshFailed = "refresh_failed"
    case refreshWindowExceeded = "refresh_window_exceeded"
    case bodyNotReplayable = "body_not_replayable"
    case businessRejected = "business_rejected"
    case responseNotJSON = "response_not_json"
    case responseTruncated = "response_truncated"
    case responseTooLarge = "response_too_large"
    case policyMissing = "policy_missing"
    case secretEchoed = "secret_echoed"
    case clientGone = "client_gone"
    case overCapacity = "over_capacity"
    case draining
    case auditUnavailable = "audit_unavailable"
    case internalError = "internal_error"
}

/// Whose doing a failure is.
package enum FailureOrigin: String, Sendable { case client, gateway, upstream }

/// One row of the table. `status` 0: as the upstream sent it (or as the read step refused it).
package struct FailureRow: Sendable {
    package let reason: FailureReason
    package let kind: FailureKind
    package let status: UInt16
    package let step: Step
    package let origin: FailureOrigin
    /// May the same request succeed if the client sends it again unchanged?
    package let isRetryable: Bool
    package let domain: StaticString
    package let code: Int
    /// The registered error type of RFC 9209 §2.3, or nil.
    package let proxyStatusError: StaticString?
    package let title: StaticString
    /// The seeds' default text, or ours in their language where they have none (ledger §K, §M).
    package let chinese: StaticString
    package let english: StaticString
}

package enum FailureTable {
    package static func row(_ reason: FailureReason) -> FailureRow { rows[index(of: reason)] }

    private static func index(of reason: FailureReason) -> Int {
        // The table is in the order of the enum; `FailureTableTests` proves it.
        reason.position
    }

    package static let rows: [FailureRow] = [
        row(
            .requestMalformed, .http, 400, .read, .client, false, "ClientError", 400, "http_request_error", "Malformed request", "请求格式错误",
            "The request is malformed."),
        row(
            .requestTooLarge, .http, 413, .read, .client, false, "ClientError", 413, "http_request_error", "Request too large", "请求内容过大",
            "The request is too large."),
        row(
            .requestTimedOut, .http, 408, .read, .client, true, "ClientError", 408, "http_request_error", "Request timed out", "请求读取超时",
            "The request did not arrive in time."),
        row(
            .routeNotFound, .http, 404, .route, .client, false, "ClientError", 404, "http_request_denied", "No route", "资源未找到",
            "No route matches the request."),
        row(
            .hostDenied, .http, 421, .route, .client, false, "ClientError", 421, "http_request_denied", "Host not served", "不支持的主机名",
            "The gateway does not answer for this host."),
        row(
            .originDenied, .http, 403, .route, .client, false, "ClientError", 403, "http_request_denied", "Origin not allowed", "访问被拒绝",
            "Cross-site requests are not allowed on this route."),
        row(
            .clientKeyMissing, .http, 407, .route, .client, false, "ClientError", 407, "http_request_denied", "Client key required",
            "缺少客户端密钥",
            "The request does not carry the gateway's client key."),
        row(
            .adminKeyMissing, .http, 401, .route, .client, false, "AuthError", 401, "http_request_denied", "Admin key required", "缺少管理密钥",
            "The request does not carry the admin key."),
        row(
            .adminRefused, .http, 409, .route, .gateway, false, "ClientError", 409, "http_request_denied", "Refused in this state",
            "当前状态不允许该操作", "The gateway can't do that in its present state."),
        row(
            .loopDetected, .http, 508, .route, .gateway, false, "ServerError", 508, "proxy_loop_detected", "Loop detected", "请求循环",
            "The request has passed this gateway before."),
        row(
            .overrideUnknown, .http, 400, .route, .client, false, "ClientError", 400, "http_request_denied", "Unknown override",
            "指定的令牌或策略不存在", "The token or policy the request names cannot be chosen here."),
        row(
            .concurrencyLimited, .http, 503, .route, .gateway, true, "ServerError", 503, "connection_limit_reached", "Route at its limit",
            "服务繁忙，请稍后重试", "The route carries as many requests at a time as it may."),
        row(
            .rateLimited, .http, 429, .route, .gateway, true, "ClientError", 429, "http_request_denied", "Too many requests",
            "请求过于频繁，请稍后重试", "The route takes no more requests at this rate."),
        row(
            .tokenMissing, .authenticationExpired, 401, .inject, .gateway, false, "AuthError", 401, nil, "No token", "身份验证失败",
            "There is no token for this route."),
        row(
            .tokenUnavailable, .authenticationExpired, 502, .inject, .gateway, true, "AuthError", 401, nil, "Token unavailable", "身份验证失败",
            "The token source failed and no valid token is held."),
        row(
            .clientValueRejected, .http, 400, .inject, .client, false, "ClientError", 400, "http_request_denied", "Client value rejected",
            "请求自带的凭证不被接受", "The request carries a value of its own where the gateway puts its token."),
        row(
            .bodyNotSignable, .http, 413, .inject, .gateway, false, "ClientError", 413, "http_request_error", "Body not signable", "请求内容过大",
            "The request body is too large to be signed."),
        row(
            .breakerOpen, .http, 503, .forward, .gateway, true, "ServerError", 503, "destination_unavailable", "Breaker open", "服务暂时不可用",
            "The upstream has failed too often; it is left alone for a while."),
        row(
            .upstreamDNSFailed, .network, 502, .forward, .upstream, true, "NetworkError", -1000, "dns_error", "Upstream name not resolved",
            "无法连接到服务器", "The upstream's name could not be resolved."),
        row(
            .connectRefused, .network, 502, .forward, .upstream, true, "URLError", -1009, "connection_refused", "Upstream unreachable",
            "无法连接到服务器", "Could not connect to the upstream."),
        row(
            .connectTimedOut, .network, 504, .forward, .upstream, true, "URLError", -1007, "connection_timeout", "Connect timed out",
            "请求超时", "Connecting to the upstream took too long."),
        row(
            .tlsFailed, .network, 502, .forward, .upstream, true, "URLError", -1011, "tls_protocol_error", "TLS failed", "安全连接失败",
            "The secure connection to the upstream failed."),
        row(
            .tlsCertificateInvalid, .network, 502, .forward, .upstream, false, "URLError", -1011, "tls_certificate_error",
            "Certificate not trusted", "安全连接失败", "The upstream's certificate is not trusted."),
        row(
            .pinMismatch, .network, 502, .forward, .upstream, false, "URLError", -1011, "tls_certificate_error", "Pin mismatch", "安全连接失败",
            "The upstream's key matches none of the pins."),
        row(
            .reset, .network, 502, .forward, .upstream, true, "URLError", -1010, "connection_terminated", "Connection lost", "网络连接丢失",
            "The connection to the upstream was lost."),
        row(
            .emptyResponse, .network, 502, .forward, .upstream, true, "NetworkError", -1, "http_response_incomplete", "Empty response",
            "无效的服务器响应", "The upstream closed the connection without an answer."),
        row(
            .responseMalformed, .network, 502, .forward, .upstream, false, "NetworkError", -1, "http_protocol_error", "Malformed response",
            "无效的服务器响应", "The upstream's answer is not valid HTTP."),
        row(
            .upstreamTimedOut, .network, 504, .forward, .upstream, true, "URLError", -1007, "http_response_timeout", "Upstream timed out",
            "请求超时", "The upstream did not answer in time."),
        row(
            .upstreamStatus, .http, 0, .normalize, .upstream, false, "HTTPError", 0, nil, "Upstream failure", "未知HTTP错误",
            "The upstream answered with an error."),
        row(
            .refreshRejected, .authenticationExpired, 401, .refresh, .gateway, false, "AuthError", 401, nil, "Session expired", "身份验证失败",
            "The token was refused and so was its refresh."),
        row(
            .refreshFailed, .authenticationExpired, 401, .refresh, .gateway, true, "AuthError", 401, nil, "Refresh failed", "身份验证失败",
            "The token was refused and could not be refreshed now."),
        row(
            .refreshWindowExceeded, .authenticationExpired, 401, .refresh, .gateway, true, "AuthError", 401, nil, "Too many refreshes",
            "身份验证失败", "The token was refreshed too often in a short time."),
        row(
            .bodyNotReplayable, .authenticationExpired, 401, .retry, .gateway, true, "AuthError", 401, nil, "Body not replayable", "身份验证失败",
            "The token was refused and the request body is too large to send again."),
        row(
            .businessRejected, .business, 422, .normalize, .upstream, false, "BusinessError", 0, nil, "Business failure", "拦截器未获取到失败原因",
            "The upstream reported a failure without a reason."),
        row(
            .responseNotJSON, .decoding, 502, .normalize, .upstream, false, "DataError", 0, nil, "Response is not JSON", "JSON解析失败",
            "The upstream's answer is not JSON."),
        row(
            .responseTruncated, .network, 502, .normalize, .upstream, true, "URLError", -1010, "http_response_incomplete",
            "Response incomplete", "网络连接丢失", "The upstream's answer ended too early."),
        row(
            .responseTooLarge, .decoding, 502, .normalize, .upstream, false, "DataError", 0, "http_response_body_size",
            "Response too large", "数据解析失败", "The upstream's answer is too large to be judged."),
        row(
            .policyMissing, .interceptorMissing, 500, .normalize, .gateway, false, "InterceptorError", 0, nil, "No policy",
            "未配置拦截器，请使用response***获取响应数据", "No policy is configured for this view."),
        row(
            .secretEchoed, .http, 502, .reply, .upstream, false, "ServerError", 502, nil, "Secret in the answer", "响应内容包含网关凭证，已被拦截",
            "The upstream's answer carries one of the gateway's secrets."),
        row(
            .clientGone, .cancelled, 499, .reply, .client, false, "CancellationError", -1006, nil, "Client gone", "请求已取消",
            "The client closed the connection."),
        row(
            .overCapacity, .http, 503, .accept, .gateway, true, "ServerError", 503, "proxy_internal_response", "Over capacity", "服务器错误",
            "The gateway is at its limit."),
        row(
            .draining, .http, 503, .accept, .gateway, true, "ServerError", 503, "proxy_internal_response", "Draining", "服务器错误",
            "The gateway is shutting down."),
        row(
            .auditUnavailable, .http, 503, .audit, .gateway, true, "ServerError", 503, "proxy_internal_response", "Audit unavailable",
            "服务器错误", "The audit record cannot be written."),
        row(
            .internalError, .unknown, 500, .reply, .gateway, false, "UnknownError", 5000, "proxy_internal_error", "Internal error", "未知错误",
            "The gateway failed."),
    ]

    private static func row(
        _ reason: FailureReason, _ kind: FailureKind, _ status: UInt16, _ step: Step, _ origin: FailureOrigin, _ isRetryable: Bool,
        _ domain: StaticString, _ code: Int, _ proxyStatusError: StaticString?, _ title: StaticString, _ chinese: StaticString,
        _ english: StaticString
    ) -> FailureRow {
        FailureRow(
            reason: reason, kind: kind, status: status, step: step, origin: origin, isRetryable: isRetryable, domain: domain, code: code,
            proxyStatusError: proxyStatusError, title: title, chinese: chinese, english: english)
    }
}

extension FailureReason {
    /// The place among all cases.
    package var position: Int { casePlace(self) }

    /// The reason an attempt's error is shown as.
    package init(_ error: ForwardError) {
        switch error {
        case .dnsFailed: self = .upstreamDNSFailed
        case .connectRefused: self = .connectRefused
        case .connectTimedOut: self = .connectTimedOut
        case .tlsFailed: self = .tlsFailed
        case .tlsCertificate: self = .tlsCertificateInvalid
        case .pinMismatch: self = .pinMismatch
        case .reset: self = .reset
        case .emptyResponse: self = .emptyResponse
        case .malformedResponse: self = .responseMalformed
        case .truncated: self = .responseTruncated
        case .requestBodyFailed: self = .internalError
        }
    }
}
