// The failure table row by row, the failure's JSON, its language and the seeds' texts.
// Domain: cold

import CryoHTTP
import CryoJSON
import Foundation
import Testing

@testable import CryoPipeline

private func language(_ value: String?) -> MessageLanguage {
    guard let value else { return MessageLanguage.preferred(nil) }
    return Array(value.utf8).withUnsafeBytes { MessageLanguage.preferred($0) }
}

private func rendered(_ failure: Failure, held: [UInt8]? = nil, isTruncated: Bool = false) -> [UInt8] {
    var body = HeldBody()
    body.bytes = held ?? []
    body.isTruncated = isTruncated
    let facts = FailureBody.Facts(exchangeID: Array("01J".utf8), requestID: Array("r-1".utf8), route: Array("news".utf8), attempts: 2)
    return FailureBody.render(failure, facts: facts, held: held == nil ? nil : body, scanner: JSONScanner())
}

private func object(_ bytes: [UInt8]) -> [String: Any] {
    (try? JSONSerialization.jsonObject(with: Data(bytes))) as? [String: Any] ?? [:]
}

@Suite("The failure table")
struct FailureTableTests {
    @Test("every reason has its row, in the order of the enum")
    func order() {
        #expect(FailureTable.rows.map(\.reason) == FailureReason.allCases)
        for reason in FailureReason.allCases { #expect(FailureTable.row(reason).reason == reason) }
    }

    @Test("no row is without title and texts in both languages, and every status is one a client can get")
    func complete() {
        for row in FailureTable.rows {
            #expect(row.title.utf8CodeUnitCount > 0 && row.chinese.utf8CodeUnitCount > 0 && row.english.utf8CodeUnitCount > 0)
            #expect(row.status == 0 || 400...599 ~= row.status)
            #expect(row.reason.rawValue.allSatisfy { $0.isLowercase || $0 == "_" })
        }
    }

    static let expected: [(FailureReason, FailureKind, UInt16, Step, String?)] = [
        (.requestMalformed, .http, 400, .read, "http_request_error"), (.requestTooLarge, .http, 413, .read, "http_request_error"),
        (.requestTimedOut, .http, 408, .read, "http_request_error"), (.routeNotFound, .http, 404, .route, "http_request_denied"),
        (.hostDenied, .http, 421, .route, "http_request_denied"), (.originDenied, .http, 403, .route, "http_request_denied"),
        (.clientKeyMissing, .http, 407, .route, "http_request_denied"), (.adminKeyMissing, .http, 401, .route, "http_request_denied"),
        (.adminRefused, .http, 409, .route, "http_request_denied"), (.loopDetected, .http, 508, .route, "proxy_loop_detected"),
        (.overrideUnknown, .http, 400, .route, "http_request_denied"),
        (.concurrencyLimited, .http, 503, .route, "connection_limit_reached"), (.rateLimited, .http, 429, .route, "http_request_denied"),
        (.tokenMissing, .authenticationExpired, 401, .inject, nil), (.tokenUnavailable, .authenticationExpired, 502, .inject, nil),
        (.clientValueRejected, .http, 400, .inject, "http_request_denied"),
        (.bodyNotSignable, .http, 413, .inject, "http_request_error"),
        (.breakerOpen, .http, 503, .forward, "destination_unavailable"),
        (.upstreamDNSFailed, .network, 502, .forward, "dns_error"), (.connectRefused, .network, 502, .forward, "connection_refused"),
        (.connectTimedOut, .network, 504, .forward, "connection_timeout"), (.tlsFailed, .network, 502, .forward, "tls_protocol_error"),
        (.tlsCertificateInvalid, .network, 502, .forward, "tls_certificate_error"),
        (.pinMismatch, .network, 502, .forward, "tls_certificate_error"), (.reset, .network, 502, .forward, "connection_terminated"),
        (.emptyResponse, .network, 502, .forward, "http_response_incomplete"),
        (.responseMalformed, .network, 502, .forward, "http_protocol_error"),
        (.upstreamTimedOut, .network, 504, .forward, "http_response_timeout"), (.upstreamStatus, .http, 0, .normalize, nil),
        (.refreshRejected, .authenticationExpired, 401, .refresh, nil), (.refreshFailed, .authenticationExpired, 401, .refresh, nil),
        (.refreshWindowExceeded, .authenticationExpired, 401, .refresh, nil),
        (.bodyNotReplayable, .authenticationExpired, 401, .retry, nil),
        (.businessRejected, .business, 422, .normalize, nil), (.responseNotJSON, .decoding, 502, .normalize, nil),
        (.responseTruncated, .network, 502, .normalize, "http_response_incomplete"),
        (.responseTooLarge, .decoding, 502, .normalize, "http_response_body_size"),
        (.policyMissing, .interceptorMissing, 500, .normalize, nil), (.secretEchoed, .http, 502, .reply, nil),
        (.clientGone, .cancelled, 499, .reply, nil),
        (.overCapacity, .http, 503, .accept, "proxy_internal_response"), (.draining, .http, 503, .accept, "proxy_internal_response"),
        (.auditUnavailable, .http, 503, .audit, "proxy_internal_response"), (.internalError, .unknown, 500, .reply, "proxy_internal_error"),
    ]

    @Test("kind, status, step and Proxy-Status are the documented ones")
    func documented() {
        #expect(Self.expected.map(\.0) == FailureReason.allCases)
        for (reason, kind, status, step, error) in Self.expected {
            let row = FailureTable.row(reason)
            #expect(row.kind == kind && row.status == status && row.step == step, "\(reason)")
            #expect(row.proxyStatusError.map { "\($0)" } == error, "\(reason)")
        }
    }

    @Test("every error of an attempt has a reason of the forward or normalize step, or is our own")
    func attemptErrors() {
        for error in ForwardError.allCases {
            let row = FailureTable.row(FailureReason(error))
            #expect(row.kind == .network || (error == .requestBodyFailed && row.kind == .unknown))
        }
    }

    @Test(
        "a status the upstream sent has the seeds' domain and text",
        arguments: [
            (400, "ClientError", "请求参数错误"), (401, "AuthError", "身份验证失败"), (403, "AuthError", "访问被拒绝"), (404, "ClientError", "资源未找到"),
            (405, "ClientError", "方法不被允许"), (500, "ServerError", "服务器错误"), (503, "ServerError", "服务器错误"), (599, "ServerError", "服务器错误"),
            (402, "HTTPError", "未知HTTP错误"), (418, "HTTPError", "未知HTTP错误"), (429, "HTTPError", "未知HTTP错误"), (600, "HTTPError", "未知HTTP错误"),
        ] as [(UInt16, String, String)])
    func statusTexts(_ status: UInt16, _ domain: String, _ message: String) {
        let failure = Failure(upstreamStatus: status, language: .chinese)
        #expect("\(failure.domain)" == domain && text(failure.message) == message)
        #expect(failure.status == status && failure.upstreamStatus == status && failure.code == Int(status))
        #expect(failure.kind == (status == 401 ? .authenticationExpired : .http) && failure.businessCode == nil)
    }

    @Test(
        "the language is the client's choice of the two, else the seeds'",
        arguments: [
            (nil, .chinese), ("", .chinese), ("en", .english), ("EN-us", .english), ("zh-CN,en;q=0.9", .chinese),
            ("zh;q=0.3, en;q=0.8", .english), ("de, fr", .chinese), ("de, en;q=0.1", .english), ("en;q=0", .chinese),
            ("english", .chinese), ("en;q=0.5, zh;q=0.5", .english), ("*", .chinese), ("en;q=x", .chinese), ("e", .chinese),
        ] as [(String?, MessageLanguage)])
    func languages(_ value: String?, _ expected: MessageLanguage) {
        #expect(language(value) == expected)
    }
}

@Suite("The failure's JSON")
struct FailureBodyTests {
    @Test("it has exactly the documented members, null where unknown")
    func members() throws {
        let failure = Failure(.connectRefused, language: .english)
        let body = object(rendered(failure))
        #expect(
            Set(body.keys) == [
                "type", "title", "status", "detail", "instance", "kind", "message", "statusCode", "businessCode", "authenticationRevision",
                "responseData", "underlyingError", "reason", "step", "origin", "retryable", "attempts", "domain", "code", "requestId",
                "route",
            ])
        for member in ["statusCode", "businessCode", "authenticationRevision", "responseData", "underlyingError"] {
            #expect(body[member] is NSNull)
        }
        #expect(body["type"] as? String == "urn:cryonet:failure:connect_refused" && body["kind"] as? String == "network")
        #expect(body["status"] as? Int == 502 && body["instance"] as? String == "/exchanges/01J" && body["requestId"] as? String == "r-1")
        #expect(body["message"] as? String == body["detail"] as? String && body["attempts"] as? Int == 2)
        #expect(body["origin"] as? String == "upstream" && body["retryable"] as? Bool == true && body["route"] as? String == "news")
        #expect(body["domain"] as? String == "URLError" && body["code"] as? Int == -1009 && body["step"] as? String == "forward")
    }

