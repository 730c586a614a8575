// Owns building upstreams and policies.
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
        if !url.isTLS, !tls.pins.isEmpty { note(node["tls"], "\(path).tls: pins have no meaning without https") }
        return settings
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
    mutating func headers(_ node: YAMLNode?, at path: String) -> [(name: String, value: String)] {
        var headers: [(name: String, value: String)] = []
        for entry in node?.entries ?? [] {
            let lowered = entry.key.lowercased()
            if headers.contains(where: { $0.name.lowercased() == lowered }) {
                note(entry.value, "\(path): \(quoted(entry.key)) is there twice")
            }
            guard let value = entry.value.text else { continue }
            if isSensitive(header: entry.key), !hasPlaceholder(value) {
                warn(entry.value, "\(path).\(entry.key): looks like a secret in the file: better a token")
            }
            headers.append((entry.key, value))
        }
        return headers
    }

    mutating func policy(_ name: String, _ node: YAMLNode) -> PolicySettings {
        var settings = PolicySettings(name: name)
        settings.success = success(node["success"])
        choose(node["reply"], &settings.view)
        settings.errorMessagePaths = texts(node["error_body"]?["message"]).compactMap { JSONPath($0) }
        settings.errorMessageFallback = node["error_body"]?["fallback"]?.text
        settings.messagePaths = (node["message"].map { texts($0) } ?? Catalogue.messagePathsStandard).compactMap { JSONPath($0) }
        settings.codePath = JSONPath(node["code"]?.text ?? Catalogue.codePathStandard)
        let dataPath = node["data"]?.text ?? (settings.view == .data ? Catalogue.dataPathStandard : nil)
        settings.dataPath = dataPath.flatMap { JSONPath($0) }
        choose(node["non_json"], &settings.nonJSON)
        choose(node["empty"], &settings.empty)
        choose(node["oversize"], &settings.oversize)
        assign(node["max_body_bytes"], to: &settings.bodyBytesMax)
        let failure = node["failure"]
        assign(failure?["status"], to: &settings.failureStatus)
        for entry in failure?["codes"]?.entries ?? [] {
            assign(entry.value, to: &settings.codes[entry.key, default: settings.failureStatus])
        }
        settings.sessionExpiredCodes = texts(failure?["session_expired"])
        settings.hooks = hooks(node["hooks"], at: "policies.\(name).hooks")
        return settings
    }

    func success(_ node: YAMLNode?) -> SuccessRule? {
        guard let path = node?["field"]?.text.flatMap({ JSONPath($0) }), let equals = node?["equals"].flatMap(scalar) else { return nil }
        var rule = SuccessRule(path: path, equals: equals)
        choose(node?["missing"], &rule.missing)
        rule.isStrict = node?["strict"]?.boolean ?? rule.isStrict
        return rule
    }

    private func scalar(_ node: YAMLNode) -> JSONScalar? {
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
func hasPlaceholder(_ text: String) -> Bool { text.contains("{token}") || text.contains("{refresh_token}") }
