// How commands reach the gateway that a configuration describes, and the upstream behind a route.
// Domain: cold

import CryoConfig
import CryoPipeline
import CryoRecord
import CryoTokens

struct GatewayAddress {
    /// Without a path.
    let base: String
    let unixSocket: String?

    /// nil for a port that the system chose.
    init?(_ listen: ListenSettings) {
        let scheme = listen.tls == nil ? "http" : "https"
        switch listen.address {
        case .unix(let path):
            base = "\(scheme)://localhost"
            unixSocket = path
        case .tcp(let host, let port):
            guard port != 0 else { return nil }
            // A wildcard address is reached on the loopback interface.
            let name = host == "0.0.0.0" ? "127.0.0.1" : host == "::" ? "::1" : host
            base = "\(scheme)://\(name.contains(":") ? "[\(name)]" : name):\(port)"
            unixSocket = nil
        }
    }

    /// `http://127.0.0.1:8080`, `127.0.0.1:8080`, `unix:/path`.
    init?(_ text: String) {
        if text.hasPrefix("unix:/") {
            base = "http://localhost"
            unixSocket = String(text.dropFirst(5))
            return
        }
        let hasScheme = text.hasPrefix("http://") || text.hasPrefix("https://")
        let url = hasScheme ? text : "http://\(text)"
        let rest = url.drop { $0 != ":" }.dropFirst(3)
        let authority = rest.prefix { $0 != "/" }
        guard !authority.isEmpty, rest.count - authority.count <= 1, url.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { return nil }
        base = url.hasSuffix("/") ? String(url.dropLast()) : url
        unixSocket = nil
    }

    /// Where a recorded request goes once more, through the gateway.
    func destination(_ request: RecordedRequest) -> RequestDestination {
        var destination = RequestDestination(base: base, unixSocket: unixSocket)
        guard let host = request.host?.lowercased() else { return destination }
        // Routes may go by the host. The gateway's own names need not be said, and their port may be another one now.
        let isOwn = ["localhost", "127.0.0.1", "[::1]"].contains { host == $0 || host.hasPrefix("\($0):") }
        if !isOwn, "http://\(host)" != base, "https://\(host)" != base { destination.host = request.host }
        return destination
    }
}

extension RequestDestination {
    /// The upstream of a record, with what the gateway adds on the way. `reveals`: with the token itself, where the configuration says
    /// what it is; `problems` tells where it does not.
    static func upstream(
        of record: RecordView, in configuration: GatewayConfiguration, injects: Bool, reveals: Bool, problems: inout [String]
    ) -> RequestDestination? {
        guard let name = record.upstream, let upstream = configuration.upstreams.first(where: { $0.name == name }) else {
            problems.append("the configuration has no upstream \(PrintableText.text(record.upstream ?? "-"))")
            return nil
        }
        var destination = RequestDestination(base: upstream.url.origin + upstream.url.basePath, isDirect: true)
        let route = configuration.routes.first { $0.name == record.route }
        destination.strippedPrefix = route?.stripPrefix ?? ""
        for header in upstream.headers where record.requestField(header.name) == nil {
            destination.fields.append((name: header.name, value: [.text(header.value)]))
        }
        guard injects, let route, route.auth != RouteSettings.Auth.none,
            let token = configuration.tokens.first(where: { $0.name == route.token })
        else { return destination }
        var value: [UInt8]?
        if reveals {
            switch resolve(token) {
            case .success(let secret): value = secret.withBytes { $0 }
            case .failure(let problem): problems.append("the token \(token.name) is not revealed: \(problem.text)")
            }
        }
        let inject = token.inject
        let parts = inject.format.split(separator: "{token}", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        var secret: [Part] = [.text(parts.first ?? ""), .secret(variable: "TOKEN", value: value), .text(parts.count > 1 ? parts[1] : "")]
        switch inject.place {
        case .header: destination.fields.append((name: inject.name, value: secret))
        case .cookie:
            secret.insert(.text("\(inject.name)="), at: 0)
            destination.fields.append((name: "Cookie", value: secret))
        case .query: problems.append("the gateway adds \(inject.name) with the token to the query")
        }
        return destination
    }

    private struct NotRevealed: Error { let text: String }

    private static func resolve(_ token: TokenSettings) -> Result<Secret, NotRevealed> {
        let resolved: Result<Secret, TokenProblem>
        switch token.source {
        case .fixed(let reference): resolved = SecretResolver.resolve(reference)
        case .environment(let name): resolved = SecretResolver.environment(name)
        case .file(let path): resolved = SecretResolver.file(path)
        case .exec, .oauth2, .login:
            return .failure(NotRevealed(text: "its source is \(token.source.name), only the gateway knows it"))
        }
        return resolved.mapError { NotRevealed(text: "\($0)") }
    }
}
