// Owns the way from bytes to an immutable configuration: parse, merge, check, build. All problems are collected; the builders
// run over a broken document too and leave out what they cannot read, because the check has reported it.
// Domain: cold

import CryoPipeline

/// Reads a configuration. `environment` looks a variable up; files that secrets refer to are not opened.
package func readConfiguration(
    _ bytes: [UInt8], fileName: String, overrides: [ConfigurationOverride] = [], environment: (String) -> String?
) -> Result<LoadedConfiguration, ConfigurationProblems> {
    let document = YAMLDocument(bytes)
    guard document.problems.isEmpty else {
        return .failure(
            ConfigurationProblems(
                problems: document.problems.map {
                    ConfigurationProblem(fileName: fileName, origin: .file($0.mark), message: $0.message)
                }))
    }
    let empty = YAMLNode(.mapping([]), .file(YAMLMark(line: 1, column: 1)))
    var root = document.root ?? empty
    if root.isNull { root = empty }
    let problems = root.apply(overrides, environment: environment, fileName: fileName)
    return readConfiguration(root, fileName: fileName, problems: problems, environment: environment)
}

/// Checks and builds a document that is complete.
func readConfiguration(
    _ root: YAMLNode, fileName: String, problems: [ConfigurationProblem], environment: (String) -> String?
) -> Result<LoadedConfiguration, ConfigurationProblems> {
    var check = CatalogueCheck(fileName: fileName)
    check.check(root, .section(Catalogue.root), at: "")
    var reader = ConfigurationReader(fileName: fileName)
    let configuration = reader.configuration(root)
    let all = sorted(problems + check.problems + reader.problems)
    guard all.isEmpty else { return .failure(ConfigurationProblems(problems: all)) }
    reader.warnUnset(environment)
    return .success(
        LoadedConfiguration(
            configuration: configuration, warnings: sorted(reader.warnings), fileName: fileName, document: root))
}

private func sorted(_ problems: [ConfigurationProblem]) -> [ConfigurationProblem] {
    // The index keeps the order of equal places.
    problems.enumerated().sorted {
        ($0.element.order.0, $0.element.order.1, $0.offset) < ($1.element.order.0, $1.element.order.1, $1.offset)
    }
    .map(\.element)
}

/// Builds settings and checks what spans several values: references, duplicates, pairs of keys.
struct ConfigurationReader {
    let fileName: String
    var problems: [ConfigurationProblem] = []
    var warnings: [ConfigurationProblem] = []
    /// Variables that secrets refer to, with the place of the reference.
    var variables: [(name: String, origin: ConfigurationOrigin)] = []

    init(fileName: String) { self.fileName = fileName }

    mutating func configuration(_ root: YAMLNode) -> GatewayConfiguration {
        var configuration = GatewayConfiguration(listen: listen(root["listen"], at: "listen"))
        configuration.clientKey = secret(root["listen"]?["client_key"], at: "listen.client_key")
        configuration.limits = limits(root["limits"])
        if let workers = root["workers"]?.integer { configuration.workers = Int(workers) }
        configuration.admin = root["admin"].map { listen($0, at: "admin") }
        configuration.adminKey = secret(root["admin"]?["key"], at: "admin.key")
        if let admin = configuration.admin, admin.address == configuration.listen.address, !usesAnyPort(admin.address) {
            note(root["admin"]?["address"], "admin.address: listen has the same address")
        }
        configuration.upstreams = entries(root["upstreams"]).compactMap { upstream($0.key, $0.value) }
        if let upstreams = root["upstreams"], upstreams.isMapping, upstreams.entries.isEmpty {
            note(upstreams, "upstreams: needs at least one upstream")
        }
        configuration.tokens = entries(root["tokens"]).compactMap { token($0.key, $0.value) }
        refuseSharedFiles(root["tokens"])
        for entry in root["tokens"]?.entries ?? [] {
            let names = root["upstreams"]?.entries.map(\.key) ?? []
            for (index, item) in (entry.value["upstreams"]?.items ?? []).enumerated() {
                guard let name = item.text, !names.contains(name) else { continue }
                note(
                    item, "tokens.\(entry.key).upstreams[\(index)]: there is no upstream \(quoted(name))",
                    suggestion: suggestion(for: name, among: names))
            }
        }
        configuration.policies = entries(root["policies"]).map { policy($0.key, $0.value) }
        configuration.routes = routes(root)
        // A route that names a host says that the gateway answers for it.
        for case let host? in configuration.routes.map(\.host) where !configuration.listen.hosts.contains(host) {
            configuration.listen.hosts.append(host)
        }
        configuration.audit = root["audit"].flatMap { audit($0) }
        configuration.tracing = tracing(root["tracing"])
        configuration.echo = root["secrets"]?["echo"]?.text.flatMap { EchoMode(rawValue: $0) } ?? .off
        return configuration
    }

    /// `none` says that a route has no token or no policy, so nothing can have that name.
    private mutating func entries(_ node: YAMLNode?) -> [YAMLEntry] {
        let entries = node?.entries ?? []
        for entry in entries where entry.key == "none" {
            problems.append(
                ConfigurationProblem(fileName: fileName, origin: entry.keyOrigin, message: "\"none\" cannot be a name: it means nothing"))
        }
        return entries
    }

