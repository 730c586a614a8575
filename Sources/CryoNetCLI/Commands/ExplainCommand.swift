// explain: what a configuration makes of one request: route, token, headers, policy, retries. Nothing is sent.
// Domain: cold

import CryoConfig
import CryoHTTP
import CryoJSON
import CryoPipeline
import CryoRecord
import Glibc

extension CommandLineInterface {
    static let explainCommand = Command(
        name: "explain", summary: "say which route a request takes and what is done to it, without sending it", operands: "[METHOD] URL",
        operandsMax: 2,
        options: [
            Option(name: "--config", value: "FILE", help: "the configuration; default cryonet.yaml"),
            Option(name: "-c", value: "FILE", help: "the same"),
            Option(name: "--header", value: "LINE", help: "'Name: value' of the request; may be repeated"),
            Option(name: "-H", value: "LINE", help: "the same"), Option(name: "--json", value: nil, help: "print it as JSON"),
        ],
        examples: [
            "cryonet explain /news/list?page=2", "cryonet explain POST http://127.0.0.1:8080/auth/login -c cryonet.yaml",
            "cryonet explain GET /news -H 'Origin: https://app.example.com'",
        ],
        notes: """
            A URL of another host than the gateway's is what a client with a proxy setting sends. Exit status: 0 when a route takes the request,
            1 when it is refused.
            """
    ) { arguments throws(UsageError) in
        guard let url = arguments.operands.last else { throw UsageError(message: "the URL is missing") }
        let method = arguments.operands.count == 2 ? arguments.operands[0].uppercased() : "GET"
        guard let loaded = AuditInput.configuration(arguments) else { return ExitStatus.failed }
        let lines = arguments.all("--header") + arguments.all("-H")
        let question = try ExplainedRequest(method: method, url: url, lines: lines, loaded.configuration)
        guard let answer = question.answer(loaded.configuration) else { return ExitStatus.failed }
        if arguments.has("--json") { print(answer.json()) } else { answer.printText() }
        return answer.isTaken ? ExitStatus.done : ExitStatus.failed
    }
}

/// The request as the gateway would read it.
private struct ExplainedRequest {
    let bytes: [UInt8]

    init(method: String, url: String, lines: [String], _ configuration: GatewayConfiguration) throws(UsageError) {
        var target = url
        var host = "localhost"
        if let scheme = ["http://", "https://"].first(where: { url.lowercased().hasPrefix($0) }) {
            let rest = url.dropFirst(scheme.count)
            let authority = rest.prefix { $0 != "/" && $0 != "?" }
            let path = rest[authority.endIndex...]
            let name = authority.hasPrefix("[") ? authority.prefix { $0 != "]" } + "]" : authority.prefix { $0 != ":" }
            host = String(authority)
            let isOwn = configuration.listen.hosts.contains { $0.lowercased() == name.lowercased() }
            if isOwn { target = path.hasPrefix("/") ? String(path) : "/\(path)" }
        } else if !url.hasPrefix("/"), url != "*" {
            throw UsageError(message: "\(PrintableText.text(url)): a URL, or a path that begins with /")
        }
        let given = lines.map { $0.prefix { $0 != ":" }.lowercased() }
        var text = "\(method) \(target) HTTP/1.1\r\n"
        if !given.contains("host") { text += "Host: \(host)\r\n" }
        for line in lines {
            guard line.contains(":") else { throw UsageError(message: "--header needs 'Name: value'") }
            text += "\(line)\r\n"
        }
        bytes = Array("\(text)\r\n".utf8)
    }

