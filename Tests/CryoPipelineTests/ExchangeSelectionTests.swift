// Which token a request gets, where it goes in the request, and what happens to a value the client sent itself.
// Domain: cold

import CryoHTTP
import Testing

@testable import CryoPipeline

private func steps(_ bench: Bench) -> [String: String] {
    (object(bench.audit.lines.last)["steps"] as? [String: Any])?.compactMapValues { $0 as? String } ?? [:]
}

private func reason(_ bench: Bench) -> String? { object(bench.reply)["reason"] as? String }

private func sent(_ bench: Bench, _ name: String, _ index: Int = 0) -> [String] {
    bench.fields(index).filter { $0.lowercased().hasPrefix(name + ": ") }
}

private func other(_ name: String, _ token: String, _ change: (inout TokenSettings) -> Void = { _ in }) -> CredentialStore {
    var settings = TokenSettings(name: name, source: .environment(name: "T"))
    change(&settings)
    return CredentialStore(
        settings: settings, refresher: ScriptedRefresher(canRefresh: false), initial: NewCredential(token: Secret(token)),
        monotonic: { 0 }, report: { _, _ in })
}

private func inject(
    _ place: InjectSettings.Place, _ name: String, _ onClientValue: InjectSettings.OnClientValue = .replace, format: String = "{token}"
) -> (inout TokenSettings) -> Void {
    return {
        $0.inject.place = place
        $0.inject.name = name
        $0.inject.format = format
        $0.inject.onClientValue = onClientValue
    }
}

@Suite("A request that chooses")
struct ExchangeOverrideTests {
    private func bench(_ allowed: [RouteSettings.Override], others: [CredentialStore]? = nil) -> Bench {
        Bench(
            policy: nil, route: { $0.allowedOverrides = allowed }, others: others ?? [other("second", "token-of-the-second")],
            policies: [envelope()].compactMap(\.self))
    }

