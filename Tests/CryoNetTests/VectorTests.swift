// The seeds' vectors through the library's API: views, the HTTP table, business failures, precedence.
// Domain: cold

import CryoNet
import CryoTestSupport
import Foundation
import Testing

private struct Title: Codable, Equatable { let title: String }
private struct Envelope: Codable, Equatable {
    let code: Int
    let msg: String
    let data: Title
}

@Suite struct VectorTests {
    @Test("V1: the data view unwraps, the complete and raw views give the whole body, nobody is told of a failure")
    func envelope() async throws {
        let body = #"{"code":0,"msg":"ok","data":{"title":"CryoNet"}}"#
        let api = TestAPI { _ in answer(200, body) }
        let failures = Failures()
        let net = client(api.baseURL, interceptor: policyP(failures))
        #expect(try await net.request(get).interceptModelAsync(Title.self) == Title(title: "CryoNet"))
        #expect(text(try await net.request(get).interceptDataAsync()) == #"{"title":"CryoNet"}"#)
        let complete = try await net.request(get).interceptModelCompleteDataAsync(Envelope.self)
        #expect(complete == Envelope(code: 0, msg: "ok", data: Title(title: "CryoNet")))
        #expect(try await net.request(get).interceptJSONAsync()["data"]["title"].string == "CryoNet")
        #expect(text(try await net.request(get).responseDataAsync()) == body)
        #expect(failures.all.isEmpty)
        api.server.stop()
    }

