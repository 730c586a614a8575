import CryoIO
import CryoJSON
import CryoPipeline
import CryoTokens
import Glibc
import Testing

@Suite struct SignInTests {
    private let directory = TemporaryDirectory()

    private func settings(_ endpoint: LoopbackEndpoint, refreshes: Bool = true) throws -> LoginSettings {
        var first = TokenCall(url: endpoint.url + "/in?app={env:CRYONET_TEST_APP}")
        first.headers = [(name: "X-Key", value: "k {file:\(directory.write("key", "f\"1\n"))}")]
        first.body = .json(
            .object([(key: "user", value: .string("alice")), (key: "password", value: .string("env:CRYONET_TEST_PASSWORD"))]))
        var second = TokenCall(url: endpoint.url + "/re")
        second.body = .form([(name: "rt", value: "{refresh_token}")])
        var fields = TokenFields(token: try #require(JSONPath("data.token")))
        fields.refreshToken = JSONPath("data.refresh")
        fields.expiresAt = JSONPath("data.until")
        let call = LoginCall(second, fields: fields)
        var login = LoginSettings(signIn: LoginCall(first, fields: fields), refresh: refreshes ? call : nil)
        login.success = .equals(try #require(JSONPath("code")), .number("0"), missing: .failure)
        login.codePath = JSONPath("code")
        login.transientCodes = ["50301"]
        setenv("CRYONET_TEST_APP", "a b", 1)
        setenv("CRYONET_TEST_PASSWORD", "p\"1", 1)
        return login
    }

    private func token(_ login: LoginSettings, store: Bool = false) -> TokenSettings {
        var settings = TokenSettings(name: "app", source: .login(login))
        settings.refresh.timeoutMilliseconds = 5000
        if store { settings.storeFile = directory.file("app.json") }
        return settings
    }

    private static func granted(_ number: Int) -> String {
        answer(200, #"{"code":0,"data":{"token":"a\#(number)","refresh":"r\#(number)"}}"#)
    }

    @Test("the first login fills secrets into URL, header and body, each escaped for its place; the refresh follows with its token")
    func first() async throws {
        let endpoint = LoopbackEndpoint(Self.granted(1), Self.granted(2))
        defer { endpoint.stop() }
        let source = try load(token(settings(endpoint)))
        #expect(source.initial == nil && source.refresher.canIssue)
        #expect(text(of: await refresh(source.refresher)) == "renewed a1 r1")
        #expect(text(of: await refresh(source.refresher, credential("a1", refreshToken: "r1"))) == "renewed a2 r2")
        let requests = endpoint.requests
        #expect(requests[0].head.hasPrefix("POST /token/in?app=a%20b "))
        #expect(requests[0].header("X-Key") == #"k f"1"#)
        #expect(requests[0].body == #"{"user":"alice","password":"p\"1"}"#)
        #expect(requests[1].head.hasPrefix("POST /token/re ") && requests[1].body == "rt=r1")
        #expect(source.counters.count(of: .issued) == 1 && source.counters.count(of: .renewed) == 1)
    }

    @Test("a refused refresh falls back to the first login, in the same flight; the refused refresh token is never sent again")
    func fallback() async throws {
        let endpoint = LoopbackEndpoint(answer(200, #"{"code":40101}"#), Self.granted(2), Self.granted(3))
        defer { endpoint.stop() }
        let source = try load(token(settings(endpoint), store: true))
        #expect(text(of: await refresh(source.refresher, credential("a1", refreshToken: "r1"))) == "renewed a2 r2")
        // The store threw the result away and still holds the old pair.
        #expect(text(of: await refresh(source.refresher, credential("a1", refreshToken: "r1"))) == "renewed a2 r2")
        #expect(source.counters.count(of: .takenOver) == 1)
        #expect(text(of: await refresh(source.refresher, credential("a2", refreshToken: "r2"))) == "renewed a3 r3")
        #expect(endpoint.requests.map { $0.body.hasPrefix("rt=") ? $0.body : "login" } == ["rt=r1", "login", "rt=r2"])
        #expect(directory.read("app.json")?.holds("r3") == true)
    }

    @Test("a refused first login after a refused refresh is the end; a transient one is tried again as a login")
    func refusedTwice() async throws {
        let endpoint = LoopbackEndpoint(
            answer(401, ""), answer(200, #"{"code":50301}"#), answer(200, #"{"code":40001}"#))
        defer { endpoint.stop() }
        let source = try load(token(settings(endpoint)))
        let old = credential("a1", refreshToken: "r1")
        #expect(text(of: await refresh(source.refresher, old)) == "failed: the login call was refused by its code 50301 (answer_code)")
        #expect(text(of: await refresh(source.refresher, old)) == "rejected: the login call was refused by its code 40001 (code_refused)")
        #expect(endpoint.requests.map { $0.body.hasPrefix("rt=") } == [true, false, false])
    }

    @Test("a refresh and the login after it have one timeout together") func oneTimeout() async throws {
        let endpoint = LoopbackEndpoint(answer(401, ""), LoopbackEndpoint.silence, Self.granted(3))
        defer { endpoint.stop() }
        var settings = token(try settings(endpoint))
        settings.refresh.timeoutMilliseconds = 1500
        let source = try load(settings)
        let start = Clock.monotonicNanoseconds()
        #expect(text(of: await refresh(source.refresher, credential("a1", refreshToken: "r1"))).hasSuffix("(timed_out)"))
        #expect(Clock.monotonicNanoseconds() - start >= 1_400_000_000)
        #expect(endpoint.requests.count == 2)
        #expect(source.counters.seen.map(\.outcome) == [.timedOut])
    }

    @Test("an endpoint that is down during the refresh keeps the refresh token, and logs nobody in") func down() async throws {
        let endpoint = LoopbackEndpoint(answer(503, ""), Self.granted(2))
        defer { endpoint.stop() }
        let source = try load(token(settings(endpoint)))
        let old = credential("a1", refreshToken: "r1")
        #expect(text(of: await refresh(source.refresher, old)) == "failed: the refresh call was answered 503 (answer_status)")
        #expect(text(of: await refresh(source.refresher, old)) == "renewed a2 r2")
        #expect(endpoint.requests.map(\.body) == ["rt=r1", "rt=r1"])
    }

    @Test("without a refresh call the first login is repeated") func only() async throws {
        let endpoint = LoopbackEndpoint(Self.granted(1), Self.granted(2))
        defer { endpoint.stop() }
        let source = try load(token(settings(endpoint, refreshes: false)))
        #expect(text(of: await refresh(source.refresher)) == "renewed a1 r1")
        #expect(text(of: await refresh(source.refresher, credential("a1", refreshToken: "r1"))) == "renewed a2 r2")
        #expect(endpoint.requests.allSatisfy { $0.body.holds("alice") })
    }

    @Test(
        "which codes and statuses refuse and which may pass is configured",
        arguments: [
            (200, #"{"code":40101}"#, "rejected", "code_refused"), (200, #"{"code":"40101"}"#, "rejected", "code_refused"),
            (200, #"{"code":50301}"#, "failed", "answer_code"), (200, #"{"code":777}"#, "failed", "answer_code"),
            (200, "{}", "failed", "answer_code"), (200, #"{"code":null}"#, "failed", "answer_code"),
            (401, #"{"code":50301}"#, "failed", "answer_code"), (401, #"{"code":1}"#, "rejected", "status_refused"),
            (400, #"{"code":40101}"#, "failed", "answer_status"),
        ])
    func codes(status: Int, body: String, end: String, outcome: String) async throws {
        let endpoint = LoopbackEndpoint(answer(status, body))
        defer { endpoint.stop() }
        var login = try settings(endpoint)
        login.refusalCodes = ["40101"]
        login.refusalStatuses = [401]
        let told = text(of: await refresh(try load(token(login)).refresher))
        #expect(told.hasPrefix(end) && told.hasSuffix("(\(outcome))"), "\(told)")
    }

    @Test("a secret that can't be had now fails this login only, and no call is made") func noSecret() async throws {
        let endpoint = LoopbackEndpoint(Self.granted(1))
        defer { endpoint.stop() }
        var login = try settings(endpoint)
        login.signIn?.call.body = .form([(name: "password", value: "file:\(directory.file("nothing"))")])
        let source = try load(token(login))
        #expect(text(of: await refresh(source.refresher)) == "failed: there is no file \(directory.file("nothing")) (secret_unavailable)")
        #expect(endpoint.requests.isEmpty)
        directory.write("nothing", "p a\n")
        #expect(text(of: await refresh(source.refresher)) == "renewed a1 r1")
        #expect(endpoint.requests[0].body == "password=p+a")
    }

    @Test(
        "the end of life may be a number of seconds or milliseconds, or a date",
        arguments: [
            ("4102444800", 4_102_444_800), ("4102444800123", 4_102_444_800), (#""2099-12-31T23:00:00-01:00""#, 4_102_444_800),
            (#""soon""#, nil),
        ] as [(String, Int64?)])
    func expiresAt(until: String, expected: Int64?) async throws {
        // The endpoint's clock says 2098-12-31: the life is measured by it.
        let body = #"{"code":0,"data":{"token":"a1","until":\#(until)}}"#
        let endpoint = LoopbackEndpoint(answer(200, body, more: "Date: Wed, 31 Dec 2098 00:00:00 GMT\r\n"))
        defer { endpoint.stop() }
        let before = Int64(time(nil))
        guard case .renewed(let new) = await refresh(try load(token(settings(endpoint))).refresher) else {
            Issue.record("not renewed")
            return
        }
        let life = expected.map { $0 - 4_070_822_400 }
        #expect(life == nil ? new.expiresAt == nil : (0...5).contains((new.expiresAt ?? 0) - before - (life ?? 0)))
    }
}