    @Test("the named token is injected, and the headers that chose stay here")
    func token() {
        let bench = bench([.token, .policy])
        bench.begin(requestHead("/t", ["CryoNet-Token: second", "cryonet-policy: envelope"]))
        #expect(sent(bench, "authorization") == ["Authorization: Bearer token-of-the-second"])
        #expect(bench.fields(0).allSatisfy { !$0.lowercased().hasPrefix("cryonet-") })
        bench.answer(200, [("Content-Type", "application/json")], #"{"code":7,"msg":"no"}"#)
        #expect(bench.sink.status == 422 && reason(bench) == "business_rejected")
        #expect(object(bench.audit.lines.last)["route"] as? String == "api")
    }

    @Test(
        "where the route does not allow it, the headers mean nothing and stay here all the same",
        arguments: [[], [RouteSettings.Override.policy]])
    func notAllowed(_ allowed: [RouteSettings.Override]) {
        let bench = bench(allowed)
        bench.begin(requestHead("/t", ["CryoNet-Token: second"]))
        #expect(sent(bench, "authorization") == ["Authorization: Bearer token-one"])
        #expect(sent(bench, "cryonet-token").isEmpty)
    }

    @Test(
        "a name that names nothing, or two, is a failure of its own, and the upstream hears nothing",
        arguments: [
            ["CryoNet-Token: third"], ["CryoNet-Policy: other"], ["CryoNet-Token: "], ["CryoNet-Token: second", "CryoNet-Token: second"],
            ["CryoNet-Policy: envelope", "CryoNet-Policy: none"], ["CryoNet-Token: SECOND"],
        ])
    func unknown(_ fields: [String]) {
        let bench = bench([.token, .policy])
        bench.begin(requestHead("/t", fields))
        #expect(bench.sink.status == 400 && reason(bench) == "override_unknown")
        #expect(bench.forwarder.attempts.isEmpty && steps(bench)["route"] == "override_unknown")
        #expect(object(bench.audit.lines.last)["route"] as? String == "api")
    }

    @Test("none chooses no token, unless the route requires one")
    func none() {
        let free = bench([.token])
        free.begin(requestHead("/t", ["CryoNet-Token: none"]))
        #expect(sent(free, "authorization").isEmpty && free.forwarder.attempts.count == 1)
        let required = Bench(
            route: {
                $0.allowedOverrides = [.token]
                $0.auth = .required
            })
        required.begin(requestHead("/t", ["CryoNet-Token: none"]))
        #expect(required.sink.status == 401 && reason(required) == "token_missing" && required.forwarder.attempts.isEmpty)
    }

    @Test("a token that belongs to another upstream cannot be taken to this one")
    func elsewhere() {
        let bench = bench([.token], others: [other("second", "token-of-the-second") { $0.upstreams = ["another"] }])
        bench.begin(requestHead("/t", ["CryoNet-Token: second"]))
        #expect(bench.sink.status == 400 && reason(bench) == "override_unknown" && bench.forwarder.attempts.isEmpty)
        let listed = self.bench([.token], others: [other("second", "token-of-the-second") { $0.upstreams = ["api"] }])
        listed.begin(requestHead("/t", ["CryoNet-Token: second"]))
        #expect(sent(listed, "authorization") == ["Authorization: Bearer token-of-the-second"])
    }

    @Test("a chosen token is refreshed by its own rules, with the place of its own")
    func ownRules() {
        let refresher = ScriptedRefresher()
        var settings = TokenSettings(name: "second", source: .environment(name: "T"))
        inject(.header, "X-Second")(&settings)
        settings.refresh.onStatus = [418]
        let bench = bench([.token], others: [])
        let second = CredentialStore(
            settings: settings, refresher: refresher, initial: NewCredential(token: Secret("second-one")),
            monotonic: { [clock = bench.clock] in clock.nanoseconds }, report: { _, _ in })
        let chosen = Bench(route: { $0.allowedOverrides = [.token] }, others: [second])
        chosen.begin(requestHead("/t", ["CryoNet-Token: second", "x-second: mine", "Authorization: Basic of-the-client"]))
        #expect(sent(chosen, "x-second") == ["X-Second: second-one"])
        #expect(sent(chosen, "authorization") == ["Authorization: Basic of-the-client"])
        chosen.answer(418)
        refresher.end(.renewed(NewCredential(token: Secret("second-two"))))
        chosen.scheduler.queue.run()
        #expect(sent(chosen, "x-second", 1) == ["X-Second: second-two"] && chosen.refresher.calls == 0)
    }
}

@Suite("A route and its auth")
struct ExchangeAuthTests {
    @Test("optional: without a token the request goes on, without the client's value too, and its 401 is an answer like any other")
    func optional() {
        let bench = Bench(token: nil, canRefresh: false, route: { $0.auth = .optional })
        bench.begin(requestHead("/t", ["Authorization: Basic dummy"]))
        #expect(sent(bench, "authorization").isEmpty && bench.forwarder.attempts.count == 1)
        bench.answer(401, [("WWW-Authenticate", "Bearer")], "who are you")
        #expect(bench.sink.status == 401 && bench.reply == "who are you" && steps(bench)["inject"] == "unauthenticated")
        #expect(lines(bench.sink.fields).allSatisfy { !$0.hasPrefix("CryoNet-Failure") })
    }

    @Test("optional: an expired token is renewed first, and left out when that fails", arguments: [true, false])
    func optionalRefresh(_ succeeds: Bool) {
        let expired = NewCredential(token: Secret("token-old"), expiresAt: 1)
        let bench = Bench(token: expired, tokens: inject(.cookie, "sid"), route: { $0.auth = .optional })
        bench.begin(requestHead("/t", ["Cookie: a=b; sid=mine"]))
        #expect(bench.forwarder.attempts.isEmpty)
        bench.endRefresh(succeeds ? .renewed(NewCredential(token: Secret("token-new"))) : .failed(detail: "down"))
        #expect(sent(bench, "cookie") == [succeeds ? "Cookie: a=b; sid=token-new" : "Cookie: a=b"])
        bench.answer(succeeds ? 200 : 401)
        #expect(steps(bench)["inject"] == (succeeds ? "injected" : "unauthenticated") && bench.refresher.calls == 1)
    }

    @Test("optional: a token that is there is refreshed and replayed as ever")
    func optionalWithToken() {
        let bench = Bench(route: { $0.auth = .optional })
        bench.begin(requestHead())
        bench.answer(401)
        bench.endRefresh(.renewed(NewCredential(token: Secret("token-two"))))
        #expect(sent(bench, "authorization", 1) == ["Authorization: Bearer token-two"])
    }

