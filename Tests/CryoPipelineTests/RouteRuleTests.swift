// Which route a request takes, and whether its Host and Origin may take it (design §10).
// Domain: cold

import CryoHTTP
import Testing

@testable import CryoPipeline

private func upstream(_ name: String, _ url: UpstreamURL) -> UpstreamPlan { UpstreamPlan(UpstreamSettings(name: name, url: url)) }

private let api = upstream("api", UpstreamURL(isTLS: true, host: "api.example.com", port: 443))
private let files = upstream("files", UpstreamURL(isTLS: false, host: "files.test", port: 8000))

private func route(_ name: String, _ path: String, to upstream: UpstreamPlan = api, _ change: (inout RouteSettings) -> Void = { _ in })
    -> RoutePlan
{
    var settings = RouteSettings(name: name, path: path, upstream: upstream.settings.name)
    change(&settings)
    return RoutePlan(settings, upstream: upstream, credentials: nil, policy: nil)
}

private func plan(
    _ routes: [RoutePlan], hosts: [String] = ["localhost", "127.0.0.1", "[::1]"], clientKey: Secret? = nil
) -> PipelinePlan {
    PipelinePlan(
        routes: routes, upstreams: [api, files], credentials: [], hosts: hosts, audit: nil, auditSink: nil, limits: LimitSettings(),
        clientKey: clientKey)
}

/// The route's name, or the reason and status of the refusal.
private func decide(_ plan: PipelinePlan, _ head: RequestHead?) -> String {
    guard let head else { return "unparsed" }
    switch RouteRule(plan: plan, localPort: 8080).decide(head) {
    case .matched(let match): return match.route.settings.name + (match.isAbsolute ? "!" : "")
    case .refused(let reason, let status, _): return "\(reason.rawValue) \(status)"
    case .ping: return "ping"
    case .preflight(let match): return "preflight \(match.route.settings.name)"
    case .keyless: return "keyless"
    case .tunnel(let upstream): return "tunnel \(upstream.settings.name)"
    }
}

@Suite("The route rule")
struct RouteRuleTests {
    private let routes = plan([
        route("all", "/*"), route("api", "/api/*"), route("deep", "/api/v2/*"), route("exact", "/api/v2"),
        route("files", "/files/*", to: files),
    ])

    @Test(
        "the longest prefix on segment borders wins, exact before prefix",
        arguments: [
            ("/", "all"), ("/api", "api"), ("/api/", "api"), ("/apiary", "all"), ("/api/v1", "api"), ("/api/v2", "exact"),
            ("/api/v2/", "deep"), ("/api/v2/x", "deep"), ("/api/v22", "api"), ("/x?a=/api", "all"), ("/%61pi/v1", "api"), ("/API/x", "all"),
            // An encoded slash is data: it ends no segment of a route.
            ("/api%2Fx", "all"), ("/api/q/%2F/x", "api"),
        ])
    func longest(_ target: String, _ name: String) {
        #expect(decide(routes, requestHead(target)) == name)
    }