    @Test("a business failure keeps the wire type of its code and the upstream's body as JSON")
    func business() {
        var failure = Failure(.businessRejected, language: .chinese)
        failure.businessCode = Array("123456789012345678901234567890".utf8)
        failure.message = Array("余额\"不足\"".utf8)
        let raw = rendered(failure, held: Array(#"{ "code":40013 }"#.utf8))
        #expect(String(decoding: raw, as: UTF8.self).contains(#""businessCode":123456789012345678901234567890"#))
        #expect(String(decoding: raw, as: UTF8.self).contains(#""responseData":{ "code":40013 }"#))
        #expect(object(raw)["message"] as? String == "余额\"不足\"")
        failure.businessCode = Array(#""A-1""#.utf8)
        #expect(object(rendered(failure))["businessCode"] as? String == "A-1")
    }

    @Test("a body that is no JSON is a string, and base64 when it is no text either")
    func otherBodies() {
        let failure = Failure(.responseNotJSON, language: .english)
        #expect(object(rendered(failure, held: Array("<html>\u{1}".utf8)))["responseData"] as? String == "<html>\u{1}")
        let binary = object(rendered(failure, held: [0xFF, 0xD8, 0x00, 0x10]))
        #expect(binary["responseData"] as? String == "/9gAEA==" && binary["responseDataEncoding"] as? String == "base64")
        #expect(object(rendered(failure, held: []))["responseData"] is NSNull)
    }

    @Test("a body at the bound is whole, one byte more is cut and says so, never inside a character")
    func cut() {
        let failure = Failure(.upstreamStatus, language: .english)
        let max = FailureBody.responseDataBytesMax
        let whole = object(rendered(failure, held: [UInt8](repeating: 0x61, count: max)))
        #expect((whole["responseData"] as? String)?.utf8.count == max && whole["responseDataTruncated"] == nil)
        var long = [UInt8](repeating: 0x61, count: max - 1)
        long += Array("好".utf8)
        let cut = object(rendered(failure, held: long))
        #expect((cut["responseData"] as? String)?.utf8.count == max - 1 && cut["responseDataTruncated"] as? Bool == true)
        let partial = object(rendered(failure, held: Array("{}".utf8), isTruncated: true))
        #expect(partial["responseData"] as? String == "{}" && partial["responseDataTruncated"] as? Bool == true)
    }

    @Test("base64 is the standard one", arguments: ["", "f", "fo", "foo", "foob", "fooba", "foobar", "\u{0}ÿþ"])
    func base64(_ value: String) {
        let bytes = Array(value.utf8)
        #expect(text(bytes.withUnsafeBytes { Base64.encode($0) }) == Data(bytes).base64EncodedString())
    }
}
