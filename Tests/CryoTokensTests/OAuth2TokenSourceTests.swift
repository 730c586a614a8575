import CryoPipeline
import CryoTokens
import Glibc
import Testing

@Suite struct OAuth2TokenSourceTests {
    private let directory = TemporaryDirectory()

    private func settings(_ endpoint: LoopbackEndpoint, _ grant: OAuth2Settings.GrantType = .refreshToken) -> OAuth2Settings {
        var settings = OAuth2Settings(tokenEndpoint: endpoint.url, clientID: "me:& you")
        settings.grantType = grant
        settings.clientSecret = .literal(Secret("s e/c+r"))
        return settings
    }

    private func token(_ oauth2: OAuth2Settings, store: Bool = false) -> TokenSettings {
        var settings = TokenSettings(name: "app", source: .oauth2(oauth2))
        settings.initialToken = .literal(Secret("a0"))
        settings.initialRefreshToken = .literal(Secret("r0"))
        settings.refresh.timeoutMilliseconds = 5000
        if store { settings.storeFile = directory.file("app.json") }
        return settings
    }

    @Test("client credentials: Basic with both parts form-encoded, scopes joined, no secret in the body") func clientCredentials()
        async throws
    {
        let endpoint = LoopbackEndpoint(answer(200, #"{"access_token":"a1","token_type":"bearer","expires_in":"3600"}"#))
        defer { endpoint.stop() }
        var oauth2 = settings(endpoint, .clientCredentials)
        oauth2.scopes = ["read", "write"]
        oauth2.audience = "https://api"
        let before = Int64(time(nil))
        guard case .renewed(let new) = await refresh(try load(token(oauth2)).refresher) else {
            Issue.record("not renewed")
            return
        }
        #expect(new.token.text == "a1" && new.refreshToken == nil)
        #expect((new.expiresAt ?? 0) >= before + 3600 && (new.expiresAt ?? 0) <= before + 3660)
        let request = endpoint.requests[0]
        #expect(request.body == "grant_type=client_credentials&scope=read+write&audience=https%3A%2F%2Fapi")
        // me%3A%26+you:s+e%2Fc%2Br
        #expect(request.header("Authorization") == "Basic bWUlM0ElMjYreW91OnMrZSUyRmMlMkJy")
        #expect(request.header("Content-Type") == "application/x-www-form-urlencoded")
    }

    @Test("client_secret_post puts both into the body; empty scopes send no parameter") func post() async throws {
        let endpoint = LoopbackEndpoint(answer(200, #"{"access_token":"a1"}"#))
        defer { endpoint.stop() }
        var oauth2 = settings(endpoint)
        oauth2.authMethod = .post
        oauth2.scopes = [""]
        #expect(text(of: await refresh(try load(token(oauth2)).refresher, credential("a0", refreshToken: "r0"))) == "renewed a1 r0")
        #expect(
            endpoint.requests[0].body
                == "grant_type=refresh_token&refresh_token=r0&client_id=me%3A%26+you&client_secret=s+e%2Fc%2Br")
        #expect(endpoint.requests[0].header("Authorization") == nil)
    }

    @Test("a rotated refresh token is on disk before the refresh ends, and presented next, also after a restart") func rotation()
        async throws
    {
        let endpoint = LoopbackEndpoint(
            answer(200, #"{"access_token":"a1","refresh_token":"r1","expires_in":3600}"#),
            answer(200, #"{"access_token":"a2"}"#), answer(200, #"{"access_token":"a3","refresh_token":"r3"}"#))
        defer { endpoint.stop() }
        let settings = token(settings(endpoint), store: true)
        let first = try load(settings)
        #expect(first.initial?.token.text == "a0" && first.initial?.refreshToken?.text == "r0")
        let onDisk: (String, String?) = await withCheckedContinuation { continuation in
            first.refresher.refresh(credential("a0", refreshToken: "r0")) { [path = directory.file("app.json")] result in
                guard case .pair(let pair, _) = TokenStoreFile(path: path).read() else {
                    continuation.resume(returning: ("nothing", nil))
                    return
                }
                continuation.resume(returning: (pair.token.text, pair.refreshToken?.text))
            }
        }
        #expect(onDisk == ("a1", "r1"))
        // The store threw the result away and still holds the old pair: the used-up token is not presented again, nobody is asked.
        #expect(text(of: await refresh(first.refresher, credential("a0", refreshToken: "r0"))) == "renewed a1 r1")
        #expect(text(of: await refresh(first.refresher, credential("a1", refreshToken: "r1"))) == "renewed a2 r1")
        let second = try load(settings)
        #expect(second.initial?.token.text == "a2" && second.initial?.refreshToken?.text == "r1")
        #expect(text(of: await refresh(second.refresher)) == "renewed a3 r3")
        #expect(endpoint.requests.map { $0.body.split(separator: "=").last.map(String.init) ?? "" } == ["r0", "r1", "r1"])
        #expect(directory.names == ["app.json"])
    }

    @Test("a store that can't be written is reported, and the new token used") func storeFails() async throws {
        let endpoint = LoopbackEndpoint(answer(200, #"{"access_token":"a1","refresh_token":"r1"}"#))
        defer { endpoint.stop() }
        var settings = token(settings(endpoint))
        settings.storeFile = directory.file("gone/app.json")
        let reports = Reports()
        #expect(text(of: await refresh(try load(settings, reports).refresher)) == "renewed a1 r1")
        #expect(reports.all.count == 1)
        #expect(reports.all.first?.description.holds("gone/app.json") == true)
    }

    @Test(
        "only a definite refusal rejects, and no answer is repeated in the detail",
        arguments: [
            (
                400, #"{"error":"invalid_grant","error_description":"secret-r0"}"#,
                "rejected: the token endpoint answered invalid_grant (invalid_grant)"
            ),
            (401, #"{"error":"invalid_client"}"#, "rejected: the token endpoint answered invalid_client (invalid_client)"),
            (400, #"{"error":"unauthorized_client"}"#, "rejected: the token endpoint answered unauthorized_client (unauthorized_client)"),
            (403, #"{"error":"invalid_grant"}"#, "rejected: the token endpoint answered invalid_grant (invalid_grant)"),
            (500, #"{"error":"invalid_grant"}"#, "failed: the token endpoint answered 500 invalid_grant (answer_status)"),
            (400, #"{"error":"invalid_scope"}"#, "failed: the token endpoint answered 400 invalid_scope (answer_error)"),
            (400, #"{"error":"secret-r0"}"#, "failed: the token endpoint answered 400 (answer_status)"),
            (401, "{}", "failed: the token endpoint answered 401 (answer_status)"),
            (503, "<html>down</html>", "failed: the token endpoint answered 503 without JSON (answer_not_json)"),
            (307, "{}", "failed: the token endpoint answered 307 (answer_status)"),
            (200, "", "failed: the token endpoint answered 200 with an empty body (answer_empty)"),
            (200, "<html>hello</html>", "failed: the token endpoint answered 200 without JSON (answer_not_json)"),
            (200, #"{"access_token":"a1""#, "failed: the token endpoint answered 200 without JSON (answer_not_json)"),
            (200, "{}", "failed: the token endpoint answered 200 with no access_token (token_absent)"),
            (200, #"{"access_token":null}"#, "failed: the token endpoint answered 200 with no access_token (token_absent)"),
            (
                200, #"{"access_token":7}"#,
                "failed: the token endpoint answered 200 with an access_token that is empty or no text (token_wrong_type)"
            ),
            (
                200, #"{"access_token":""}"#,
                "failed: the token endpoint answered 200 with an access_token that is empty or no text (token_wrong_type)"
            ),
            (200, #"{"access_token":"a\r\nX: 1"}"#, "failed: the access_token holds a control character (token_unusable)"),
            (
                200, #"{"access_token":"a1","token_type":"mac"}"#,
                "failed: the token endpoint answered with a token_type that is not Bearer (token_wrong_type)"
            ),
            (
                200, #"{"access_token":"a1","token_type":7}"#,
                "failed: the token endpoint answered with a token_type that is not Bearer (token_wrong_type)"
            ),
            (200, #"{"access_token":"a1","token_type":"BEARER","refresh_token":""}"#, "renewed a1 r0"),
        ])
    func answers(status: Int, body: String, expected: String) async throws {
        let endpoint = LoopbackEndpoint(answer(status, body))
        defer { endpoint.stop() }
        #expect(text(of: await refresh(try load(token(settings(endpoint))).refresher, credential("a0", refreshToken: "r0"))) == expected)
    }

    @Test("a lifetime that makes no sense is unknown", arguments: ["-1", "0", "\"soon\"", "1e99", "99999999999", "true", "[]"])
    func lifetimes(lifetime: String) async throws {
        let endpoint = LoopbackEndpoint(answer(200, #"{"access_token":"a1","expires_in":"# + lifetime + "}"))
        defer { endpoint.stop() }
        let source = try load(token(settings(endpoint)))
        guard case .renewed(let new) = await refresh(source.refresher) else {
            Issue.record("not renewed")
            return
        }
        #expect(new.expiresAt == nil)
        #expect(source.counters.count(of: .lifetimeIgnored) == 1 && source.counters.count(of: .renewed) == 1)
    }

    @Test("an endpoint that hangs up, is not there, or babbles on without end fails") func noAnswer() async throws {
        let silent = LoopbackEndpoint("")
        let huge = LoopbackEndpoint(answer(200, #"{"access_token":""# + String(repeating: "x", count: 1 << 20) + #""}"#))
        defer { huge.stop() }
        for endpoint in [silent, huge] {
            guard case .failed(let detail) = await refresh(try load(token(settings(endpoint))).refresher) else {
                Issue.record("did not fail")
                continue
            }
            #expect(!detail.holds("r0") && !detail.holds("s e/c+r") && !detail.holds("xxx"))
        }
        silent.stop()
        var gone = settings(silent)
        gone.tokenEndpoint = "http://127.0.0.1:1/token"
        guard case .failed = await refresh(try load(token(gone)).refresher) else {
            Issue.record("did not fail")
            return
        }
    }

    @Test("an endpoint that says nothing costs the timeout and no more") func slow() async throws {
        let endpoint = LoopbackEndpoint(LoopbackEndpoint.silence, answer(200, #"{"access_token":"a1"}"#))
        defer { endpoint.stop() }
        var settings = token(settings(endpoint))
        settings.refresh.timeoutMilliseconds = 100
        guard case .failed = await refresh(try load(settings).refresher) else {
            Issue.record("did not fail")
            return
        }
        settings.refresh.timeoutMilliseconds = 5000
        #expect(text(of: await refresh(try load(settings).refresher)) == "renewed a1 r0")
    }

    @Test("a refused refresh token is not presented again, and its file is set aside so that initial counts again") func refused()
        async throws
    {
        let endpoint = LoopbackEndpoint(answer(400, #"{"error":"invalid_grant"}"#))
        defer { endpoint.stop() }
        directory.write("app.json", #"{"version":1,"token":"a5","refresh_token":"r5","expires_at":null}"#)
        let settings = token(settings(endpoint), store: true)
        let reports = Reports()
        let source = try load(settings, reports)
        #expect(source.initial?.token.text == "a5")
        #expect(text(of: await refresh(source.refresher, credential("a5", refreshToken: "r5"))).holds("rejected"))
        #expect(text(of: await refresh(source.refresher)) == "unchanged")
        #expect(source.counters.count(of: .invalidGrant) == 1 && source.counters.count(of: .noCredential) == 1)
        #expect(source.refresher.canIssue, "another gateway may log in: the file is looked at again")
        #expect(endpoint.requests.count == 1)
        #expect(directory.names == ["app.json.rejected"])
        #expect(reports.all.count == 1)
        #expect(try load(settings).initial?.token.text == "a0")
    }

    @Test("a refused client leaves the refresh token alone") func refusedClient() async throws {
        let endpoint = LoopbackEndpoint(answer(401, #"{"error":"invalid_client"}"#))
        defer { endpoint.stop() }
        directory.write("app.json", #"{"version":1,"token":"a5","refresh_token":"r5","expires_at":null}"#)
        let source = try load(token(settings(endpoint), store: true))
        #expect(text(of: await refresh(source.refresher)).holds("rejected"))
        #expect(directory.names == ["app.json"])
    }

    @Test("a client secret that can't be had now fails this refresh only") func clientSecretMissing() async throws {
        let endpoint = LoopbackEndpoint(answer(200, #"{"access_token":"a1"}"#))
        defer { endpoint.stop() }
        var oauth2 = settings(endpoint)
        oauth2.clientSecret = .file(path: directory.file("secret"))
        let source = try load(token(oauth2))
        #expect(text(of: await refresh(source.refresher)).holds("failed: client_secret: there is no file"))
        directory.write("secret", "s\n")
        #expect(text(of: await refresh(source.refresher)) == "renewed a1 r0")
    }
}