    @Test("none: nothing is injected, the client's own value passes, a 401 refreshes nothing")
    func none() {
        let bench = Bench(route: { $0.auth = RouteSettings.Auth.none })
        bench.begin(requestHead("/t", ["Authorization: Basic abc"]))
        #expect(sent(bench, "authorization") == ["Authorization: Basic abc"])
        bench.answer(401)
        #expect(bench.sink.status == 401 && bench.refresher.calls == 0 && steps(bench)["inject"] == "not_applicable")
    }

    @Test("required, on a route where only the request names a token: without one it fails before the upstream hears of it")
    func required() {
        let bench = Bench(withToken: false, route: { $0.auth = .required })
        bench.begin(requestHead())
        #expect(bench.sink.status == 401 && reason(bench) == "token_missing" && bench.forwarder.attempts.isEmpty)
    }
}

@Suite("Where the token goes")
struct ExchangePlacementTests {
    @Test(
        "in a query: after the client's pairs, encoded, in the place of a value of the same name however it is spelled",
        arguments: [
            ("/t", "/t?api_key=to%2Fk%2B1"), ("/t?", "/t?api_key=to%2Fk%2B1"), ("/t?a=1&b=%2F", "/t?a=1&b=%2F&api_key=to%2Fk%2B1"),
            ("/t?api_key=mine", "/t?api_key=to%2Fk%2B1"), ("/t?a=1&api%5Fkey=mine&&b", "/t?a=1&&b&api_key=to%2Fk%2B1"),
            ("/t?%61pi_key&x=api_key", "/t?x=api_key&api_key=to%2Fk%2B1"), ("/t?API_KEY=2", "/t?API_KEY=2&api_key=to%2Fk%2B1"),
        ])
    func query(_ asked: String, _ expected: String) {
        let bench = Bench(token: NewCredential(token: Secret("to/k+1")), tokens: inject(.query, "api_key"))
        bench.begin(requestHead(asked, ["Authorization: Basic abc"]))
        #expect(bench.target() == expected)
        #expect(sent(bench, "authorization") == ["Authorization: Basic abc"])
    }

    @Test("in a query: the replay carries the new token, once")
    func queryReplay() {
        let bench = Bench(tokens: inject(.query, "k"))
        bench.begin(requestHead("/t?a=1"))
        bench.answer(401)
        bench.endRefresh(.renewed(NewCredential(token: Secret("token-two"))))
        #expect(bench.target(0) == "/t?a=1&k=token-one" && bench.target(1) == "/t?a=1&k=token-two")
    }

    @Test("in a query: without a token on an optional route the client's own value goes too, and an empty query with it")
    func queryOptional() {
        let bench = Bench(token: nil, canRefresh: false, tokens: inject(.query, "k"), route: { $0.auth = .optional })
        bench.begin(requestHead("/t?k=mine"))
        #expect(bench.target() == "/t")
    }

    @Test("in a cookie: one line, the client's others before it, each attempt anew")
    func cookie() {
        let bench = Bench(tokens: inject(.cookie, "sid"))
        bench.begin(requestHead("/t", ["Cookie: a=b; sid=mine; c=d", "Cookie:  e=f ;sid = x;; SID=3"]))
        bench.answer(401)
        bench.endRefresh(.renewed(NewCredential(token: Secret("tok,en;2"))))
        #expect(sent(bench, "cookie", 0) == ["Cookie: a=b; c=d; e=f; SID=3; sid=token-one"])
        #expect(sent(bench, "cookie", 1) == ["Cookie: a=b; c=d; e=f; SID=3; sid=tok%2Cen%3B2"])
        let alone = Bench(tokens: inject(.cookie, "sid"), upstream: { $0.headers = [("Cookie", "app=1")] })
        alone.begin(requestHead())
        #expect(sent(alone, "cookie") == ["Cookie: app=1; sid=token-one"])
    }

    @Test("a default header of the upstream does not double the token's")
    func defaultHeader() {
        let bench = Bench(upstream: { $0.headers = [("authorization", "Basic abc")] })
        bench.begin(requestHead())
        #expect(sent(bench, "authorization") == ["Authorization: Bearer token-one"])
    }

