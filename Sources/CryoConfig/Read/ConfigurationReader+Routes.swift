// Owns building routes, and the problems between routes and what they name.
// Domain: cold

import CryoPipeline

extension ConfigurationReader {
    mutating func routes(_ root: YAMLNode) -> [RouteSettings] {
        if let list = root["routes"], case .sequence(let items) = list.content, items.isEmpty {
            note(list, "routes: needs at least one route")
        }
        var routes: [RouteSettings] = []
        for (index, node) in (root["routes"]?.items ?? []).enumerated() {
            let path = "routes[\(index)]"
            reference(node["upstream"], to: root["upstreams"], "upstream", at: path)
            if node["token"]?.text != "none" { reference(node["token"], to: root["tokens"], "token", at: path) }
            if node["policy"]?.text != "none" { reference(node["policy"], to: root["policies"], "policy", at: path) }
            guard let route = route(node, at: path) else { continue }
            checkSelection(route, node, root, at: path)
            if routes.contains(where: { $0.name == route.name }) {
                note(node["name"], "\(path).name: the name \(quoted(route.name)) is taken by an earlier route")
            }
            if let earlier = routes.first(where: { hides($0, route) }) {
                let message = "route \(quoted(earlier.name)) takes all its requests"
                if earlier.upstream == route.upstream {
                    note(node["path"], "\(path).path: never reached: \(message)")
                } else {
                    // A request that names the upstream itself (`curl -x`) considers that upstream's routes only.
                    warn(node["path"], "\(path).path: reached by requests that name the upstream only: \(message)")
                }
            }
            routes.append(route)
        }
        return routes
    }

    private mutating func reference(_ node: YAMLNode?, to section: YAMLNode?, _ kind: String, at path: String) {
        guard let name = node?.text else { return }
        let names = section?.entries.map(\.key) ?? []
        guard !names.contains(name) else { return }
        note(
            node, "\(path).\(kind): there is no \(kind) \(quoted(name))",
            suggestion: suggestion(for: name, among: kind == "upstream" ? names : names + ["none"]))
    }

    /// Whether the route's token, its policy and what requests may choose go together.
    private mutating func checkSelection(_ route: RouteSettings, _ node: YAMLNode, _ root: YAMLNode, at path: String) {
        if route.auth == .required, route.token == nil, !route.allowedOverrides.contains(.token) {
            note(node["auth"], "\(path).auth: required, but the route has no token")
        }
        guard let token = route.token, let settings = root["tokens"]?[token] else { return }
        let upstreams = texts(settings["upstreams"])
        if !upstreams.isEmpty, !upstreams.contains(route.upstream) {
            note(node["token"], "\(path).token: tokens.\(token).upstreams does not list \(route.upstream)")
        }
        let isJudged = route.policy.map { root["policies"]?[$0]?["reply"]?.text != "raw" } ?? false
        if !(settings["refresh"]?["on_business_codes"]?.items ?? []).isEmpty, !isJudged {
            warn(node["token"], "\(path).token: its refresh.on_business_codes need a policy that judges the answers")
        }
    }

    private mutating func route(_ node: YAMLNode, at path: String) -> RouteSettings? {
        guard let name = node["name"]?.text, let pattern = node["path"]?.text else { return nil }
        var route = RouteSettings(name: name, path: pattern, upstream: node["upstream"]?.text ?? "")
        route.host = node["host"]?.text.flatMap { try? parseHost($0) }
        route.methods = texts(node["methods"])
        route.token = node["token"]?.text.flatMap { $0 == "none" ? nil : $0 }
        if let auth = node["auth"]?.text { route.auth = RouteSettings.Auth(rawValue: auth) }
        route.allowedOverrides = texts(node["allow_override"]).compactMap { RouteSettings.Override(rawValue: $0) }
        route.policy = node["policy"]?.text.flatMap { $0 == "none" ? nil : $0 }
        route.stripPrefix = node["strip_prefix"]?.text
        if let prefix = route.stripPrefix, pattern != prefix, !pattern.hasPrefix(prefix + "/") {
            note(node["strip_prefix"], "\(path).strip_prefix: path does not begin with it")
        }
        route.drillPath = node["drill"]?.text
        if let drill = route.drillPath {
            if !PathPattern(pattern).matches(drill) { note(node["drill"], "\(path).drill: not a path of this route") }
            if route.token == nil { note(node["drill"], "\(path).drill: the route has no token") }
            if !route.methods.isEmpty, !route.methods.contains("GET") { note(node["drill"], "\(path).drill: the route takes no GET") }
        }
        route.retry = retry(node["retry"])
        route.streams = streams(node["streams"], at: "\(path).streams")
        route.limits = limits(node["limits"], at: "\(path).limits")
        route.cors = cors(node["cors"])
        route.rewrite.location = node["rewrite"]?["location"]?.boolean ?? false
        route.rewrite.cookies = node["rewrite"]?["cookies"]?.boolean ?? false
        return route
    }

    private func cors(_ node: YAMLNode?) -> CORSSettings {
        var settings = CORSSettings()
        settings.origins = texts(node?["origins"]).compactMap { try? parseBrowserOrigin($0) }
        settings.methods = texts(node?["methods"])
        settings.headers = texts(node?["headers"])
        settings.exposedHeaders = texts(node?["expose_headers"])
        settings.allowsCredentials = node?["credentials"]?.boolean ?? settings.allowsCredentials
        assign(node?["max_age_s"], to: &settings.maxAgeSeconds)
        return settings
    }

    private mutating func limits(_ node: YAMLNode?, at path: String) -> RouteLimitSettings {
        var settings = RouteLimitSettings()
        assign(node?["concurrent"], to: &settings.concurrent)
        settings.requestsPerSecond = node?["requests_per_second"]?.decimal ?? settings.requestsPerSecond
        assign(node?["burst"], to: &settings.burst)
        if settings.requestsPerSecond > 0, settings.requestsPerSecond < 0.001 {
            note(node?["requests_per_second"], "\(path).requests_per_second: less than 0.001")
        }
        if let burst = node?["burst"], settings.requestsPerSecond <= 0 { note(burst, "\(path).burst: needs requests_per_second") }
        return settings
    }

    private func retry(_ node: YAMLNode?) -> RetrySettings {
        var settings = RetrySettings()
        assign(node?["limit"], to: &settings.limit)
        settings.base = node?["base"]?.decimal ?? settings.base
        assign(node?["scale_ms"], to: &settings.scaleMilliseconds)
        assign(node?["max_delay_ms"], to: &settings.delayMillisecondsMax)
        choose(node?["jitter"], &settings.jitter)
        if let methods = node?["methods"] { settings.methods = texts(methods) }
        if let conditions = node?["on"] { settings.conditions = texts(conditions).compactMap { RetryCondition($0) } }
        assign(node?["budget_percent"], to: &settings.budgetPercent)
        assign(node?["budget_min"], to: &settings.budgetMin)
        return settings
    }

    /// Same host and path, and no method is left for the later one.
    private func hides(_ earlier: RouteSettings, _ later: RouteSettings) -> Bool {
        guard earlier.path == later.path, earlier.host == later.host else { return false }
        if earlier.methods.isEmpty { return true }
        return !later.methods.isEmpty && later.methods.allSatisfy(earlier.methods.contains)
    }
}
