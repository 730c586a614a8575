// Owns building tokens.
// Domain: cold

import CryoJSON
import CryoPipeline

extension ConfigurationReader {
    mutating func token(_ name: String, _ node: YAMLNode) -> TokenSettings? {
        let path = "tokens.\(name)"
        let source = self.source(node, at: path)
        let initialToken = secret(node["initial"]?["token"], at: "\(path).initial.token")
        let initialRefreshToken = secret(node["initial"]?["refresh_token"], at: "\(path).initial.refresh_token")
        for status in node["refresh"]?["on_status"]?.items ?? [] where status.integer == 403 {
            note(status, "\(path).refresh.on_status: 403 never refreshes: the token was understood")
        }
        if case .oauth2(let oauth2) = source, oauth2.grantType == .refreshToken, initialRefreshToken == nil, node["store"] == nil {
            note(node["oauth2"], "\(path).oauth2: grant_type refresh_token needs initial.refresh_token or store")
        }
        guard let source else { return nil }
        var settings = TokenSettings(name: name, source: source)
        settings.initialToken = initialToken
        settings.initialRefreshToken = initialRefreshToken
        settings.inject = inject(node["inject"])
        settings.upstreams = texts(node["upstreams"])
        settings.hooks = hooks(node["hooks"], at: "\(path).hooks")
        settings.refresh = refresh(node["refresh"])
        settings.storeFile = node["store"]?["file"]?.text
        return settings
    }

    private func inject(_ node: YAMLNode?) -> InjectSettings {
        var settings = InjectSettings()
        for place in InjectSettings.Place.allCases {
            guard let name = node?[place.rawValue]?.text else { continue }
            settings.place = place
            settings.name = name
        }
        if settings.place != .header { settings.format = "{token}" }
        settings.format = node?["format"]?.text ?? settings.format
        choose(node?["on_client_value"], &settings.onClientValue)
        return settings
    }

    private func refresh(_ node: YAMLNode?) -> RefreshSettings {
        var settings = RefreshSettings()
        if let statuses = node?["on_status"] { settings.onStatus = statuses.items.compactMap { $0.integer.map { UInt16(clamping: $0) } } }
        settings.onBusinessCodes = texts(node?["on_business_codes"])
        assign(node?["before_expiry_s"], to: &settings.beforeExpirySeconds)
        assign(node?["timeout_ms"], to: &settings.timeoutMilliseconds)
        assign(node?["window"]?["seconds"], to: &settings.windowSeconds)
        assign(node?["window"]?["max"], to: &settings.perWindowMax)
        assign(node?["waiters_max"], to: &settings.waitersMax)
        return settings
    }

    private mutating func source(_ node: YAMLNode, at path: String) -> TokenSource? {
        if let fixed = node["static"] {
            return secret(fixed["token"], at: "\(path).static.token").map { .fixed(token: $0) }
        }
        if let environment = node["env"] {
            guard let name = environment["name"] else { return nil }
            if let text = name.text { variables.append((text, name.origin)) }
            return name.text.map { .environment(name: $0) }
        }
        if let file = node["file"] { return file["path"]?.text.map { .file(path: $0) } }
        if let oauth2 = node["oauth2"] { return self.oauth2(oauth2, at: "\(path).oauth2").map { .oauth2($0) } }
        if let login = node["login"] { return self.login(login, at: "\(path).login").map { .login($0) } }
        return nil
    }

    private mutating func oauth2(_ node: YAMLNode, at path: String) -> OAuth2Settings? {
        let clientSecret = secret(node["client_secret"], at: "\(path).client_secret")
        warnClearText(node["token_endpoint"], at: "\(path).token_endpoint")
        guard let endpoint = node["token_endpoint"]?.text, let clientID = node["client_id"]?.text else { return nil }
        var settings = OAuth2Settings(tokenEndpoint: endpoint, clientID: clientID)
        settings.clientSecret = clientSecret
        choose(node["grant_type"], &settings.grantType)
        settings.scopes = texts(node["scopes"])
        settings.audience = node["audience"]?.text
        choose(node["auth_method"], &settings.authMethod)
        settings.caFile = node["ca"]?.text
        if settings.grantType == .clientCredentials, node["client_secret"] == nil {
            note(node, "\(path): grant_type client_credentials needs client_secret")
        }
        return settings
    }

    private mutating func login(_ node: YAMLNode, at path: String) -> LoginSettings? {
        let call = node["refresh"].flatMap { self.call($0, at: "\(path).refresh") }
        let fields = node["fields"]
        guard let call, let tokenPath = fields?["token"]?.text.flatMap({ JSONPath($0) }) else { return nil }
        var settings = LoginSettings(refresh: call, tokenPath: tokenPath)
        settings.refreshTokenPath = fields?["refresh_token"]?.text.flatMap { JSONPath($0) }
        settings.expiresInPath = fields?["expires_in"]?.text.flatMap { JSONPath($0) }
        settings.success = success(node["success"])
        settings.caFile = node["ca"]?.text
        return settings
    }

    private mutating func call(_ node: YAMLNode, at path: String) -> TokenCall? {
        let headers = self.headers(node["headers"], at: "\(path).headers")
        warnClearText(node["url"], at: "\(path).url")
        guard let url = node["url"]?.text else { return nil }
        var call = TokenCall(url: url)
        call.method = node["method"]?.text ?? call.method
        call.headers = headers
        if let json = node["json"] {
            warnLiterals(json, at: "\(path).json")
            call.body = .json(template(json))
        } else if let form = node["form"] {
            warnLiterals(form, at: "\(path).form")
            call.body = .form(form.entries.compactMap { entry in entry.value.text.map { (entry.key, $0) } })
        }
        if call.method == "GET" || call.method == "HEAD", node["json"] != nil || node["form"] != nil {
            note(node["method"], "\(path).method: a \(call.method) carries no body")
        }
        return call
    }

    private func template(_ node: YAMLNode) -> TokenCall.TemplateNode {
        switch node.content {
        case .mapping(let entries): .object(entries.map { ($0.key, template($0.value)) })
        case .sequence(let items): .array(items.map(template))
        case .scalar(let text, let isPlain):
            if node.isNull {
                .literal("null")
            } else if node.boolean != nil || (isPlain && isJSONNumber(text)) {
                .literal(text)
            } else {
                .string(text)
            }
        }
    }

    private mutating func warnLiterals(_ node: YAMLNode, at path: String) {
        for entry in node.entries {
            let entryPath = "\(path).\(entry.key)"
            if isSensitive(member: entry.key), let text = entry.value.text, !text.isEmpty, !hasPlaceholder(text) {
                warn(entry.value, "\(entryPath): looks like a secret in the file")
            }
            warnLiterals(entry.value, at: entryPath)
        }
        for (index, item) in node.items.enumerated() { warnLiterals(item, at: "\(path)[\(index)]") }
    }

    private mutating func warnClearText(_ node: YAMLNode?, at path: String) {
        if let url = node?.text, isClearText(url) { warn(node, "\(path): http sends secrets in clear text") }
    }
}