    @Test(
        "what might leave a prefix is refused before it is matched",
        arguments: ["/api/../x", "/api/%2e%2e/x", "/api/%252e%252e/x", "/api%2F..%2Fx", "/a\\b", "/a/..;x/b"])
    func traversal(_ target: String) {
        let head = requestHead(target)
        if head != nil { #expect(decide(routes, head) == "request_malformed 400") }
    }

    @Test("a path that no route serves is not found")
    func notFound() {
        let plan = plan([route("api", "/api/*"), route("one", "/one")])
        #expect(decide(plan, requestHead("/other")) == "route_not_found 404")
        #expect(decide(plan, requestHead("/one/more")) == "route_not_found 404")
        #expect(decide(plan, requestHead("/one/")) == "route_not_found 404")
    }

    @Test("methods choose, and a method nobody serves is not found")
    func methods() {
        let plan = plan([route("write", "/x") { $0.methods = ["POST", "PUT"] }, route("read", "/*") { $0.methods = ["GET"] }])
        #expect(decide(plan, requestHead("/x", method: "POST")) == "write")
        #expect(decide(plan, requestHead("/x")) == "read")
        #expect(decide(plan, requestHead("/x", method: "DELETE")) == "route_not_found 404")
        #expect(decide(plan, requestHead("/x", method: "post")) == "route_not_found 404")
    }

    @Test("a named host comes before any host, whatever its path")
    func hosts() {
        let plan = plan([route("any", "/api/v2/*"), route("named", "/*") { $0.host = "shop.test" }], hosts: ["localhost", "shop.test"])
        #expect(decide(plan, requestHead("/api/v2/x", host: "shop.test")) == "named")
        #expect(decide(plan, requestHead("/api/v2/x", host: "SHOP.test:8080")) == "named")
        #expect(decide(plan, requestHead("/api/v2/x")) == "any")
        #expect(decide(plan, requestHead("/x")) == "route_not_found 404")
    }

    @Test("only the hosts of the allow-list are answered, with any port and in any case")
    func allowList() {
        for host in ["localhost", "LocalHost:99", "127.0.0.1:8080", "[::1]", "[::1]:8080"] {
            #expect(decide(routes, requestHead("/", host: host)) == "all", "\(host)")
        }
        for host in ["evil.test", "localhost.evil.test", "127.0.0.2", "[::2]", "api.example.com"] {
            #expect(decide(routes, requestHead("/", host: host)) == "host_denied 421", "\(host)")
        }
        #expect(decide(routes, requestHead("/", version: "HTTP/1.0", host: nil)) == "all")
    }

    @Test("absolute targets reach configured upstreams only, and never an open proxy")
    func absolute() {
        #expect(decide(routes, requestHead("http://api.example.com/api/x", host: "api.example.com")) == "api!")
        #expect(decide(routes, requestHead("https://api.example.com:443/x", host: "api.example.com:443")) == "all!")
        #expect(decide(routes, requestHead("http://files.test:8000/files/x", host: "files.test:8000")) == "files!")
        #expect(decide(routes, requestHead("http://files.test/files/x", host: "files.test")) == "host_denied 421")
        #expect(decide(routes, requestHead("http://files.test:8000/api/x", host: "files.test:8000")) == "route_not_found 404")
        #expect(decide(routes, requestHead("http://evil.test/x", host: "evil.test")) == "host_denied 421")
        #expect(decide(routes, requestHead("http://localhost:8080/api/x", host: "localhost:8080")) == "api")
        // Another port of this machine is another server.
        #expect(decide(routes, requestHead("http://localhost/api/x", host: "localhost")) == "host_denied 421")
        #expect(decide(routes, requestHead("http://127.0.0.1:9000/api/x", host: "127.0.0.1:9000")) == "host_denied 421")
        #expect(
            decide(routes, requestHead("api.example.com:443", method: "CONNECT", host: "api.example.com:443")) == "request_malformed 501")
    }

    @Test("TRACE is not supported: it would show the injected token to the client")
    func trace() {
        #expect(decide(routes, requestHead("/api/x", method: "TRACE")) == "request_malformed 501")
    }

    @Test("OPTIONS * asks the gateway itself, under its own names only")
    func asterisk() {
        #expect(decide(routes, requestHead("*", method: "OPTIONS")) == "ping")
        #expect(decide(routes, requestHead("*", method: "OPTIONS", host: "evil.test")) == "host_denied 421")
    }

    @Test(
        "a page of another site is refused",
        arguments: [
            ["Origin: https://evil.test"], ["Origin: null"], ["Origin: http://localhost:3000"], ["Sec-Fetch-Site: cross-site"],
            ["Origin: https://evil.test", "Sec-Fetch-Site: same-origin"], ["Origin: localhost:8080"], ["Origin: ftp://localhost:8080"],
        ])
    func crossSite(_ fields: [String]) {
        #expect(decide(routes, requestHead("/", host: "localhost:8080", fields)) == "origin_denied 403")
    }

    @Test(
        "the own origin passes, and programs that send none",
        arguments: [
            ["Origin: http://localhost:8080"], ["Origin: HTTPS://LOCALHOST:8080"], [], ["Sec-Fetch-Site: same-origin"],
            ["Sec-Fetch-Site: none"],
        ])
    func sameSite(_ fields: [String]) {
        #expect(decide(routes, requestHead("/", host: "localhost:8080", fields)) == "all")
    }

    @Test("cors admits exactly the origins it lists")
    func cors() {
        let plan = plan([route("all", "/*") { $0.cors.origins = ["https://app.test"] }])
        #expect(decide(plan, requestHead("/", ["Origin: https://app.test", "Sec-Fetch-Site: cross-site"])) == "all")
        #expect(decide(plan, requestHead("/", ["Origin: https://app.test:444"])) == "origin_denied 403")
        #expect(decide(plan, requestHead("/", ["Origin: https://evil.test"])) == "origin_denied 403")
        #expect(decide(plan, requestHead("/", ["Origin: null"])) == "origin_denied 403")
        #expect(decide(plan, requestHead("/", ["Sec-Fetch-Site: cross-site"])) == "origin_denied 403")
    }

