import CryoJSON
import CryoPipeline
import CryoTokens
import Testing

@Suite struct LoginTokenSourceTests {
    private func settings(_ endpoint: LoopbackEndpoint, _ body: TokenCall.Body) throws -> TokenSettings {
        var call = TokenCall(url: endpoint.url + "?old={token}")
        call.headers = [(name: "X-Old", value: "Bearer {token}")]
        call.body = body
        var fields = TokenFields(token: try #require(JSONPath("data.token")))
        fields.refreshToken = JSONPath("data.refreshToken")
        fields.expiresIn = JSONPath("data.expiresIn")
        var login = LoginSettings(refresh: LoginCall(call, fields: fields))
        login.success = .equals(try #require(JSONPath("code")), .number("0"))
        login.codePath = JSONPath("code")
        var settings = TokenSettings(name: "app", source: .login(login))
        settings.refresh.timeoutMilliseconds = 5000
        return settings
    }

    private let current = credential("a 0", refreshToken: "r\"0")

    @Test("a JSON template is filled and escaped, in the URL and the headers too") func json() async throws {
        let endpoint = LoopbackEndpoint(answer(200, #"{"code":"0","data":{"token":"a1","refreshToken":"r1","expiresIn":"60"}}"#))
        defer { endpoint.stop() }
        let body = TokenCall.Body.json(
            .object([
                (key: "refreshToken", value: .string("{refresh_token}")),
                (key: "n", value: .array([.literal("1"), .string("x{token}y{other}")])),
            ]))
        #expect(text(of: await refresh(try load(settings(endpoint, body)).refresher, current)) == "renewed a1 r1")
        let request = endpoint.requests[0]
        #expect(request.body == #"{"refreshToken":"r\"0","n":[1,"xa 0y{other}"]}"#)
        #expect(request.head.hasPrefix("POST /token?old=a%200 "))
        #expect(request.header("X-Old") == "Bearer a 0")
        #expect(request.header("Content-Type") == "application/json")
    }

    @Test("a form is encoded") func form() async throws {
        let endpoint = LoopbackEndpoint(answer(200, #"{"code":0,"data":{"token":"a1"}}"#))
        defer { endpoint.stop() }
        let body = TokenCall.Body.form([(name: "grant", value: "a b"), (name: "rt", value: "{refresh_token}")])
        #expect(text(of: await refresh(try load(settings(endpoint, body)).refresher, current)) == "renewed a1 r\"0")
        #expect(endpoint.requests[0].body == "grant=a+b&rt=r%220")
    }

    @Test(
        "a 200 with a failure code is a refused login; what is no answer of the endpoint fails",
        arguments: [
            (200, #"{"code":40101,"data":null}"#, "rejected: the refresh call was refused by its code 40101 (code_refused)"),
            (200, #"{"code":"no","data":{"token":"a1"}}"#, "rejected: the refresh call was refused by its code (code_refused)"),
            (400, "", "rejected: the refresh call was answered 400 (status_refused)"),
            (401, "{}", "rejected: the refresh call was answered 401 (status_refused)"),
            (403, "", "rejected: the refresh call was answered 403 (status_refused)"),
            (404, "", "failed: the refresh call was answered 404 (answer_status)"),
            (500, #"{"code":0,"data":{"token":"a1"}}"#, "failed: the refresh call was answered 500 (answer_status)"),
            (429, "", "failed: the refresh call was answered 429 (answer_status)"),
            (302, "", "failed: the refresh call was answered 302 (answer_status)"),
            (200, "", "failed: the refresh call was answered 200 with an empty body (answer_empty)"),
            (200, "<html>", "failed: the refresh call was answered 200 without JSON (answer_not_json)"),
            (200, #"{"code":0}"#, "failed: the refresh call was answered with no token at data.token (token_absent)"),
            (
                200, #"{"code":0,"data":{"token":7}}"#,
                "failed: the refresh call was answered with no usable token at data.token (token_wrong_type)"
            ),
            (
                200, #"{"code":0,"data":{"token":"a\nb"}}"#,
                "failed: the token of the refresh call holds a control character (token_unusable)"
            ),
            (
                200, #"{"code":0,"data":{"token":"a1","refreshToken":"r\r\nX: 1"}}"#,
                "failed: the refresh token of the refresh call holds a control character (token_unusable)"
            ),
            (200, #"{"data":{"token":"a1"}}"#, "renewed a1 r\"0"),
        ])
    func answers(status: Int, body: String, expected: String) async throws {
        let endpoint = LoopbackEndpoint(answer(status, body))
        defer { endpoint.stop() }
        #expect(text(of: await refresh(try load(settings(endpoint, .none)).refresher, current)) == expected)
    }

    private static let code = JSONPath("code") ?? .root
    private static let state = JSONPath("state") ?? .root
    private static func test(_ path: JSONPath, _ condition: SuccessTest.Condition) -> SuccessPredicate {
        .test(SuccessTest(path: path, condition: condition, missing: .failure))
    }
    private static let twoHundreds = SuccessTest.Condition.range(JSONNumberRange(lowest: "200", highest: "299"))
    private static let statusOK = EnvelopePreset.named("status_ok")?.success ?? .any([])
    private static func words(_ words: String...) -> SuccessTest.Condition { .oneOf(words.map { .string(Array($0.utf8)) }) }

    @Test(
        "success may be any condition of a policy; its codes are where code says",
        arguments: [
            (test(state, words("ok", "done")), #"{"state":"done","token":"a1"}"#, nil),
            (test(state, words("ok", "done")), #"{"state":"no","code":7,"token":"a1"}"#, "its code 7 (code_refused)"),
            (test(code, twoHundreds), #"{"code":201,"token":"a1"}"#, nil),
            (test(code, twoHundreds), #"{"code":50301,"token":"a1"}"#, "its code 50301 (answer_code)"),
            (test(state, .exists(false)), #"{"state":null,"token":"a1"}"#, "its code (code_refused)"),
            (test(state, .truthy(true)), #"{"state":0,"token":"a1"}"#, "its code (code_refused)"),
            (.not(test(code, .exists(true))), #"{"token":"a1"}"#, nil),
            (.all([test(code, words("0")), test(state, .truthy(true))]), #"{"code":"0","state":1,"token":"a1"}"#, nil),
            (.all([test(code, words("0")), test(state, .truthy(true))]), #"{"code":"0","token":"a1"}"#, "its code 0 (code_refused)"),
            (.any([test(code, words("0")), test(state, .truthy(true))]), #"{"code":"9","state":1,"token":"a1"}"#, nil),
            (statusOK, #"{"status":"success","token":"a1"}"#, nil),
            (statusOK, #"{"status":"fail","code":"E","token":"a1"}"#, "its code (code_refused)"),
        ] as [(SuccessPredicate, String, String?)])
    func conditions(success: SuccessPredicate, body: String, refusal: String?) async throws {
        let endpoint = LoopbackEndpoint(answer(200, body))
        defer { endpoint.stop() }
        var call = TokenCall(url: endpoint.url)
        call.body = .form([(name: "rt", value: "{refresh_token}")])
        var login = LoginSettings(refresh: LoginCall(call, fields: TokenFields(token: try #require(JSONPath("token")))))
        login.success = success
        login.codePath = Self.code
        login.transientCodes = ["50301"]
        let told = text(of: await refresh(try load(TokenSettings(name: "app", source: .login(login))).refresher, current))
        let end = refusal?.hasSuffix("(answer_code)") == true ? "failed" : "rejected"
        #expect(told == refusal.map { "\(end): the refresh call was refused by \($0)" } ?? "renewed a1 r\"0")
    }

    @Test("a condition over several fields without a code refuses for good") func noCode() async throws {
        let endpoint = LoopbackEndpoint(answer(200, #"{"code":1,"token":"a1"}"#))
        defer { endpoint.stop() }
        var login = LoginSettings(refresh: LoginCall(TokenCall(url: endpoint.url), fields: TokenFields(token: Self.state)))
        login.success = .all([Self.test(Self.code, Self.words("0")), Self.test(Self.state, .truthy(true))])
        let told = text(of: await refresh(try load(TokenSettings(name: "app", source: .login(login))).refresher, current))
        #expect(told == "rejected: the refresh call was refused by the condition of success (code_refused)")
    }

    @Test("without the token a template needs there is no call") func nothingToAskWith() async throws {
        let endpoint = LoopbackEndpoint(answer(200, "{}"))
        defer { endpoint.stop() }
        let source = try load(settings(endpoint, .form([(name: "rt", value: "{refresh_token}")])))
        #expect(source.initial == nil)
        #expect(text(of: await refresh(source.refresher)) == "unchanged")
        #expect(text(of: await refresh(source.refresher, credential("a0"))) == "unchanged")
        #expect(endpoint.requests.isEmpty)
    }
}