    /// nil after it was told what is wrong with the configuration.
    func answer(_ configuration: GatewayConfiguration) -> RequestExplanation? {
        let upstreams = configuration.upstreams.map { UpstreamPlan($0) }
        var routes: [RoutePlan] = []
        for settings in configuration.routes {
            guard let upstream = upstreams.first(where: { $0.settings.name == settings.upstream }) else { continue }
            routes.append(RoutePlan(settings, upstream: upstream, credentials: nil, policy: nil))
        }
        // A key that is configured is taken to be shown: the question is about the rest.
        let plan = PipelinePlan(
            routes: routes, upstreams: upstreams, credentials: [], hosts: configuration.listen.hosts, audit: nil, auditSink: nil,
            limits: configuration.limits, connect: configuration.listen.connect)
        var port: UInt16 = 0
        if case .tcp(_, let listening) = configuration.listen.address { port = listening }
        var parser = RequestParser()
        switch bytes.withUnsafeBytes({ parser.parse($0) }) {
        case .head(let head, _):
            return RequestExplanation(head, RouteProbe.explain(head, in: plan, localPort: port), configuration)
        case .refused(let refusal):
            print(error: "refused with \(refusal.status): \(refusal.reason)")
            return nil
        case .needsMore:
            print(error: "this is no whole request")
            return nil
        }
    }
}

/// What is said, as pairs of a heading and its lines.
private struct RequestExplanation {
    private(set) var isTaken = false
    private var lines: [(name: String, text: String)] = []

    init(_ head: RequestHead, _ explanation: RouteProbe.Explanation, _ configuration: GatewayConfiguration) {
        let bytes = head.fields.bytes
        add("request", "\(String(decoding: bytes[head.method], as: UTF8.self)) \(String(decoding: bytes[head.target], as: UTF8.self))")
        add("host", String(decoding: head.fields.value(of: "host") ?? [], as: UTF8.self))
        var isDecided = false
        for (settings, mismatch) in explanation.routes {
            let what = "\(settings.name) (\(settings.path)\(settings.host.map { ", host \($0)" } ?? ""))"
            if isDecided {
                add("route", "\(what): not looked at")
            } else if let mismatch {
                add("route", "\(what): no, \(Self.text(mismatch, settings))")
            } else {
                isDecided = true
                add("route", "\(what): yes")
            }
        }
        if configuration.clientKey != nil { add("client key", "needed in X-CryoNet-Key; taken to be there") }
        switch explanation.verdict {
        case .refused(let reason, let status, let detail): add("refused", "\(status) \(reason.rawValue): \(detail)")
        case .answered: add("answered", "204 by the gateway itself")
        case .tunnel(let upstream): add("tunnel", "bytes both ways to upstream \(upstream), without token or policy")
        case .preflight(let way): add("answered", "204 by the gateway: a preflight for route \(way.name)")
        case .matched(let way): explain(way, bytes, head, configuration)
        }
        if case .refused = explanation.verdict { return }
        isTaken = true
    }

    private mutating func add(_ name: String, _ text: String) { lines.append((name, text)) }

    private static func text(_ mismatch: RouteProbe.Mismatch, _ settings: RouteSettings) -> String {
        switch mismatch {
        case .path: "the path is another"
        case .method: "only \(settings.methods.joined(separator: ", "))"
        case .host: "the host is another"
        case .upstream: "the target names another upstream"
        }
    }