    @Test("a preflight is answered by the route of the request that would follow")
    func preflight() {
        let plan = plan([
            route("write", "/x") {
                $0.methods = ["POST"]
                $0.cors.origins = ["https://app.test"]
            },
            route("options", "/x") { $0.methods = ["OPTIONS"] }, route("open", "/*") { $0.cors.origins = ["https://other.test"] },
        ])
        func ask(_ target: String, _ origin: String, _ method: String, _ sent: String = "OPTIONS") -> String {
            decide(plan, requestHead(target, method: sent, ["Origin: \(origin)", "Access-Control-Request-Method: \(method)"]))
        }
        #expect(ask("/x", "https://app.test", "POST") == "preflight write")
        #expect(ask("/x", "HTTPS://APP.test", "POST") == "preflight write")
        #expect(ask("/x", "https://evil.test", "POST") == "origin_denied 403")
        #expect(ask("/x", "null", "POST") == "origin_denied 403")
        #expect(ask("/x", "https://app.test", "PUT") == "origin_denied 403")
        #expect(ask("/x", "https://other.test", "PUT") == "preflight open")
        #expect(ask("/x", "http://localhost", "POST") == "options")
        #expect(ask("/y", "https://other.test", "post", "GET") == "open")
        #expect(decide(plan, requestHead("/y", method: "OPTIONS", ["Origin: https://other.test"])) == "open")
        #expect(decide(plan, requestHead("/x", method: "OPTIONS", ["Access-Control-Request-Method: POST"])) == "options")
    }

    @Test(
        "the client key comes in either field, whole and in any case of the scheme",
        arguments: [
            ("X-CryoNet-Key: k-123456", true), ("x-cryonet-key: k-123456", true), ("Proxy-Authorization: Bearer k-123456", true),
            ("Proxy-Authorization: bearer  k-123456", true), ("X-CryoNet-Key: k-12345", false), ("X-CryoNet-Key: k-1234567", false),
            ("X-CryoNet-Key: K-123456", false), ("X-CryoNet-Key:", false), ("Proxy-Authorization: k-123456", false),
            ("Proxy-Authorization: Basic k-123456", false), ("Proxy-Authorization: Bearer", false),
            ("Authorization: Bearer k-123456", false), ("X-CryoNet-Key: wrong\r\nX-CryoNet-Key: k-123456", true),
        ])
    func clientKey(_ field: String, _ isRight: Bool) {
        let plan = plan([route("one", "/one")], clientKey: Secret("k-123456"))
        #expect(decide(plan, requestHead("/one", [field])) == (isRight ? "one" : "keyless"))
        // Whoever lacks the key does not learn which routes there are.
        #expect(decide(plan, requestHead("/other", [field])) == (isRight ? "route_not_found 404" : "keyless"))
    }

    @Test("preflights of listed origins and OPTIONS * need no key; a foreign page is refused as such")
    func keyless() {
        let plan = plan([route("all", "/*") { $0.cors.origins = ["https://app.test"] }], clientKey: Secret("k-123456"))
        let asks = "Access-Control-Request-Method: GET"
        #expect(decide(plan, requestHead("*", method: "OPTIONS")) == "ping")
        #expect(decide(plan, requestHead("/", method: "OPTIONS", ["Origin: https://app.test", asks])) == "preflight all")
        #expect(decide(plan, requestHead("/", method: "OPTIONS", ["Origin: https://evil.test", asks])) == "origin_denied 403")
        #expect(decide(plan, requestHead("/", ["Origin: https://app.test"])) == "keyless")
        #expect(decide(plan, requestHead("/", host: "evil.test")) == "host_denied 421")
    }

    @Test("equal routes are taken in the order they are written")
    func written() {
        #expect(decide(plan([route("first", "/*"), route("second", "/*")]), requestHead("/x")) == "first")
    }
}

@Suite("A path pattern")
struct PathPatternTests {
    private func matches(_ pattern: String, _ path: String) -> Bool {
        Array(path.utf8).withUnsafeBytes { PathPattern(pattern).matches($0) }
    }

    @Test("a star ends a prefix on a segment border, without it the path is exact")
    func borders() {
        #expect(matches("/*", "/") && matches("/*", "/x") && matches("/a/*", "/a") && matches("/a/*", "/a/b/c"))
        #expect(!matches("/a/*", "/ab") && !matches("/a/*", "/") && !matches("/a/*", ""))
        #expect(matches("/a", "/a") && !matches("/a", "/a/") && !matches("/a", "/a/b"))
        #expect(matches("/a/", "/a/") && !matches("/a/", "/a"))
    }

    @Test("a longer pattern weighs more, an exact one more than a prefix of its length")
    func weights() {
        #expect(PathPattern("/a").weight > PathPattern("/a/*").weight)
        #expect(PathPattern("/a/b/*").weight > PathPattern("/a").weight)
        #expect(PathPattern("/*").weight == 0)
    }
}
