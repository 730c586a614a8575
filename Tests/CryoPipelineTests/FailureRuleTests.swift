// What a policy makes of failures: rules by business code, texts, the two modes, the two formats and what Accept leaves of them.
// Domain: cold

import CryoHTTP
import CryoJSON
import Testing

@testable import CryoPipeline

private let json = [("Content-Type", "application/json")]

private func contentType(_ accept: [String], _ format: FailureFormat = .problem) -> String {
    "\(format.contentType(section(accept.map { ("Accept", $0) })))"
}

private func rejected(_ code: String, headers: [String] = [], _ change: (inout PolicySettings) -> Void) -> Bench {
    let bench = Bench(policy: envelope(change))
    bench.begin(requestHead("/t", headers))
    bench.answer(200, json, "{\"code\":\(code),\"msg\":\"m\"}")
    return bench
}

@Suite("A policy's failures")
struct FailureRuleTests {
    @Test("an exact code wins over the longest beginning, that over a shorter one, and * takes the rest")
    func lookup() {
        let table = CodeTable(["10001": 401, "100*": 403, "1*": 409, "*": 500, "E_*": 418])
        for (code, status) in [
            ("10001", 401), ("10002", 403), ("100", 403), ("11", 409), ("7", 500), ("E_X", 418), ("e_x", 500), (nil, 500), ("", 500),
        ] as [(String?, UInt16)] {
            #expect(table.rule(for: code.map { Array($0.utf8) })?.status == status, "\(code ?? "none")")
        }
        #expect(CodeTable(["1*": 409]).rule(for: Array("2".utf8)) == nil && CodeTable([:]).rule(for: nil) == nil)
    }

    @Test("a code has its own status, name, text and hope; what it leaves out is as for any other")
    func rules() {
        func bench(_ code: String, _ headers: [String] = []) -> Bench {
            rejected(code, headers: headers) {
                $0.codes = [
                    "10001": CodeRule(
                        status: 401, name: "TokenExpired", message: LocalizedText(chinese: "登录已过期", english: "Session expired.")),
                    "5*": CodeRule(name: "Busy", isRetryable: true), "\"": 400,
                ]
            }
        }
        var body = object(bench("10001", ["Accept-Language: en"]).reply)
        #expect(body["status"] as? Int == 401 && body["codeName"] as? String == "TokenExpired" && body["retryable"] as? Bool == false)
        #expect(body["message"] as? String == "Session expired." && body["kind"] as? String == "business")
        #expect(object(bench("10001").reply)["message"] as? String == "登录已过期")
        body = object(bench("\"50013\"").reply)
        #expect(body["status"] as? Int == 422 && body["codeName"] as? String == "Busy" && body["retryable"] as? Bool == true)
        #expect(body["message"] as? String == "m" && body["businessCode"] as? String == "50013")
        body = object(bench("12345").reply)
        #expect(body["codeName"] as? String == "UnknownError" && body["code"] as? Int == 12345 && body["retryable"] as? Bool == false)
    }

    @Test("where codes have names, every other failure of the route is an UnknownError; where they have none, no failure has one")
    func names() {
        for (codes, name) in [(["1": CodeRule(name: "One")], "UnknownError"), (["1": 401], nil)] as [([String: CodeRule], String?)] {
            let bench = Bench(policy: envelope { $0.codes = codes })
            bench.begin(requestHead())
            bench.fail(.connectRefused)
            #expect(object(bench.reply)["codeName"] as? String == name)
        }
    }

    @Test("a code whose rule ends the session ends it once, and is a 401 unless the rule says otherwise")
    func sessions() {
        for (rule, status) in [(CodeRule(endsSession: true), 401), (CodeRule(status: 403, endsSession: true), 403)] as [(CodeRule, UInt16)]
        {
            let bench = rejected("7001") { $0.codes = ["70*": rule] }
            #expect(bench.sink.status == status && bench.events.expired.count == 1)
        }
        #expect(rejected("7001") { $0.codes = ["70*": 401] }.events.expired.isEmpty)
    }

    @Test("texts: the upstream's own, the status's, the fallback of a 4xx, the reason's, the table's")
    func texts() {
        func message(_ status: UInt16, _ body: String, headers: [String] = [], _ change: @escaping (inout PolicySettings) -> Void)
            -> String?
        {
            let bench = Bench(policy: envelope(change))
            bench.begin(requestHead("/t", headers))
            bench.answer(status, json, body)
            return object(bench.reply)["message"] as? String
        }
        func all(_ settings: inout PolicySettings) {
            settings.errorMessagePaths = ["message"].compactMap { JSONPath($0) }
            settings.statusMessages = [404: LocalizedText(chinese: "没有", english: "none here"), 500: LocalizedText("500")]
            settings.errorMessageFallback = "客户端错误"
            settings.reasonMessages = [
                .upstreamStatus: LocalizedText("oops"), .businessRejected: LocalizedText("no"), .responseNotJSON: LocalizedText("j"),
            ]
        }
        #expect(message(404, #"{"message":"gone"}"#, all) == "gone")
        #expect(message(404, "{}", all) == "没有" && message(404, "x", headers: ["Accept-Language: en"], all) == "none here")
        #expect(message(409, "{}", all) == "客户端错误" && message(500, "{}", all) == "500" && message(503, "{}", all) == "oops")
        #expect(message(503, "{}") { _ in } == "服务器错误")
        #expect(message(200, #"{"code":5}"#, all) == "no" && message(200, #"{"code":5,"error":"E"}"#, all) == "E")
        #expect(message(200, "{", all) == "j" && message(200, "{") { _ in } == "JSON解析失败")
        #expect(message(200, "") { $0.empty = .fail } == "响应数据为空")
        let network = Bench(policy: envelope { $0.reasonMessages = [.connectRefused: LocalizedText("down")] })
        network.begin(requestHead())
        network.fail(.connectRefused)
        #expect(object(network.reply)["message"] as? String == "down")
    }

