// The seed README's own examples, as a program would write them; what differs on Linux is the type of the request.
// Domain: cold

import CryoNet
import CryoSync
import CryoTestSupport
import Foundation
import Testing

private struct User: Codable {
    let id: Int
    let name: String
}

private struct APIResponse<T: Codable & Sendable>: Codable, Sendable {
    let code: Int
    let message: String
    let data: T
}

private enum API {
    static let userDetail = RequestModel(path: "/users/detail", method: .get, encoding: .urlDefault, explain: "用户详情")
}

private enum AppResponsePolicy {
    static func extractData(_ json: JSON, originalData: Data) -> Result<Data, any Error> {
        JSON.extractDataFromJSON(json["data"], originalData: originalData)
    }
    static func isSuccess(_ json: JSON) -> Bool { json["code"].intValue == 0 }
    static func extractFailureReason(_ json: JSON, originalData: Data) -> String? { json["msg"].string }
    static func extractBusinessCode(_ json: JSON, originalData: Data) -> Int? { json["code"].int }
}

private final class MyBusinessInterceptor: DefaultInterceptor, @unchecked Sendable {
    // SAFETY: it adds no stored property.
    override func isResponseSuccess(json: JSON) -> Bool { json["status"] == "ok" }
    override func extractSuccessData(from json: JSON, data: Data) -> Result<Data, any Error> {
        JSON.extractDataFromJSON(json["result"], originalData: data)
    }
    override func handleFailure(_ failure: CryoFailure, request: CryoRequest?) {}
}

private final class MyCustomInterceptor: RequestInterceptorProtocol, CryoFailureHandling {
    let failures = Failures()

    func interceptRequest(_ urlRequest: CryoRequest, tokenManager: any TokenManagerProtocol) async -> CryoRequest {
        var request = urlRequest
        if let token = await tokenManager.getToken() {
            request.setValue("Token \(token)", forHTTPHeaderField: "Authorization")
        }
        return request
    }
    func interceptResponse(_ response: CryoResponse) -> Result<Data, any Error> {
        if let status = response.statusCode, !(200..<300).contains(status) {
            return .failure(NSError(domain: "HTTPError", code: status, userInfo: ["statusCode": status]))
        }
        if let error = response.error { return .failure(error) }
        return .success(response.data)
    }
    func interceptResponseWithCompleteData(_ response: CryoResponse) -> Result<Data, any Error> { interceptResponse(response) }
    func handleFailure(_ failure: CryoFailure, request: CryoRequest?) { failures.add(failure) }
}

@Suite struct SeedExamplesTests {
    private static let user = #"{"code":0,"message":"success","data":{"id":1001,"name":"CryoNet"}}"#

    @Test("the complete example of the seed works with callbacks and with async calls")
    func completeExample() async throws {
        let api = TestAPI { _ in answer(200, Self.user) }
        let net = CryoNet { config in
            config.baseURL = api.baseURL
            config.defaultTimeout = 30
            config.basicHeaders = [.init(name: "Content-Type", value: "application/json")]
            config.tokenManager = DefaultTokenManager(token: "T1")
            config.interceptor = DefaultInterceptor(
                extractData: AppResponsePolicy.extractData, isSuccess: AppResponsePolicy.isSuccess,
                extractFailureReason: AppResponsePolicy.extractFailureReason)
        }
        let name = await withCheckedContinuation { continuation in
            net.request(API.userDetail, parameters: ["id": 1001])
                .interceptModel(type: User.self) { user in
                    continuation.resume(returning: user.name)
                } failed: { message in
                    continuation.resume(returning: message)
                }
        }
        #expect(name == "CryoNet")
        let whole = try await net.request(API.userDetail).interceptModelCompleteDataAsync(APIResponse<User>.self)
        #expect(whole.message == "success" && whole.data.id == 1001)
        #expect(api.requests.map(\.target) == ["/users/detail?id=1001", "/users/detail"])
        #expect(net.getConfiguration().defaultTimeout == 30)
        api.server.stop()
    }

    @Test("a subclass changes the rules it overrides, and a request's interceptor replaces the client's")
    func subclass() async throws {
        let api = TestAPI { _ in answer(200, #"{"status":"ok","code":1,"result":[{"id":1,"name":"a"}]}"#) }
        let failures = Failures()
        let net = client(api.baseURL, interceptor: policyP(failures))
        let users = try await net.request(get, interceptor: MyBusinessInterceptor()).interceptModelArrayAsync(User.self)
        #expect(users.map(\.name) == ["a"] && failures.all.isEmpty)
        api.server.stop()
    }

    @Test("an interceptor that sets its own Authorization is let be, and its own errors become failures of the right kind")
    func custom() async throws {
        let api = TestAPI { request in answer(request.target == "/x" ? 200 : 401, "{}") }
        let interceptor = MyCustomInterceptor()
        let tokens = CountingTokenManager("T1", next: "T2")
        let net = client(api.baseURL, tokens: tokens, interceptor: interceptor)
        _ = try await net.request(get).interceptDataAsync()
        let failure = try await failing { try await net.request(RequestModel(path: "/y", method: .get)).interceptDataAsync() }
        #expect(failure.kind == .authenticationExpired && interceptor.failures.all.count == 1)
        #expect(api.requests.map(\.authorization) == ["Token T1", "Token T1"])
        #expect(await tokens.refreshes == 0)
        api.server.stop()
    }

    @Test("the seed's logout runs once for many expired requests, and a new login works after it")
    func logout() async throws {
        let api = TestAPI { request in request.authorization == "Bearer T2" ? answer(200, "{}") : answer(401, "{}") }
        let tokens = DefaultTokenManager(token: "T1")
        let session = DefaultAuthenticationSessionManager(isAuthenticated: true)
        let logouts = Log()
        let done = Gate()
        let net = client(
            api.baseURL, tokens: tokens,
            interceptor: policyP(session: session) { failure in
                guard failure.statusCode == 401 || failure.businessCode == 10001 else { return }
                Task {
                    guard await session.beginLogoutIfCurrent(for: failure) else { return }
                    logouts.add("logout")
                    await tokens.clearToken()
                    await session.markLoggedOut()
                    await done.open()
                }
            })
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 { group.addTask { _ = try? await net.request(get).interceptDataAsync() } }
        }
        await done.pass()
        #expect(logouts.all == ["logout"])
        await tokens.setToken("T2")
        await session.markAuthenticated()
        _ = try await net.request(get).interceptDataAsync()
        #expect(logouts.all == ["logout"])
        #expect(await session.snapshot().state == .authenticated)
        api.server.stop()
    }

    @Test("clients that share a token manager share its refresh")
    func sharedManager() async throws {
        let gate = Gate()
        let api = TestAPI { request in
            if request.number == 1 { Task { await gate.open() } }
            return request.authorization == "Bearer T2" ? answer(200, "{}") : answer(401, "{}")
        }
        let tokens = CountingTokenManager("T1", next: "T2", gate: gate)
        let one = client(api.baseURL, tokens: tokens)
        let other = client(api.baseURL, tokens: tokens)
        async let first = one.request(get).interceptDataAsync()
        async let second = other.request(get).interceptDataAsync()
        _ = try await (first, second)
        #expect(await tokens.refreshes == 1)
        api.server.stop()
    }
}
