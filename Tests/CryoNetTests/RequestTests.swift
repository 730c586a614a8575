// What goes over the wire: URLs, parameters, bodies, retries, codings; and that answers are shared in order.
// Domain: cold

import CryoNet
import CryoSync
import CryoTestSupport
import Foundation
import Testing

@Suite struct RequestTests {
    @Test("base URL and path are joined by one slash, and parameters go where the encoding says")
    func wire() async throws {
        let api = TestAPI { _ in answer(200, "{}") }
        let net = client(api.baseURL + "/v1/")
        let parameters: [String: any Sendable] = ["b": [1, 2], "a": "x &好", "c": true, "d": ["k": 1.5]]
        _ = try await net.request(RequestModel(path: "/q?z=1", method: .get, encoding: .urlDefault), parameters: parameters)
            .responseDataAsync()
        _ = try await net.request(RequestModel(path: "f", method: .post, encoding: .urlDefault), parameters: parameters).responseDataAsync()
        _ = try await net.request(RequestModel(path: "j", method: .put), parameters: parameters).responseDataAsync()
        _ = try await net.request(RequestModel(path: api.baseURL + "/abs", applyBasicURL: false)).responseDataAsync()
        let form = "a=x%20%26%E5%A5%BD&b%5B%5D=1&b%5B%5D=2&c=1&d%5Bk%5D=1.5"
        let requests = api.requests
        #expect(requests.map(\.target) == ["/v1/q?z=1&\(form)", "/v1/f", "/v1/j", "/abs"])
        #expect(requests.map(\.body) == ["", form, #"{"a":"x &好","b":[1,2],"c":true,"d":{"k":1.5}}"#, ""])
        #expect(requests[1].headers["content-type"] == "application/x-www-form-urlencoded; charset=utf-8")
        #expect(requests[3].headers["content-length"] == "0" && requests[3].method == "POST")
        api.server.stop()
    }

    @Test(
        "what can't be sent fails unsent with kind unknown", arguments: ["", "ftp://x/", "http://u:p@127.0.0.1/", "/relative", "http://"])
    func unsendable(_ url: String) async throws {
        let net = client("")
        let failure = try await failing { try await net.request(RequestModel(path: url, method: .get)).interceptDataAsync() }
        #expect(failure.kind == .unknown && failure.message == "请求适配失败")
        let header = HTTPHeader(name: "X", value: "a\r\nInjected: 1")
        let model = RequestModel(path: "http://127.0.0.1:9/", method: .get)
        let injected = try await failing { try await net.request(model, headers: [header]).interceptDataAsync() }
        #expect(injected.kind == .unknown)
    }

    @Test("a large body arrives whole, also when it is sent again after a refresh")
    func largeBody() async throws {
        let api = TestAPI { request in request.authorization == "Bearer T2" ? answer(200, "{}") : answer(401, "{}") }
        let net = client(api.baseURL, tokens: CountingTokenManager("T1", next: "T2"))
        let size = 1 << 20
        let text = String(repeating: "0123456789abcdef", count: size / 16)
        _ = try await net.request(RequestModel(path: "/big"), parameters: ["t": text]).responseDataAsync()
        #expect(api.requests.map(\.body.utf8.count) == [size + 8, size + 8])
        #expect(api.requests.last?.body == #"{"t":"\#(text)"}"#)
        api.server.stop()
    }

    @Test("V8: a passing failure is retried for methods that allow it, as often as asked for")
    func retry() async throws {
        let api = TestAPI { request in
            request.target == "/later" && request.number == 2 ? answer(200, "{}") : answer(503, "{}")
        }
        let net = client(api.baseURL, retry: RetryPolicy(limit: 2, scale: 0.01))
        _ = try await net.request(RequestModel(path: "/later", method: .get)).interceptDataAsync()
        #expect(api.requests.count == 3)
        let post = try await failing { try await net.request(RequestModel(path: "/post")).interceptDataAsync() }
        #expect(post.kind == .http && api.requests.count == 4)
        api.server.stop()
    }

    @Test("several who wait for one request share its answer, in the order they asked")
    func shared() async throws {
        let api = TestAPI { _ in answer(500, "{}") }
        let log = Log()
        let net = client(api.baseURL, interceptor: policyP { _ in log.add("global") })
        let result = net.request(get)
        #expect(api.requests.isEmpty)
        result.responseData { _ in
            log.add("no")
        } failed: {
            log.add("1 \($0.kind)")
        }
        .interceptJSON(success: { _ in log.add("no") }, failure: { log.add("2 \($0.kind)") })
        .interceptJSON(success: { _ in log.add("no") }, failed: { log.add("3 \($0)") })
        _ = try await failing { try await result.interceptDataAsync() }
        #expect(log.all == ["1 http", "global", "2 http", "3 服务器错误"])
        #expect(api.requests.count == 1)
        api.server.stop()
    }

    @Test("a server that marks its answers as a gateway's is not taken for the pipeline")
    func marks() async throws {
        let body = #"{"kind":"network"}"#
        let api = TestAPI { _ in answer(200, body, fields: "CryoNet-Failure: network/reset\r\nProxy-Status: cryonet; error=x\r\n") }
        let response = try await client(api.baseURL).request(get).responseAsync()
        #expect(response.statusCode == 200 && text(response.data) == body && response.attempts == 1)
        #expect(response.value(forHTTPHeaderField: "cryonet-failure") == "network/reset")
        api.server.stop()
    }

    @Test("content codings are taken off, and a broken one is a network failure")
    func codings() async throws {
        // printf '{"code":0,"data":1}' | gzip -9n
        let zipped: [UInt8] = GzipFixture.bytes
        let server = RawServer { _, connection in
            while let head = connection.readHead() {
                let bytes = head.contains("/ok") ? zipped : Array(zipped.dropLast(4))
                connection.write("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(bytes.count)\r\n\r\n")
                connection.write(bytes)
            }
        }
        let net = client("http://127.0.0.1:\(server.port)")
        #expect(text(try await net.request(RequestModel(path: "/ok", method: .get)).interceptDataAsync()) == "1")
        let broken = try await failing { try await net.request(RequestModel(path: "/bad", method: .get)).interceptDataAsync() }
        #expect(broken.kind == .network && broken.statusCode == 200)
        server.stop()
    }

    @Test("JSON reads as the seeds' did: missing is zero, strings count as the number they begin with")
    func json() throws {
        let json = try #require(
            JSON(data: Data(#" {"a":{"b":[1,{"c":"好\n"}]},"n":12.9,"s":"7x","t":true,"z":null,"big":123456789012345678901} "#.utf8)))
        #expect(json["a"]["b"][1]["c"].string == "好\n")
        #expect(json["a"]["b"][0].int == 1 && json["a"]["b"][2].exists() == false)
        #expect(json["n"].int == 12 && json["n"].double == 12.9 && json["s"].int == nil && json["s"].intValue == 7)
        #expect(json["t"].bool == true && json["t"].int == 1 && json["z"].isNull && json["z"].exists())
        #expect(json["q"].intValue == 0 && json["big"].int == nil && json["big"].stringValue == "123456789012345678901")
        #expect(json["s"] == "7x")
        #expect(text(json["a"]["b"].rawData) == #"[1,{"c":"好\n"}]"#)
        #expect(JSON(data: Data("{".utf8)) == nil && JSON(data: Data()) == nil)
    }
}