    @Test(
        "V1: what the data view gives for odd data",
        arguments: [
            (#"{"code":0,"data":null}"#, #"{"code":0,"data":null}"#), (#"{"code":0}"#, #"{"code":0}"#),
            (#"{"code":0,"data":"abc"}"#, "abc"), (#"{"code":0,"data":123}"#, "123"), ("{}", "{}"),
            (#"{"code":"0","data":[ 1 , 12345678901234567890 ]}"#, "[ 1 , 12345678901234567890 ]"), (#"{"data":true}"#, "true"),
        ])
    func oddData(_ body: String, _ expected: String) async throws {
        let api = TestAPI { _ in answer(200, body) }
        #expect(text(try await client(api.baseURL).request(get).interceptDataAsync()) == expected)
        api.server.stop()
    }

    @Test(
        "V2: a status outside 2xx decides by the table; its body is kept, not judged",
        arguments: [
            (400, "http", "ClientError", "请求参数错误"), (403, "http", "AuthError", "访问被拒绝"), (404, "http", "ClientError", "资源未找到"),
            (405, "http", "ClientError", "方法不被允许"), (500, "http", "ServerError", "服务器错误"), (599, "http", "ServerError", "服务器错误"),
            (418, "http", "HTTPError", "未知HTTP错误"), (429, "http", "HTTPError", "未知HTTP错误"), (302, "http", "HTTPError", "未知HTTP错误"),
            (401, "authenticationExpired", "AuthError", "身份验证失败"),
        ])
    func table(_ status: Int, _ kind: String, _ domainName: String, _ message: String) async throws {
        let body = #"{"code":0,"message":"not found"}"#
        let api = TestAPI { _ in answer(status, body) }
        let failures = Failures()
        let net = client(api.baseURL, interceptor: policyP(failures))
        let failure = try await failing { try await net.request(get).interceptDataAsync() }
        #expect(failure.kind.rawValue == kind)
        #expect(failure.message == message)
        #expect(failure.statusCode == status)
        #expect(failure.businessCode == nil)
        #expect(text(failure.responseData) == body)
        #expect(domain(failure) == "\(domainName)/\(status)")
        #expect(failures.all.count == 1)
        api.server.stop()
    }

    @Test("V5: a failure in a 200 is a business failure, never refreshed")
    func business() async throws {
        let api = TestAPI { request in
            answer(200, request.target == "/x" ? #"{"code":10001,"message":"login expired"}"# : #"{"code":"10001","message":"x"}"#)
        }
        let tokens = CountingTokenManager("T1", next: "T2")
        let interceptor = DefaultInterceptor(isSuccess: { $0["code"].intValue == 0 })
        let net = client(api.baseURL, tokens: tokens, interceptor: interceptor)
        let first = try await failing { try await net.request(get).interceptDataAsync() }
        #expect(first.kind == .business && first.statusCode == 200 && first.businessCode == 10001)
        #expect(first.message == "login expired")
        #expect(domain(first) == "BusinessError/10001")
        let second = try await failing {
            try await net.request(RequestModel(path: "/y", method: .get, encoding: .urlDefault)).interceptDataAsync()
        }
        #expect(second.kind == .business && second.businessCode == nil)
        #expect(domain(second) == "BusinessError/200")
        #expect(await tokens.refreshes == 0)
        #expect(api.requests.count == 2)
        api.server.stop()
    }

    @Test(
        "V6: the first non-empty string among the usual members is the reason",
        arguments: [
            (#"{"msg":"M","message":"A"}"#, "A", nil), (#"{"message":"","msg":"M","error":"E"}"#, "M", nil),
            (#"{"error":"E","reason":"R","detail":"D"}"#, "E", nil), (#"{"message":{"x":1},"detail":"D"}"#, "D", nil),
            (#"{"code":7}"#, "拦截器未获取到失败原因", 7),
        ] as [(String, String, Int?)])
    func reasons(_ body: String, _ reason: String, _ code: Int?) async throws {
        let api = TestAPI { _ in answer(200, body) }
        let net = client(api.baseURL, interceptor: DefaultInterceptor(isSuccess: { _ in false }))
        let failure = try await failing { try await net.request(get).interceptDataAsync() }
        #expect(failure.message == reason)
        #expect(failure.businessCode == code)
        api.server.stop()
    }

    @Test("V7: the status comes before what happened to the body, and that before business")
    func precedence() async throws {
        let api = TestAPI { request in
            let status = request.target == "/503" ? 503 : 200
            return "HTTP/1.1 \(status) X\r\nContent-Length: 100\r\nConnection: close\r\n\r\n{\"code\":1,"
        }
        let net = client(api.baseURL)
        let model = { (path: String) in RequestModel(path: path, method: .get, encoding: .urlDefault) }
        let refused = try await failing { try await net.request(model("/503")).interceptDataAsync() }
        #expect(refused.kind == .http && refused.statusCode == 503 && refused.message == "服务器错误")
        let broken = try await failing { try await net.request(model("/200")).interceptDataAsync() }
        #expect(broken.kind == .network && broken.statusCode == 200 && broken.message == "网络连接丢失")
        #expect(text(broken.responseData) == #"{"code":1,"#)
        let dead = client("http://127.0.0.1:\(RawServer.deadPort())")
        let unreachable = try await failing { try await dead.request(get).interceptDataAsync() }
        #expect(unreachable.kind == .network && unreachable.statusCode == nil && unreachable.message == "无法连接到服务器")
        #expect(unreachable.responseData == nil)
        api.server.stop()
    }

    @Test("V7: silence is a network failure with the seeds' text, by the request's own timeout")
    func silence() async throws {
        let server = RawServer { _, connection in
            _ = connection.readHead()
            _ = connection.waitForClose()
        }
        let model = RequestModel(path: "/x", method: .get, encoding: .urlDefault, overtime: 0.2)
        let net = client("http://127.0.0.1:\(server.port)")
        let failure = try await failing { try await net.request(model).interceptDataAsync() }
        #expect(failure.kind == .network && failure.statusCode == nil && failure.message == "请求超时")
        #expect(domain(failure) == "URLError/-1007")
        server.stop()
    }

    @Test("without an interceptor the intercepting methods fail in the seeds' words and the others work")
    func noInterceptor() async throws {
        let api = TestAPI { _ in answer(200, #"{"title":"t"}"#) }
        let net = client(api.baseURL, interceptor: nil)
        let failure = try await failing { try await net.request(get).interceptModelAsync(Title.self) }
        #expect(failure.kind == .interceptorMissing && failure.message == "未配置拦截器，请使用response***获取响应数据")
        #expect(try await net.request(get).responseModelAsync(Title.self) == Title(title: "t"))
        #expect(try await net.request(get, interceptor: policyP()).interceptModelAsync(Title.self) == Title(title: "t"))
        api.server.stop()
    }

    @Test("what is no JSON, empty, or another model is a decoding failure; a 204 is a success without data")
    func decoding() async throws {
        let api = TestAPI { request in
            switch request.target {
            case "/text": answer(200, "hello")
            case "/empty": answer(200, "")
            case "/204": "HTTP/1.1 204 No Content\r\n\r\n"
            default: answer(200, #"{"code":0,"data":{"name":1}}"#)
            }
        }
        let failures = Failures()
        let net = client(api.baseURL, interceptor: policyP(failures))
        for path in ["/text", "/empty", "/model"] {
            let model = RequestModel(path: path, method: .get, encoding: .urlDefault)
            let failure = try await failing { try await net.request(model).interceptModelAsync(Title.self) }
            #expect(failure.kind == .decoding && failure.statusCode == 200, "\(path)")
        }
        #expect(failures.all.count == 3)
        #expect(try await net.request(RequestModel(path: "/204", method: .get)).interceptDataAsync().isEmpty)
        api.server.stop()
    }
}
