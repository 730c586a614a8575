// Injection, single flight, sessions and cancellation through the library's API.
// Domain: cold

import CryoNet
import CryoTestSupport
import Foundation
import Testing

@Suite struct TokenTests {
    @Test("V3: a 401 that no refresh cures is the original 401, told once and before the request's own callback")
    func hopeless() async throws {
        let api = TestAPI { _ in answer(401, #"{"e":1}"#) }
        let tokens = CountingTokenManager("T1")
        let log = Log()
        let failures = Failures()
        let net = client(api.baseURL, tokens: tokens, interceptor: policyP(failures) { _ in log.add("global") })
        let failure: CryoFailure = await withCheckedContinuation { continuation in
            net.request(get).interceptJSON(success: { _ in log.add("success") }) { message in
                log.add("failed \(message)")
            } failure: { failure in
                log.add("failure")
                continuation.resume(returning: failure)
            }
        }
        #expect(log.all == ["global", "failed 身份验证失败", "failure"])
        #expect(failure.kind == .authenticationExpired && failure.statusCode == 401)
        #expect(domain(failure) == "AuthError/401" && text(failure.responseData) == #"{"e":1}"#)
        #expect(await tokens.refreshes == 1)
        #expect(api.requests.map(\.authorization) == ["Bearer T1"])
        api.server.stop()
    }

    @Test("V4: twenty refused requests lead to one refresh, and each is sent again with its result", arguments: [true, false])
    func singleFlight(_ isAccepted: Bool) async throws {
        let count = 20
        let gate = Gate()
        let api = TestAPI { request in
            // The refresh ends only when every request has been refused, so that all of them must share it.
            if request.number == count - 1 { Task { await gate.open() } }
            let isNew = request.authorization == "Bearer T2"
            return isNew && isAccepted ? answer(200, #"{"code":0,"data":{"n":1}}"#) : answer(401, "{}")
        }
        let tokens = CountingTokenManager("T1", next: "T2", gate: gate)
        let failures = Failures()
        let net = client(api.baseURL, tokens: tokens, interceptor: policyP(failures))
        let outcomes = await withTaskGroup(of: String.self) { group in
            for index in 0..<count {
                group.addTask {
                    let model = RequestModel(path: "/\(index)", encoding: .jsonDefault)
                    do {
                        return text(try await net.request(model, parameters: ["i": index]).interceptDataAsync())
                    } catch {
                        return (error as? CryoFailure)?.kind.rawValue ?? "?"
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(await tokens.refreshes == 1)
        #expect(await tokens.getToken() == "T2")
        #expect(Set(outcomes) == [isAccepted ? #"{"n":1}"# : "authenticationExpired"])
        #expect(failures.all.count == (isAccepted ? 0 : count))
        let requests = api.requests
        #expect(requests.count == 2 * count)
        for index in 0..<count {
            let own = requests.filter { $0.target == "/\(index)" }
            #expect(own.map(\.authorization) == ["Bearer T1", "Bearer T2"])
            #expect(own.map(\.body) == [#"{"i":\#(index)}"#, #"{"i":\#(index)}"#])
        }
        api.server.stop()
    }

    @Test("an empty token leaves Authorization alone, a token replaces it, and nothing of an intermediary is sent")
    func injection() async throws {
        let api = TestAPI { _ in answer(200, "{}") }
        let own = [HTTPHeader(name: "authorization", value: "mine")]
        _ = try await client(api.baseURL, tokens: DefaultTokenManager(token: "")).request(get, headers: own).interceptDataAsync()
        _ = try await client(api.baseURL, tokens: DefaultTokenManager(token: "T1")).request(get, headers: own).interceptDataAsync()
        _ = try await client(api.baseURL).request(get).interceptDataAsync()
        #expect(api.requests.map(\.authorization) == ["mine", "Bearer T1", nil])
        let names = Set(api.requests.flatMap(\.headers.keys))
        #expect(names == ["host", "content-type", "authorization", "accept-encoding"])
        api.server.stop()
    }

    @Test("a refresh may itself use the client: its request carries the present token and is not refreshed")
    func nestedRefresh() async throws {
        let api = TestAPI { request in
            if request.target == "/refresh" {
                return request.authorization == "Bearer T1" ? answer(200, #"{"token":"T2"}"#) : answer(401, "{}")
            }
            return request.authorization == "Bearer T2" ? answer(200, #"{"data":"new"}"#) : answer(401, "{}")
        }
        final class Manager: TokenManagerProtocol {
            let inner = DefaultTokenManager(token: "T1")
            let baseURL: String
            init(_ baseURL: String) { self.baseURL = baseURL }
            func getToken() async -> String? { await inner.getToken() }
            func setToken(_ newToken: String) async { await inner.setToken(newToken) }
            func refreshToken() async -> String? {
                let net = client(baseURL, tokens: self)
                return try? await net.request(RequestModel(path: "/refresh")).responseJSONAsync()["token"].string
            }
        }
        let net = client(api.baseURL, tokens: Manager(api.baseURL))
        #expect(text(try await net.request(get).interceptDataAsync()) == "new")
        #expect(api.requests.map(\.target) == ["/x", "/refresh", "/x"])
        api.server.stop()
    }

    @Test("V10a: of several expired requests of one login one ends it")
    func logoutOnce() async throws {
        let api = TestAPI { _ in answer(401, "{}") }
        let session = DefaultAuthenticationSessionManager(isAuthenticated: true)
        let revision = await session.snapshot().revision
        let failures = Failures()
        let net = client(api.baseURL, tokens: CountingTokenManager("T1"), interceptor: policyP(failures, session: session))
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<3 { group.addTask { _ = try? await net.request(get).interceptDataAsync() } }
        }
        #expect(failures.all.map(\.authenticationRevision) == [revision, revision, revision])
        var ended = 0
        for failure in failures.all where await session.beginLogoutIfCurrent(for: failure) { ended += 1 }
        #expect(ended == 1)
        #expect(await session.snapshot() == AuthenticationSnapshot(state: .loggingOut, revision: revision))
        await session.markLoggedOut()
        let after = await session.snapshot()
        #expect(after.state == .unauthenticated && after.revision != revision)
        #expect(await session.beginLogoutIfCurrent(expectedRevision: nil) == false)
        api.server.stop()
    }

    @Test("V10b: a late 401 of an older login neither refreshes nor ends the newer one, nor is sent with its token")
    func staleFailure() async throws {
        let arrived = Gate()
        let mayAnswer = DispatchSemaphore(value: 0)
        let api = TestAPI { _ in
            Task { await arrived.open() }
            mayAnswer.wait()
            return answer(401, "{}")
        }
        let session = DefaultAuthenticationSessionManager(isAuthenticated: true)
        let revision = await session.snapshot().revision
        let tokens = CountingTokenManager("T1", next: "T3")
        let net = client(api.baseURL, tokens: tokens, interceptor: policyP(session: session))
        async let outcome = failing { try await net.request(get).interceptDataAsync() }
        await arrived.pass()
        await tokens.setToken("T2")
        await session.markAuthenticated()
        mayAnswer.signal()
        let failure = try await outcome
        #expect(failure.kind == .authenticationExpired && failure.authenticationRevision == revision)
        #expect(await session.beginLogoutIfCurrent(for: failure) == false)
        #expect(await session.snapshot().state == .authenticated)
        #expect(await tokens.getToken() == "T2")
        #expect(await tokens.refreshes == 0)
        #expect(api.requests.map(\.authorization) == ["Bearer T1"])
        api.server.stop()
    }

    @Test("V10d: a request sent again after a refresh reports the revision it began with")
    func revisionSurvivesRetry() async throws {
        let api = TestAPI { _ in answer(401, "{}") }
        let session = DefaultAuthenticationSessionManager(isAuthenticated: true)
        let revision = await session.snapshot().revision
        let net = client(api.baseURL, tokens: CountingTokenManager("T1", next: "T2"), interceptor: policyP(session: session))
        let failure = try await failing { try await net.request(get).interceptDataAsync() }
        #expect(failure.authenticationRevision == revision)
        #expect(api.requests.map(\.authorization) == ["Bearer T1", "Bearer T2"])
        api.server.stop()
    }

    @Test("cancelling the waiting task closes the connection and is told as cancelled, once")
    func cancellation() async throws {
        let arrived = Gate()
        let closed = Gate()
        let server = RawServer { _, connection in
            _ = connection.readHead()
            Task { await arrived.open() }
            if connection.waitForClose() { Task { await closed.open() } }
        }
        let failures = Failures()
        let net = client("http://127.0.0.1:\(server.port)", interceptor: policyP(failures))
        let task = Task { try await failing { try await net.request(get).interceptDataAsync() } }
        await arrived.pass()
        task.cancel()
        let failure = try await task.value
        #expect(failure.kind == .cancelled && failure.message == "请求已取消" && failure.statusCode == nil)
        #expect(failures.all.map(\.kind) == [.cancelled])
        await closed.pass()
        server.stop()
    }

    @Test("a request cancelled before it was sent is never sent")
    func cancelledBefore() async throws {
        let api = TestAPI { _ in answer(200, "{}") }
        let result = client(api.baseURL).request(get)
        result.cancel()
        let failure = try await failing { try await result.interceptDataAsync() }
        #expect(failure.kind == .cancelled)
        #expect(api.requests.isEmpty)
        api.server.stop()
    }
}