    static let clientValues: [(InjectSettings.Place, String, String, [String])] = [
        (.header, "Authorization", "/t?k=1", ["AUTHORIZATION: x"]), (.query, "k", "/t?a&%6B=1", ["Cookie: k=1"]),
        (.cookie, "k", "/t?k=1", ["Cookie: a=b", "Cookie: c; k=1"]),
    ]

    @Test("a client's own value can be kept, wherever the token goes", arguments: clientValues)
    func keep(_ place: InjectSettings.Place, _ name: String, _ target: String, _ fields: [String]) {
        let bench = Bench(tokens: inject(place, name, .keep))
        bench.begin(requestHead(target, fields))
        #expect(bench.target() == target)
        #expect(fields.allSatisfy(bench.fields(0).contains))
        bench.answer(401)
        #expect(bench.sink.status == 401 && bench.refresher.calls == 0 && steps(bench)["inject"] == "kept_client_value")
    }

    @Test("a client's own value can be refused, wherever the token goes; a request without one gets the token", arguments: clientValues)
    func reject(_ place: InjectSettings.Place, _ name: String, _ target: String, _ fields: [String]) {
        let bench = Bench(tokens: inject(place, name, .reject))
        bench.begin(requestHead(target, fields))
        #expect(bench.sink.status == 400 && reason(bench) == "client_value_rejected" && bench.forwarder.attempts.isEmpty)
        #expect(steps(bench)["inject"] == "client_value_rejected")
        let clean = Bench(tokens: inject(place, name, .reject))
        clean.begin(requestHead("/t?other=1", ["Cookie: other=1", "X-Other: 1"]))
        #expect(clean.forwarder.attempts.count == 1)
    }

    @Test("a token that an upstream sends back in Location is taken out of it; other values of that name are not")
    func location() {
        func located(_ location: String) -> [String] {
            let bench = Bench(token: NewCredential(token: Secret("to/ken-one")), tokens: inject(.query, "k"))
            bench.begin(requestHead("/t?a=1"))
            bench.answer(302, [("Location", location), ("Content-Location", location)])
            return lines(bench.sink.fields).filter { $0.hasPrefix("Location") || $0.hasPrefix("Content-L") }.map {
                String($0.drop { $0 != ":" }.dropFirst(2))
            }
        }
        #expect(located("/u?a=1&k=to%2fken-one#f") == ["/u?a=1#f", "/u?a=1#f"])
        #expect(located("https://x.test/u?k=to/ken-one") == ["https://x.test/u", "https://x.test/u"])
        #expect(located("/u?k=another&t=to%2Fken-one") == ["/u?k=another&t=to%2Fken-one", "/u?k=another&t=to%2Fken-one"])
    }

    @Test("the audit hides the query's name, and the token however it is written")
    func audited() {
        let bench = Bench(
            token: NewCredential(token: Secret("to/ken-one")), tokens: inject(.query, "ticket"), audit: { $0.bodies = .all })
        bench.begin(requestHead("/t?ticket=of-the-client&b=2"))
        bench.answer(200, [("X-Echo", "/t?ticket=to%2fken-one")], "?ticket=to%2Fken-one to/ken-one")
        let line = bench.audit.lines.last ?? ""
        #expect(object(line)["target"] as? String == "/t?ticket=***&b=2")
        #expect(!line.contains("ken-one") && !line.contains("of-the-client"))
    }
}

@Suite("The value that is injected")
struct InjectionTests {
    @Test(
        "the value of a header follows the format",
        arguments: [
            ("Bearer {token}", "Bearer abc"), (" {token}", "abc"), ("{token}", "abc"), ("a{token}b", "aabcb"), ("none", "none"),
        ])
    func format(_ format: String, _ expected: String) {
        var settings = InjectSettings()
        settings.format = format
        #expect(text(Injection(settings).value(of: Secret("abc"))) == expected)
    }

    @Test("a pair of a query or cookie holds the formatted token, encoded as its place asks")
    func pairs() {
        var settings = InjectSettings()
        settings.format = "v1 {token}"
        settings.name = "k.1"
        settings.place = .query
        #expect(text(Injection(settings).value(of: Secret("a+/=é"))) == "k.1=v1%20a%2B%2F%3D%C3%A9")
        settings.place = .cookie
        #expect(text(Injection(settings).value(of: Secret("a+/=\";"))) == "k.1=v1%20a+/=%22%3B")
    }
}