    @Test("annotate keeps status, body and fields, and adds what the failure is")
    func annotate() {
        let body = #"{"code":40013,"msg":"m"}"#
        let business = Bench(policy: envelope { $0.failureMode = .annotate })
        business.begin(requestHead())
        business.answer(200, json + [("ETag", "1")], body)
        #expect(business.sink.status == 200 && business.reply == body && business.sink.ending == .finished)
        #expect(
            lines(business.sink.fields) == [
                "Content-Type: application/json", "ETag: 1", requestIDLine(business), "CryoNet-Failure: business/business_rejected",
                "Proxy-Status: cryonet; received-status=200", "CryoNet-Business-Code: 40013",
            ])
        let record = object(business.audit.lines.last)
        #expect((record["failure"] as? [String: Any])?["reason"] as? String == "business_rejected" && record["status"] as? Int == 200)

        let status = Bench(policy: envelope { $0.failureMode = .annotate })
        status.begin(requestHead())
        status.answer(503, json, "sorry")
        #expect(status.sink.status == 503 && status.reply == "sorry")
        #expect(lines(status.sink.fields).contains("CryoNet-Failure: http/upstream_status"))

        let odd = Bench(policy: envelope { $0.failureMode = .annotate })
        odd.begin(requestHead())
        odd.answer(200, json, "{")
        #expect(
            odd.sink.status == 200 && odd.reply == "{" && lines(odd.sink.fields).contains("CryoNet-Failure: decoding/response_not_json"))

        let network = Bench(policy: envelope { $0.failureMode = .annotate })
        network.begin(requestHead())
        network.fail(.connectRefused)
        #expect(
            network.sink.status == 502 && object(network.reply)["reason"] as? String == "connect_refused", "there is nothing to annotate")
    }

    @Test("annotate: a code that is no plain token is left to the body; a refused token's answer is marked as its own")
    func annotateOddities() {
        for code in [#""a b""#, #""余""#, "\"" + String(repeating: "x", count: 65) + "\"", "null"] {
            let bench = rejected(code) { $0.failureMode = .annotate }
            #expect(!lines(bench.sink.fields).contains { $0.hasPrefix("CryoNet-Business-Code") }, "\(code)")
        }
        let longest = rejected("\"" + String(repeating: "x", count: 64) + "\"") { $0.failureMode = .annotate }
        #expect(lines(longest.sink.fields).contains { $0.hasPrefix("CryoNet-Business-Code") })
        let refused = Bench(canRefresh: false, policy: envelope { $0.failureMode = .annotate })
        refused.begin(requestHead())
        refused.answer(401, json, "no")
        #expect(refused.sink.status == 401 && refused.reply == "no")
        #expect(lines(refused.sink.fields).contains("CryoNet-Failure: authenticationExpired/upstream_status"))
    }

    @Test("the media type is that of a problem unless the client takes plain JSON only")
    func mediaTypes() {
        for accept in [
            [], ["*/*"], ["application/json, text/plain, */*"], ["application/problem+json"], ["application/*"], ["text/html"], [""],
            ["application/json", "*/*;q=0.1"], ["application/json;q=0"], ["application/problem+json, application/json"],
        ] { #expect(contentType(accept) == "application/problem+json", "\(accept)") }
        for accept in [
            ["application/json"], ["Application/JSON;q=0.5, text/plain"], ["text/html", "application/json"],
            ["application/json, */*;q=0"], ["application/json, */*, application/problem+json;q=0"], ["application/json; charset=utf-8"],
        ] { #expect(contentType(accept) == "application/json", "\(accept)") }
        #expect(contentType([], .message) == "application/json")
    }

    @Test("the legacy format has the message and nothing else; headers and status are the same")
    func legacy() {
        let bench = rejected("7") { $0.failureFormat = .message }
        #expect(bench.reply == #"{"message":"m"}"# && bench.sink.status == 422)
        #expect(lines(bench.sink.fields).contains("Content-Type: application/json"))
        #expect(lines(bench.sink.fields).contains("CryoNet-Failure: business/business_rejected"))
    }
}
