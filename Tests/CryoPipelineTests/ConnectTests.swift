// CONNECT: which tunnels there are, and what an exchange does for one.
// Domain: cold

import CryoHTTP
import Testing

@testable import CryoPipeline

private let secure = UpstreamPlan(UpstreamSettings(name: "api", url: UpstreamURL(isTLS: true, host: "api.example.com", port: 443)))
private let plain = UpstreamPlan(
    UpstreamSettings(name: "files", url: UpstreamURL(isTLS: false, host: "[::1]", port: 8000, basePath: "/v1")))

private func decide(
    _ target: String, _ fields: [String] = [], connect: ListenSettings.Connect = .upstreams, clientKey: Secret? = nil
) -> String {
    let plan = PipelinePlan(
        routes: [], upstreams: [secure, plain], credentials: [], hosts: ["localhost"], audit: nil, auditSink: nil, limits: LimitSettings(),
        clientKey: clientKey, connect: connect)
    guard let head = requestHead(target, method: "CONNECT", host: target, fields) else { return "unparsed" }
    switch RouteRule(plan: plan, localPort: 8080).decide(head) {
    case .tunnel(let upstream): return upstream.settings.name
    case .refused(let reason, let status, _): return "\(reason.rawValue) \(status)"
    case .keyless(let match): return match == nil ? "keyless" : "keyless on a route"
    case .matched, .preflight, .ping: return "no tunnel"
    }
}

@Suite("CONNECT")
struct ConnectTests {
    @Test(
        "exactly the host and port of an upstream, whatever its scheme and path",
        arguments: [
            ("api.example.com:443", "api"), ("API.Example.COM:443", "api"), ("[::1]:8000", "files"),
            ("api.example.com:80", "host_denied 421"), ("api.example.com:8443", "host_denied 421"), ("[::1]:443", "host_denied 421"),
            ("example.com:443", "host_denied 421"), ("api.example.com.evil.test:443", "host_denied 421"),
            ("localhost:8080", "host_denied 421"), ("api.example.com", "unparsed"), ("user@api.example.com:443", "unparsed"),
        ])
    func targets(_ target: String, _ outcome: String) {
        #expect(decide(target) == outcome)
    }

    @Test("off, every target is refused alike")
    func off() {
        for target in ["api.example.com:443", "evil.test:443"] {
            #expect(decide(target, connect: .off) == "request_malformed 501")
        }
    }

    @Test("a page of another site gets none", arguments: ["Origin: https://evil.test", "Origin: null", "Sec-Fetch-Site: cross-site"])
    func pages(_ field: String) {
        #expect(decide("api.example.com:443", [field]) == "origin_denied 403")
    }

    @Test(
        "a framing is refused: a body to one reader is the tunnel to another",
        arguments: ["Content-Length: 0", "Transfer-Encoding: chunked"])
    func framing(_ field: String) {
        #expect(decide("api.example.com:443", [field]) == "request_malformed 400")
    }

    @Test("without the client key nobody learns which upstreams there are")
    func clientKey() {
        let key = Secret("k-123456")
        #expect(decide("api.example.com:443", clientKey: key) == "keyless")
        #expect(decide("evil.test:443", clientKey: key) == "keyless")
        #expect(decide("api.example.com:443", ["Proxy-Authorization: Bearer k-123456"], clientKey: key) == "api")
        #expect(decide("evil.test:443", ["X-CryoNet-Key: k-123456"], clientKey: key) == "host_denied 421")
    }

    private func begin() -> Bench {
        let bench = Bench(connect: .upstreams, upstream: { $0.timeouts.tunnelIdleMilliseconds = 1_000 })
        bench.begin(
            requestHead("api.example.com:443", method: "CONNECT", host: "api.example.com:443", ["Authorization: Basic mine"]),
            isComplete: false)
        return bench
    }

    @Test("the attempt is a bare connection without field or token; the answer is a tunnel, and its record counts both ways")
    func tunnel() {
        let bench = begin()
        #expect(bench.forwarder.attempts.count == 1)
        let request = bench.forwarder.attempts[0].request
        #expect(request.isConnect && !request.isUpgrade && request.fields.lines.isEmpty)
        bench.exchange?.attemptReceivedHead(
            bench.forwarder.last, ResponseHead(status: 200, fields: FieldSection()), framing: .untilClose)
        #expect(bench.sink.status == 200)
        #expect(lines(bench.sink.fields).allSatisfy { $0.hasPrefix("X-Request-Id: ") })
        bench.send(Array("up".utf8))
        #expect(bench.deliver("down") == .more)
        bench.exchange?.attemptReceivedTunnelEnd(bench.forwarder.last)
        bench.exchange?.receiveBodyEnd()
        bench.exchange?.attemptEnded(bench.forwarder.last, AttemptTiming())
        #expect(bench.sink.ending == .finished && bench.sink.callsAfterEnd == 0)
        let record = object(bench.audit.lines.last)
        #expect(record["upstream"] as? String == "api" && record["route"] as? String == nil)
        #expect(record["request_bytes"] as? Int == 2 && record["response_bytes"] as? Int == 4)
        #expect(record["status"] as? Int == 200)
    }

    @Test("silence ends the tunnel")
    func silence() {
        let bench = begin()
        bench.exchange?.attemptReceivedHead(
            bench.forwarder.last, ResponseHead(status: 200, fields: FieldSection()), framing: .untilClose)
        bench.clock.advance(milliseconds: 1_001)
        bench.exchange?.deadlineReached(bench.clock.nanoseconds)
        #expect(bench.sink.ending == .aborted && bench.forwarder.attempts[0].isCancelled)
    }

    @Test("a connection that fails is the normalized failure, without a retry")
    func failure() {
        let bench = begin()
        bench.exchange?.attemptFailed(bench.forwarder.last, .connectRefused, AttemptTiming())
        #expect(bench.sink.status == 502 && bench.sink.ending == .finished && bench.forwarder.attempts.count == 1)
        let failure = object(text(bench.sink.body))
        #expect(failure["reason"] as? String == "connect_refused" && failure["route"] as? String == nil)
    }
}
