// Translates a request into the pipeline's terms: one route to one upstream, a head, a body.
// Domain: pure

import CryoHTTP
import CryoPipeline
import Foundation

struct CallPlan {
    let request: CryoRequest
    /// nil: no token is injected and none refreshed.
    let store: CredentialStore?
    let retry: RetrySettings

    /// The bound of establishing a connection. The same for all calls, because connections are pooled by it; shorter timeouts of a
    /// request end it earlier all the same.
    private static let connectMilliseconds: UInt32 = 30_000
    private static let timeoutSecondsMax: TimeInterval = 86_400

    static func seconds(_ timeout: TimeInterval) -> TimeInterval {
        timeout.isFinite && timeout > 0 ? min(max(timeout, 0.001), timeoutSecondsMax) : 30
    }

    static func retry(_ policy: RetryPolicy) -> RetrySettings {
        var settings = RetrySettings()
        settings.limit = policy.limit
        settings.base = policy.base.isFinite ? policy.base : 2
        settings.scaleMilliseconds = UInt32(min(max(policy.scale.isFinite ? policy.scale : 0.5, 0), 10) * 1000)
        settings.methods = policy.methods.map(\.rawValue)
        settings.conditions =
            RetryCondition.standard.filter { if case .reason = $0 { true } else { false } }
            + policy.statuses.map { .status(UInt16(clamping: $0)) }
        return settings
    }

    /// Throws what makes the request impossible to send.
    func callRequest() throws(CryoError) -> CallRequest {
        let target = try Target(request.url)
        var upstream = UpstreamSettings(
            name: "api", url: UpstreamURL(isTLS: target.isTLS, host: target.host, port: target.port))
        let milliseconds = UInt32(Self.seconds(request.timeoutInterval) * 1000)
        upstream.timeouts.connectMilliseconds = Self.connectMilliseconds
        upstream.timeouts.responseMilliseconds = milliseconds
        upstream.timeouts.idleMilliseconds = milliseconds
        upstream.timeouts.totalMilliseconds = 0
        var settings = RouteSettings(name: "call", path: "/*", upstream: upstream.name)
        settings.retry = retry
        // A program has no page of another site behind it: the Origin it sends is its own business.
        settings.cors.origins = request.headers.filter { $0.name.lowercased() == "origin" }.map(\.value)
        let upstreamPlan = UpstreamPlan(upstream)
        let route = RoutePlan(settings, upstream: upstreamPlan, credentials: store, policy: nil)
        let plan = PipelinePlan(
            routes: [route], upstreams: [upstreamPlan], credentials: store.map { [$0] } ?? [], hosts: [], audit: nil, auditSink: nil,
            limits: LimitSettings())
        return CallRequest(
            head: try head(target), body: request.httpBody.map { Array($0) } ?? [], plan: plan,
            keepsRequestID: request.value(forHTTPHeaderField: "X-Request-Id") != nil)
    }

    private func head(_ target: Target) throws(CryoError) -> RequestHead {
        let method = Array(request.httpMethod.utf8)
        guard method.withUnsafeBytes({ isToken($0) }), request.httpMethod != "CONNECT" else { throw Self.flaw("the method is no token") }
        let start = method + Array(target.pathAndQuery.utf8)
        var fields = FieldSection(over: start)
        for header in request.headers {
            let name = Array(header.name.utf8)
            guard name.withUnsafeBytes({ isToken($0) }), header.value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else {
                throw Self.flaw("a header field is not valid")
            }
            // Said by the pipeline: the origin of the URL, and how long the body is.
            if ["host", "content-length", "transfer-encoding", "expect"].contains(header.name.lowercased()) { continue }
            fields.append(name: name, value: Self.trimmed(header.value))
        }
        if !fields.contains("accept-encoding") { fields.append("Accept-Encoding", "gzip, deflate, br, zstd") }
        return RequestHead(
            fields: fields, method: 0..<method.count, target: method.count..<start.count, minorVersion: 1, framing: framing,
            keepsAlive: true, expectsContinue: false)
    }

    /// A method that means to send something says so even when it is nothing (RFC 9110 §8.6).
    private var framing: BodyFraming {
        if let body = request.httpBody { return .length(UInt64(body.count)) }
        return ["POST", "PUT", "PATCH"].contains(request.httpMethod) ? .length(0) : .none
    }

    private static func trimmed(_ value: String) -> [UInt8] {
        var bytes = value.utf8[...]
        while let first = bytes.first, first == 0x20 || first == 0x09 { bytes.removeFirst() }
        while let last = bytes.last, last == 0x20 || last == 0x09 { bytes.removeLast() }
        return Array(bytes)
    }

    static func flaw(_ text: String) -> CryoError { CryoError(.requestNotAdapted, underlying: PipelineDetail(text: text)) }

    /// The parts of an absolute URL.
    private struct Target {
        let isTLS: Bool
        let host: String
        let port: UInt16
        let pathAndQuery: String

        init(_ url: URL?) throws(CryoError) {
            guard let url, let parts = URLComponents(url: url, resolvingAgainstBaseURL: true),
                let scheme = parts.scheme?.lowercased(), scheme == "http" || scheme == "https"
            else { throw CallPlan.flaw("not an http or https url") }
            guard parts.user == nil, parts.password == nil else { throw CallPlan.flaw("the url holds a user name or a password") }
            guard let host = parts.encodedHost?.lowercased(), !host.isEmpty else { throw CallPlan.flaw("the url has no host") }
            isTLS = scheme == "https"
            self.host = host
            guard let port = UInt16(exactly: parts.port ?? (isTLS ? 443 : 80)), port > 0 else {
                throw CallPlan.flaw("the url's port is none")
            }
            self.port = port
            let path = parts.percentEncodedPath.isEmpty ? "/" : parts.percentEncodedPath
            let text = path + (parts.percentEncodedQuery.map { "?\($0)" } ?? "")
            guard text.utf8.first == 0x2F, text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
                throw CallPlan.flaw("the url's path is not valid")
            }
            pathAndQuery = text
        }
    }
}
