// What an exchange tells a browser's page of another site, and a client without the key (design §10).
// Domain: cold

import CryoHTTP
import Foundation
import Testing

@testable import CryoPipeline

private let page = "Origin: https://App.test"

private func sharing(_ change: (inout CORSSettings) -> Void = { _ in }) -> (inout RouteSettings) -> Void {
    var cors = CORSSettings()
    cors.origins = ["https://app.test"]
    change(&cors)
    let made = cors
    return { $0.cors = made }
}

/// The reply's fields of that name, in any case.
private func replied(_ bench: Bench, _ name: String) -> [String] {
    lines(bench.sink.fields).filter { $0.lowercased().hasPrefix(name + ": ") }.map { String($0.dropFirst(name.count + 2)) }
}

@Suite("An exchange with a page of another site")
struct ExchangeCORSTests {
    private func preflight(_ method: String, _ more: [String] = []) -> RequestHead? {
        requestHead("/t", method: "OPTIONS", [page, "Access-Control-Request-Method: \(method)"] + more)
    }

    @Test("a preflight is answered by the gateway: nothing goes upstream, and it is audited")
    func preflight() {
        let bench = Bench(route: sharing())
        bench.begin(preflight("PUT", ["Access-Control-Request-Headers: content-type,x-a , a b"]))
        #expect(bench.sink.status == 204 && bench.sink.framing == BodyFraming.none && bench.sink.ending == .finished)
        #expect(bench.forwarder.attempts.isEmpty && bench.refresher.calls == 0)
        #expect(replied(bench, "access-control-allow-origin") == ["https://App.test"])
        #expect(replied(bench, "access-control-allow-methods") == ["GET, HEAD, POST, PUT, PATCH, DELETE"])
        #expect(replied(bench, "access-control-allow-headers") == ["content-type, x-a"])
        #expect(replied(bench, "access-control-max-age") == ["600"])
        #expect(replied(bench, "access-control-allow-credentials") == [])
        #expect(replied(bench, "access-control-allow-private-network") == [])
        #expect(replied(bench, "vary") == ["Origin, Access-Control-Request-Method, Access-Control-Request-Headers"])
        let record = object(bench.audit.lines.last)
        #expect(bench.audit.lines.count == 1 && record["route"] as? String == "api" && record["status"] as? Int == 204)
    }

    @Test("what is configured is what a preflight hears, and the client key's field besides")
    func configured() {
        let bench = Bench(
            clientKey: Secret("k-123456"),
            route: sharing {
                $0.methods = ["GET", "PUT"]
                $0.headers = ["X-A"]
                $0.allowsCredentials = true
                $0.maxAgeSeconds = 0
            })
        bench.begin(preflight("PUT", ["Access-Control-Request-Headers: x-z", "Access-Control-Request-Private-Network: true"]))
        #expect(bench.sink.status == 204)
        #expect(replied(bench, "access-control-allow-methods") == ["GET, PUT"])
        #expect(replied(bench, "access-control-allow-headers") == ["X-A, X-CryoNet-Key"])
        #expect(replied(bench, "access-control-allow-credentials") == ["true"])
        #expect(replied(bench, "access-control-max-age") == ["0"])
        #expect(replied(bench, "access-control-allow-private-network") == ["true"])
    }

    @Test("the reply carries the gateway's word in place of the upstream's")
    func reply() {
        let bench = Bench(
            route: sharing {
                $0.allowsCredentials = true
                $0.exposedHeaders = ["X-Total"]
            })
        bench.begin(requestHead("/t", [page]))
        bench.answer(
            200,
            [
                ("Access-Control-Allow-Origin", "*"), ("access-control-allow-credentials", "false"), ("Access-Control-Expose-Headers", "*"),
                ("Vary", "Accept"), ("Content-Type", "text/plain"),
            ], "ok")
        #expect(bench.sink.status == 200)
        #expect(replied(bench, "access-control-allow-origin") == ["https://App.test"])
        #expect(replied(bench, "access-control-allow-credentials") == ["true"])
        #expect(replied(bench, "access-control-expose-headers") == ["CryoNet-Failure, X-Request-Id, X-Total"])
        #expect(replied(bench, "vary") == ["Accept", "Origin"])
    }

    @Test("a failure can be read by the page too")
    func failure() {
        let bench = Bench(route: sharing())
        bench.begin(requestHead("/t", [page]))
        bench.fail(.connectRefused)
        #expect(bench.sink.status == 502)
        #expect(replied(bench, "access-control-allow-origin") == ["https://App.test"])
        #expect(replied(bench, "access-control-expose-headers") == ["CryoNet-Failure, X-Request-Id"])
    }

    @Test("programs and own pages get the upstream's fields, and Vary where a page would get another answer")
    func withoutOrigin() {
        let bench = Bench(route: sharing())
        bench.begin(requestHead("/t", ["Origin: http://localhost"]))
        bench.answer(200, [("Access-Control-Allow-Origin", "https://x.test"), ("Vary", "accept, ORIGIN")])
        #expect(replied(bench, "access-control-allow-origin") == ["https://x.test"] && replied(bench, "vary") == ["accept, ORIGIN"])
        let none = Bench(route: sharing())
        none.begin(requestHead("/t"))
        none.answer(200, [])
        #expect(replied(none, "vary") == ["Origin"] && replied(none, "access-control-allow-origin") == [])
        let off = Bench()
        off.begin(requestHead("/t"))
        off.answer(200, [])
        #expect(replied(off, "vary") == [])
    }