    // MARK: listen, limits, audit

    private mutating func listen(_ node: YAMLNode?, at path: String) -> ListenSettings {
        let address = node?["address"]?.text.flatMap { try? parseListenAddress($0) }
        var settings = ListenSettings(address: address ?? .tcp(host: "127.0.0.1", port: 0))
        for host in node?["hosts"]?.items ?? [] {
            guard let text = host.text, let name = try? parseHost(text), !settings.hosts.contains(name) else { continue }
            settings.hosts.append(name)
        }
        settings.allowsRemote = node?["unsafe_listen"]?.boolean ?? false
        settings.trustedProxies = texts(node?["trusted_proxies"]).compactMap { AddressBlock($0) }
        choose(node?["half_close"], &settings.halfClose)
        choose(node?["connect"], &settings.connect)
        listenDoor(node, at: path, &settings)
        // Clients that must show a certificate are known ones, wherever they are.
        guard let address, !isLoopback(address), settings.tls?.clientCAFile == nil else { return settings }
        if node?["client_key"] != nil {
            if settings.tls == nil {
                warn(node?["address"], "\(path).address: others can reach it, and without TLS the client key travels in clear text")
            }
        } else if settings.allowsRemote {
            warn(node?["unsafe_listen"], "\(path).unsafe_listen: whoever can reach this address uses the tokens")
        } else {
            note(
                node?["address"],
                "\(path).address: not a loopback address: others could use the tokens; say unsafe_listen: true if that is meant")
        }
        return settings
    }

    /// Who may connect: tls, mode, peer_uid.
    private mutating func listenDoor(_ node: YAMLNode?, at path: String, _ settings: inout ListenSettings) {
        if let certificate = node?["tls"]?["certificate"]?.text, let key = node?["tls"]?["key"]?.text {
            settings.tls = ListenSettings.TLS(
                certificateFile: certificate, keyFile: key, clientCAFile: node?["tls"]?["client_ca"]?.text)
        }
        if let mode = node?["mode"]?.text.flatMap({ try? parseFileMode($0) }) { settings.mode = mode }
        settings.peerUIDs = node?["peer_uid"]?.items.compactMap { $0.integer.map { UInt32(clamping: $0) } } ?? []
        if case .tcp = settings.address, !settings.peerUIDs.isEmpty {
            note(node?["peer_uid"], "\(path).peer_uid: only a unix socket tells who connects")
        }
    }

    private func usesAnyPort(_ address: ListenSettings.Address) -> Bool {
        if case .tcp(_, 0) = address { true } else { false }
    }

    private func limits(_ node: YAMLNode?) -> LimitSettings {
        var settings = LimitSettings()
        assign(node?["head_bytes_max"], to: &settings.headBytesMax)
        assign(node?["body_bytes_max"], to: &settings.bodyBytesMax)
        assign(node?["head_timeout_ms"], to: &settings.headTimeoutMilliseconds)
        assign(node?["body_timeout_ms"], to: &settings.bodyTimeoutMilliseconds)
        assign(node?["idle_timeout_ms"], to: &settings.idleTimeoutMilliseconds)
        assign(node?["write_timeout_ms"], to: &settings.writeTimeoutMilliseconds)
        assign(node?["connections_max"], to: &settings.connectionsMax)
        assign(node?["drain_timeout_ms"], to: &settings.drainTimeoutMilliseconds)
        return settings
    }

    // MARK: problems

    mutating func note(_ node: YAMLNode?, _ message: String, suggestion: String? = nil) {
        guard let node else { return }
        problems.append(
            ConfigurationProblem(fileName: fileName, origin: node.origin, message: message, suggestion: suggestion))
    }

    mutating func warn(_ node: YAMLNode?, _ message: String) {
        guard let node else { return }
        warnings.append(ConfigurationProblem(fileName: fileName, origin: node.origin, message: message))
    }

    mutating func warnUnset(_ environment: (String) -> String?) {
        for variable in variables where environment(variable.name) ?? "" == "" {
            warnings.append(
                ConfigurationProblem(
                    fileName: fileName, origin: variable.origin, message: "the environment variable \(variable.name) is not set"))
        }
    }

    mutating func secret(_ node: YAMLNode?, at path: String) -> SecretReference? {
        guard let node, let text = node.text, let reference = try? parseSecretReference(text) else { return nil }
        switch reference {
        case .literal: warn(node, "\(path): a literal secret: better env:NAME or file:PATH")
        case .environment(let name): variables.append((name, node.origin))
        case .file: break
        }
        return reference
    }
}

// MARK: values

/// Values out of range have been reported; they are clamped so that nothing traps before the report.
func assign<T: FixedWidthInteger>(_ node: YAMLNode?, to value: inout T) {
    if let integer = node?.integer { value = T(clamping: integer) }
}

func choose<T: RawRepresentable>(_ node: YAMLNode?, _ value: inout T) where T.RawValue == String {
    if let choice = node?.text.flatMap(T.init(rawValue:)) { value = choice }
}

/// The texts of a list; nil when the key is absent.
func texts(_ node: YAMLNode?) -> [String] { node?.items.compactMap(\.text) ?? [] }