    private mutating func explain(
        _ way: RouteProbe.Way, _ bytes: FieldSection.Bytes, _ head: RequestHead, _ configuration: GatewayConfiguration
    ) {
        guard let route = configuration.routes.first(where: { $0.name == way.name }),
            let upstream = configuration.upstreams.first(where: { $0.name == route.upstream })
        else { return }
        var path = String(decoding: bytes[way.path], as: UTF8.self)
        let query = String(decoding: bytes[way.path.upperBound..<head.target.upperBound], as: UTF8.self)
        var url = upstream.url.origin
        if !way.isAbsolute {
            if let strip = route.stripPrefix, path.hasPrefix(strip) {
                path = String(path.dropFirst(strip.count))
                if !path.hasPrefix("/") { path = "/" + path }
            }
            url += upstream.url.basePath
        }
        add("upstream", "\(upstream.name): \(url)\(path)\(query)")
        explainToken(route, head, configuration)
        for header in upstream.headers {
            let isThere = Self.has(header.name, head)
            add("header", "\(header.name): \(isThere ? "the client's is kept" : "set to \(header.value)")")
        }
        add("header", "Connection, its options, and hop-by-hop fields are dropped; Via, X-Forwarded-* and X-Request-Id are set")
        explainPolicy(route, configuration)
        explainRetry(route, upstream)
        if !route.cors.origins.isEmpty { add("cors", "pages of \(route.cors.origins.joined(separator: ", ")) may use it") }
    }

    private mutating func explainToken(_ route: RouteSettings, _ head: RequestHead, _ configuration: GatewayConfiguration) {
        guard let name = route.token, route.auth != RouteSettings.Auth.none,
            let token = configuration.tokens.first(where: { $0.name == name })
        else { return add("token", "none is injected") }
        let inject = token.inject
        let value = inject.format.split(separator: "{token}", maxSplits: 1, omittingEmptySubsequences: false).joined(separator: "…")
        add(
            "token",
            "\(name) (\(token.source.name)) as \(inject.place.rawValue) \(inject.name): \(value)\(route.auth == .optional ? ", if there is one" : "")"
        )
        if inject.place == .header, Self.has(inject.name, head) {
            add("token", "the client's own \(inject.name): \(inject.onClientValue.rawValue)")
        }
        let statuses = token.refresh.onStatus.map { String($0) }
        let codes = token.refresh.onBusinessCodes.map { "code \($0)" }
        add("refresh", "on \((statuses + codes).joined(separator: ", ")), once for everybody, then the same request again")
    }

    private mutating func explainPolicy(_ route: RouteSettings, _ configuration: GatewayConfiguration) {
        guard let name = route.policy, let policy = configuration.policies.first(where: { $0.name == name }) else {
            return add("policy", "none: answers pass through")
        }
        add(
            "policy",
            "\(name): \(policy.success == nil ? "every JSON answer is a success" : "envelopes are judged"), reply \(policy.view.rawValue)")
        add("policy", "failures become \(policy.failureStatus); bodies up to \(policy.bodyBytesMax) bytes are judged")
        if !policy.sessionExpiredCodes.isEmpty {
            add("policy", "codes that end the login: \(policy.sessionExpiredCodes.joined(separator: ", "))")
        }
    }

    private mutating func explainRetry(_ route: RouteSettings, _ upstream: UpstreamSettings) {
        let timeouts = upstream.timeouts
        add(
            "timeouts",
            "connect \(timeouts.connectMilliseconds) ms, response \(timeouts.responseMilliseconds) ms, total \(timeouts.totalMilliseconds) ms"
        )
        guard route.retry.limit > 0 else { return add("retry", "off") }
        add("retry", "up to \(route.retry.limit) times, \(route.retry.methods.joined(separator: ", "))")
    }

    private static func has(_ name: String, _ head: RequestHead) -> Bool {
        head.fields.lines.contains { line in
            !line.isRemoved && String(decoding: head.fields.bytes[line.name], as: UTF8.self).lowercased() == name.lowercased()
        }
    }

    // MARK: Printing

    func printText() {
        let width = lines.map(\.name.count).max() ?? 0
        var last = ""
        for (name, text) in lines {
            let heading = name == last ? "" : name
            print("\(heading)\(String(repeating: " ", count: width - heading.count))  \(PrintableText.text(text))")
            last = name
        }
    }

    func json() -> String {
        var writer = JSONWriter()
        writer.beginObject()
        writer.field("taken", isTaken)
        writer.key("explanation")
        writer.beginArray()
        for (name, text) in lines {
            writer.beginObject()
            writer.field("about", name)
            writer.field("text", text)
            writer.endObject()
        }
        writer.endArray()
        writer.endObject()
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}
