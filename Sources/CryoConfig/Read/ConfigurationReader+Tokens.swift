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
        settings.sessionName = node["session"]?.text
        settings.storeFile = node["store"]?["file"]?.text
        settings.storeRedis = node["store"]?["redis"].flatMap { redisStore($0, at: "\(path).store.redis") }
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
        if let seconds = node?["default_ttl_s"]?.integer { settings.defaultLifetimeSeconds = seconds }
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
        if let exec = node["exec"] { return self.exec(exec, at: "\(path).exec").map { .exec($0) } }
        if let oauth2 = node["oauth2"] { return self.oauth2(oauth2, at: "\(path).oauth2").map { .oauth2($0) } }
        if let login = node["login"] { return self.login(login, at: "\(path).login").map { .login($0) } }
        return nil
    }

    private mutating func exec(_ node: YAMLNode, at path: String) -> ExecSettings? {
        let command = texts(node["command"])
        if let list = node["command"], case .sequence(let items) = list.content, items.isEmpty || command.first == "" {
            note(list, "\(path).command: needs a program")
        }
        if command.contains(where: { $0.utf8.contains(0) }) { note(node["command"], "\(path).command: must not contain NUL") }
        var settings = ExecSettings(command: command)
        settings.environment = pairs(node["env"], at: "\(path).env")
        if settings.environment.contains(where: { $0.value.utf8.contains(0) }) { note(node["env"], "\(path).env: must not contain NUL") }
        return command.isEmpty ? nil : settings
    }

    private mutating func oauth2(_ node: YAMLNode, at path: String) -> OAuth2Settings? {
        let clientSecret = secret(node["client_secret"], at: "\(path).client_secret")
        let password = secret(node["password"], at: "\(path).password")
        let privateKey = secret(node["private_key"], at: "\(path).private_key")
        let parameters = pairs(node["endpoint_params"], at: "\(path).endpoint_params")
        let headers = templateHeaders(node["token_headers"], at: "\(path).token_headers")
        warnClearText(node["token_endpoint"], at: "\(path).token_endpoint")
        guard let endpoint = node["token_endpoint"]?.text, let clientID = node["client_id"]?.text else { return nil }
        var settings = OAuth2Settings(tokenEndpoint: endpoint, clientID: clientID)
        settings.clientSecret = clientSecret
        choose(node["grant_type"], &settings.grantType)
        settings.username = node["username"]?.text
        settings.password = password
        settings.scopes = texts(node["scopes"])
        settings.audience = node["audience"]?.text
        settings.resources = texts(node["resources"])
        settings.endpointParameters = parameters
        settings.tokenHeaders = headers
        choose(node["auth_method"], &settings.authMethod)
        settings.privateKey = privateKey
        settings.keyID = node["key_id"]?.text
        settings.assertionAudience = node["assertion_audience"]?.text
        settings.caFile = node["ca"]?.text
        checkOAuth2(node, settings, at: path)
        return settings
    }

    /// What belongs together, and what the gateway says itself.
    private mutating func checkOAuth2(_ node: YAMLNode, _ settings: OAuth2Settings, at path: String) {
        let provesByKey = settings.authMethod == .privateKeyJWT
        if provesByKey, node["private_key"] == nil { note(node, "\(path): auth_method private_key_jwt needs private_key") }
        if !provesByKey, node["private_key"] != nil {
            note(node["private_key"], "\(path).private_key: only auth_method private_key_jwt uses it")
        }
        if provesByKey, node["client_secret"] != nil {
            note(node["client_secret"], "\(path).client_secret: auth_method private_key_jwt has no use for it")
        }
        if settings.grantType == .clientCredentials, node["client_secret"] == nil, !provesByKey {
            note(node, "\(path): grant_type client_credentials needs client_secret")
        }
        if settings.grantType == .password {
            for key in ["username", "password"] where node[key] == nil { note(node, "\(path): grant_type password needs \(key)") }
        } else {
            for key in ["username", "password"] where node[key] != nil {
                note(node[key], "\(path).\(key): only grant_type password uses it")
            }
        }
        let own = [
            "grant_type", "refresh_token", "username", "password", "scope", "audience", "resource", "client_id", "client_secret",
            "client_assertion", "client_assertion_type",
        ]
        for entry in node["endpoint_params"]?.entries ?? [] where own.contains(entry.key) {
            note(entry.value, "\(path).endpoint_params: \(entry.key) has a key of its own")
        }
        for entry in node["token_headers"]?.entries ?? []
        where ["authorization", "content-type", "content-length", "host", "accept"].contains(entry.key.lowercased()) {
            note(entry.value, "\(path).token_headers: the gateway says \(entry.key) itself")
        }
    }

    private mutating func login(_ node: YAMLNode, at path: String) -> LoginSettings? {
        let fields = self.fields(node["fields"])
        let signIn = node["sign_in"].flatMap { loginCall($0, fields, at: "\(path).sign_in") }
        let refresh = node["refresh"].flatMap { loginCall($0, fields, at: "\(path).refresh") }
        for key in ["sign_in", "refresh"] where node["fields"] == nil && node[key] != nil && node[key]?["fields"] == nil {
            note(node[key], "\(path).\(key): needs fields, here or beside it")
        }
        if node["sign_in"] == nil, node["refresh"] == nil { note(node, "\(path): needs sign_in or refresh") }
        if let call = signIn?.call, call.texts.contains(where: { TemplateText($0).usesToken || TemplateText($0).usesRefreshToken }) {
            note(node["sign_in"], "\(path).sign_in: there is no token yet: {token} and {refresh_token} belong into refresh")
        }
        var settings = LoginSettings(signIn: signIn, refresh: refresh)
        judging(node, &settings, at: path)
        settings.refusalCodes = texts(node["refusal_codes"])
        settings.transientCodes = texts(node["transient_codes"])
        for code in node["transient_codes"]?.items ?? [] {
            if let text = code.text, settings.refusalCodes.contains(text) {
                note(code, "\(path).transient_codes: \(quoted(text)) is one of refusal_codes too")
            }
        }
        for key in ["refusal_codes", "transient_codes"] where !(node[key]?.items ?? []).isEmpty {
            if node["success"] == nil {
                note(node[key], "\(path).\(key): without success no answer is refused by a code")
            } else if settings.success != nil, settings.codePath == nil {
                note(node[key], "\(path).\(key): needs code: success looks at more than one field")
            }
        }
        if let statuses = node["refusal_statuses"] {
            settings.refusalStatuses = statuses.items.compactMap { $0.integer.map { UInt16(clamping: $0) } }
        }
        settings.caFile = node["ca"]?.text
        return signIn == nil && refresh == nil ? nil : settings
    }

    /// What tells success, and where the code of a failure is.
    private mutating func judging(_ node: YAMLNode, _ settings: inout LoginSettings, at path: String) {
        let preset = node["success"]?.text.flatMap { EnvelopePreset.named($0) }
        if let success = node["success"] { settings.success = preset?.success ?? self.success(success, at: "\(path).success") }
        let paths = Set(settings.success?.paths ?? [])
        settings.codePath = node["code"]?.text.flatMap { JSONPath($0) } ?? preset?.codePath ?? (paths.count == 1 ? paths.first : nil)
        if node["code"] != nil, node["success"] == nil { note(node["code"], "\(path).code: only success makes codes of use") }
        guard let success = settings.success else { return }
        if success.testCount > SuccessPredicate.testsMax {
            note(node["success"], "\(path).success: more than \(SuccessPredicate.testsMax) tests")
        } else if paths.count > JSONPathSet.pathsMax - LoginSettings.otherPathsMax {
            note(node["success"], "\(path).success: more than \(JSONPathSet.pathsMax - LoginSettings.otherPathsMax) different paths")
        }
    }

    private mutating func loginCall(_ node: YAMLNode, _ fields: TokenFields?, at path: String) -> LoginCall? {
        let call = self.call(node, at: path)
        let own = node["fields"].map { self.fields($0) } ?? fields
        guard let call, let own else { return nil }
        return LoginCall(call, fields: own)
    }

    private func fields(_ node: YAMLNode?) -> TokenFields? {
        guard let token = node?["token"]?.text.flatMap({ JSONPath($0) }) else { return nil }
        var fields = TokenFields(token: token)
        fields.refreshToken = node?["refresh_token"]?.text.flatMap { JSONPath($0) }
        fields.expiresIn = node?["expires_in"]?.text.flatMap { JSONPath($0) }
        fields.expiresAt = node?["expires_at"]?.text.flatMap { JSONPath($0) }
        return fields
    }

    private mutating func call(_ node: YAMLNode, at path: String) -> TokenCall? {
        let headers = templateHeaders(node["headers"], at: "\(path).headers")
        warnClearText(node["url"], at: "\(path).url")
        guard let url = node["url"]?.text else { return nil }
        noteVariables(node["url"])
        var call = TokenCall(url: url)
        call.method = node["method"]?.text ?? call.method
        call.headers = headers
        if let json = node["json"] {
            warnLiterals(json, at: "\(path).json")
            call.body = .json(template(json))
        } else if let form = node["form"] {
            call.body = .form(pairs(form, at: "\(path).form"))
        }
        if call.method == "GET" || call.method == "HEAD", node["json"] != nil || node["form"] != nil {
            note(node["method"], "\(path).method: a \(call.method) carries no body")
        }
        return call
    }

    // MARK: Templates

    private mutating func pairs(_ node: YAMLNode?, at path: String) -> [(name: String, value: String)] {
        guard let node else { return [] }
        warnLiterals(node, at: path)
        return node.entries.compactMap { entry in entry.value.text.map { (entry.key, $0) } }
    }

    private mutating func templateHeaders(_ node: YAMLNode?, at path: String) -> [(name: String, value: String)] {
        for entry in node?.entries ?? [] { noteVariables(entry.value) }
        return headers(node, at: path, areTemplates: true)
    }

    /// Variables that a template refers to.
    private mutating func noteVariables(_ node: YAMLNode?) {
        guard let node, let text = node.text else { return }
        for case .environment(let name) in TemplateText(text).references { variables.append((name, node.origin)) }
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
                warn(entry.value, "\(entryPath): looks like a secret in the file: better env:NAME or file:PATH")
            }
            noteVariables(entry.value)
            warnLiterals(entry.value, at: entryPath)
        }
        for (index, item) in node.items.enumerated() {
            noteVariables(item)
            warnLiterals(item, at: "\(path)[\(index)]")
        }
    }

    private mutating func warnClearText(_ node: YAMLNode?, at path: String) {
        if let url = node?.text, isClearText(url) { warn(node, "\(path): http sends secrets in clear text") }
    }
}
