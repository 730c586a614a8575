// Owns building upstreams, and a login's success.
// Domain: cold

import CryoJSON
import CryoPipeline

extension ConfigurationReader {
    mutating func upstream(_ name: String, _ node: YAMLNode) -> UpstreamSettings? {
        let path = "upstreams.\(name)"
        let headers = self.headers(node["headers"], at: "\(path).headers")
        let tls = upstreamTLS(node["tls"], at: "\(path).tls")
        guard let url = node["url"]?.text.flatMap({ try? parseUpstreamURL($0) }) else { return nil }
        var settings = UpstreamSettings(name: name, url: url)
        settings.headers = headers
        settings.tls = tls
        settings.usesHTTP2 = node["http2"]?.boolean ?? settings.usesHTTP2
        let timeouts = node["timeouts"]
        assign(timeouts?["connect_ms"], to: &settings.timeouts.connectMilliseconds)
        assign(timeouts?["response_ms"], to: &settings.timeouts.responseMilliseconds)
        assign(timeouts?["idle_ms"], to: &settings.timeouts.idleMilliseconds)
        assign(timeouts?["total_ms"], to: &settings.timeouts.totalMilliseconds)
        assign(timeouts?["tunnel_idle_ms"], to: &settings.timeouts.tunnelIdleMilliseconds)
        settings.sign = sign(node["sign"], at: "\(path).sign")
        settings.breaker = breaker(node["breaker"], at: "\(path).breaker")
        if !url.isTLS, !tls.pins.isEmpty { note(node["tls"], "\(path).tls: pins have no meaning without https") }
        return settings
    }

    private mutating func sign(_ node: YAMLNode?, at path: String) -> SignSettings? {
        guard let node, let key = secret(node["key"], at: "\(path).key") else { return nil }
        var settings = SignSettings(key: key)
        choose(node["algorithm"], &settings.algorithm)
        choose(node["key_encoding"], &settings.keyEncoding)
        settings.keyID = node["key_id"]?.text
        settings.label = node["label"]?.text ?? settings.label
        if let components = node["components"] { settings.components = texts(components) }
        settings.coversBody = node["body"]?.boolean ?? settings.coversBody
        assign(node["expires_s"], to: &settings.expiresSeconds)
        settings.hasNonce = node["nonce"]?.boolean ?? settings.hasNonce
        settings.tellsAlgorithm = node["alg"]?.boolean ?? settings.tellsAlgorithm
        settings.tag = node["tag"]?.text
        if let components = node["components"], settings.components.isEmpty, !settings.coversBody {
            note(components, "\(path).components: a signature over nothing says nothing")
        }
        if settings.components.contains("content-digest"), !settings.coversBody {
            warn(node["components"], "\(path).components: content-digest is the client's own word without body: true")
        }
        return settings
    }

    private mutating func breaker(_ node: YAMLNode?, at path: String) -> BreakerSettings? {
        guard let node else { return nil }
        var settings = BreakerSettings(failurePercent: 0)
        assign(node["failure_percent"], to: &settings.failurePercent)
        assign(node["min_requests"], to: &settings.requestsMin)
        assign(node["window_ms"], to: &settings.windowMilliseconds)
        assign(node["open_ms"], to: &settings.openMilliseconds)
        assign(node["max_open_ms"], to: &settings.openMillisecondsMax)
        assign(node["probes"], to: &settings.probes)
        if let conditions = node["on"] { settings.conditions = texts(conditions).compactMap { RetryCondition($0) } }
        if node["max_open_ms"] != nil, settings.openMillisecondsMax < settings.openMilliseconds {
            note(node["max_open_ms"], "\(path).max_open_ms: less than open_ms")
        }
        // Without the share the catalogue has a problem already.
        return settings.failurePercent > 0 ? settings : nil
    }

    private mutating func upstreamTLS(_ node: YAMLNode?, at path: String) -> UpstreamTLS {
        var tls = UpstreamTLS()
        guard let node else { return tls }
        tls.pins = texts(node["pins"])
        tls.caFile = node["ca"]?.text
        tls.clientCertificateFile = node["client_certificate"]?.text
        tls.clientKeyFile = node["client_key"]?.text
        tls.skipsVerification = node["unsafe_skip_verify"]?.boolean ?? false
        if tls.skipsVerification {
            warn(node["unsafe_skip_verify"], "\(path).unsafe_skip_verify: any certificate is accepted; whoever answers gets the token")
        }
        if tls.clientKeyFile != nil, tls.clientCertificateFile == nil {
            note(node["client_key"], "\(path).client_key: needs client_certificate")
        }
        return tls
    }

    /// Names that differ in case only are one header.
    mutating func headers(_ node: YAMLNode?, at path: String, areTemplates: Bool = false) -> [(name: String, value: String)] {
        var headers: [(name: String, value: String)] = []
        for entry in node?.entries ?? [] {
            let lowered = entry.key.lowercased()
            if headers.contains(where: { $0.name.lowercased() == lowered }) {
                note(entry.value, "\(path): \(quoted(entry.key)) is there twice")
            }
            guard let value = entry.value.text else { continue }
            if isSensitive(header: entry.key), !areTemplates || !hasPlaceholder(value) {
                warn(entry.value, "\(path).\(entry.key): looks like a secret in the file: better a token")
            }
            headers.append((entry.key, value))
        }
        return headers
    }

    func scalar(_ node: YAMLNode) -> JSONScalar? {
        guard case .scalar(let text, let isPlain) = node.content else { return nil }
        if node.isNull { return .null }
        if let boolean = node.boolean { return .bool(boolean) }
        return isPlain && isJSONNumber(text) ? .number(text) : .string(Array(text.utf8))
    }
}

private let redaction = RedactionSettings()

/// Names whose values are masked and warned about, by the built-in names of the audit.
func isSensitive(header name: String) -> Bool { redaction.headers.contains(name.lowercased()) }
func isSensitive(member name: String) -> Bool { redaction.json.contains(name.lowercased()) }
/// A template with a place for a secret is none itself.
func hasPlaceholder(_ text: String) -> Bool { !TemplateText(text).isLiteral }