    @Test("a page that is not listed reads nothing")
    func foreign() {
        let bench = Bench(route: sharing())
        bench.begin(requestHead("/t", ["Origin: https://evil.test"]))
        #expect(bench.sink.status == 403 && replied(bench, "access-control-allow-origin") == [])
    }
}

@Suite("An exchange with a client key")
struct ExchangeClientKeyTests {
    @Test("without it: 407 that says how to do better, nothing upstream, one record without a route")
    func missing() {
        let bench = Bench(clientKey: Secret("k-123456"))
        bench.begin(requestHead("/t", ["X-CryoNet-Key: k-wrong1"]))
        let body = object(bench.reply)
        #expect(bench.sink.status == 407 && body["reason"] as? String == "client_key_missing" && body["step"] as? String == "route")
        #expect(body["kind"] as? String == "http" && body["route"] is NSNull)
        #expect(replied(bench, "proxy-authenticate") == ["Bearer realm=\"cryonet\""])
        #expect(bench.forwarder.attempts.isEmpty && bench.audit.lines.count == 1)
        let steps = object(bench.audit.lines.last)["steps"] as? [String: String]
        #expect(steps?["route"] == "client_key_missing")
    }

    @Test(
        "with it the request goes on, and the key stays here",
        arguments: ["X-CryoNet-Key: k-123456", "Proxy-Authorization: Bearer k-123456"])
    func present(_ field: String) {
        let bench = Bench(clientKey: Secret("k-123456"), audit: { $0.bodies = .all })
        bench.begin(requestHead("/t?x=k-123456", [field]))
        #expect(bench.forwarder.attempts.count == 1)
        #expect(!bench.fields(0).contains { $0.contains("k-123456") })
        bench.answer(200, [("Content-Type", "text/plain")], "k-123456")
        #expect(bench.sink.status == 200 && bench.reply == "k-123456")
        #expect(bench.audit.lines.last?.contains("k-123456") == false)
    }

    @Test("a gateway that asks for none does not pass one on")
    func unasked() {
        let bench = Bench()
        bench.begin(requestHead("/t", ["X-CryoNet-Key: k-123456"]))
        #expect(!bench.fields(0).contains { $0.lowercased().hasPrefix("x-cryonet-key") })
    }

    @Test("a listed page that forgot it can read why")
    func page407() {
        let bench = Bench(clientKey: Secret("k-123456"), route: sharing())
        bench.begin(requestHead("/t", [page]))
        #expect(bench.sink.status == 407 && replied(bench, "access-control-allow-origin") == ["https://App.test"])
    }
}

@Suite("An exchange and the proxies around it")
struct ExchangeProxyTests {
    private let claims = ["X-Forwarded-For: 10.1.1.1", "X-Forwarded-Proto: https", "Forwarded: for=10.1.1.1"]

    @Test("a listed proxy's claims are kept and its address added, anybody else's are replaced")
    func trusted() {
        let listed = Bench(trustedProxies: ["10.0.0.0/8", "127.0.0.1"])
        listed.begin(requestHead("/t", claims))
        let kept = listed.fields(0)
        #expect(kept.contains("X-Forwarded-For: 10.1.1.1, 127.0.0.1") && kept.contains("X-Forwarded-Proto: https"))
        #expect(kept.contains("Forwarded: for=10.1.1.1, for=127.0.0.1;proto=http"))
        let other = Bench(trustedProxies: ["127.0.0.2"])
        other.begin(requestHead("/t", claims))
        let replaced = other.fields(0)
        #expect(replaced.contains("x-forwarded-for: 127.0.0.1") && replaced.contains("x-forwarded-proto: http"))
        #expect(!replaced.contains { $0.contains("10.1.1.1") })
    }

    @Test("the third pass of one request is refused, the second is not")
    func loop() {
        let twice = Bench()
        twice.begin(requestHead("/t", ["Via: 1.1 cryonet, 1.1 other"]))
        #expect(twice.forwarder.attempts.count == 1 && twice.fields(0).contains("Via: 1.1 cryonet, 1.1 other, 1.1 cryonet"))
        let thrice = Bench()
        thrice.begin(requestHead("/t", ["Via: 1.1 cryonet, 1.1 other", "Via: 1.1 cryonet"]))
        #expect(thrice.forwarder.attempts.isEmpty && thrice.sink.status == 508)
        #expect(object(thrice.reply)["reason"] as? String == "loop_detected")
        #expect((object(thrice.audit.lines.last)["steps"] as? [String: String])?["route"] == "loop_detected")
    }

    @Test("rewriting is done when asked for: each cookie on its line, Location the gateway's own")
    func rewrite() {
        let fields = [
            ("Location", "https://api.example.com/v1/next?a=1"), ("Set-Cookie", "a=1; Domain=example.com; Path=/v1; Secure"),
            ("Set-Cookie", "b=2"),
        ]
        let off = Bench(basePath: "/v1", route: { $0.stripPrefix = "/api" })
        off.begin(requestHead("/api/x"))
        off.answer(302, fields)
        #expect(lines(off.sink.fields).prefix(3) == fields.map { "\($0.0): \($0.1)" }[...])
        let bench = Bench(
            basePath: "/v1",
            route: {
                $0.stripPrefix = "/api"
                $0.rewrite.location = true
                $0.rewrite.cookies = true
            })
        bench.begin(requestHead("/api/x", host: "localhost:8080"))
        bench.answer(302, fields)
        #expect(
            lines(bench.sink.fields).prefix(3) == [
                "Location: http://localhost:8080/api/next?a=1", "Set-Cookie: a=1; Path=/api", "Set-Cookie: b=2",
            ])
    }
}
