// Every method that takes an answer: its value of a success, its failure, with callbacks and with async calls, in the order of asking.
// Domain: cold

import CryoNet
import CryoSync
import CryoTestSupport
import Foundation
import Testing

private struct Item: Codable, Equatable, Sendable {
    let id: Int
}

private struct Envelope: Codable, Sendable {
    let code: Int
    let data: Item
}

@Suite struct ResultMethodsTests {
    /// Waits for `count` lines, told by callbacks.
    private final class Told: Sendable {
        let log = Log()
        private let gate = Gate()
        private let missing: Mutex<Int>

        init(_ count: Int) { missing = Mutex(count) }

        func add(_ line: String) {
            log.add(line)
            let isLast = missing.withLock { missing in
                missing -= 1
                return missing == 0
            }
            if isLast { Task { await gate.open() } }
        }

        var all: [String] {
            get async {
                await gate.pass()
                return log.all
            }
        }
    }

    @Test("each response method gives its value past the interceptor; one answer serves all, in the order of asking")
    func directValues() async throws {
        let api = TestAPI { request in answer(200, request.target == "/list" ? #"[{"id":1},{"id":2}]"# : #"{"id":7}"#) }
        let net = client(api.baseURL, interceptor: nil)
        let told = Told(4)
        let one = net.request(get)
            .responseData {
                told.add("data \(text($0))")
            } failed: {
                told.add("\($0.kind)")
            }
            .responseJSON {
                told.add("json \($0["id"].intValue)")
            } failed: {
                told.add("\($0.kind)")
            }
            .responseModel(type: Item.self) {
                told.add("model \($0.id)")
            } failed: {
                told.add("\($0.kind)")
            }
            .responseModelArray(type: Item.self) { _ in
                told.add("array")
            } failed: {
                told.add("array \($0.kind)")
            }
        #expect(await told.all == [#"data {"id":7}"#, "json 7", "model 7", "array decoding"])
        #expect(try await text(one.responseDataAsync()) == #"{"id":7}"#)
        #expect(try await one.responseJSONAsync()["id"].intValue == 7)
        #expect(try await one.responseModelAsync(Item.self) == Item(id: 7))
        #expect(try await one.responseAsync().statusCode == 200)
        #expect(api.requests.count == 1)

        let list = net.request(RequestModel(path: "/list", method: .get))
        let listed = Told(1)
        list.responseModelArray(type: Item.self) {
            listed.add("\($0.map(\.id))")
        } failed: {
            listed.add("\($0.kind)")
        }
        #expect(await listed.all == ["[1, 2]"])
        #expect(try await list.responseModelArrayAsync(Item.self) == [Item(id: 1), Item(id: 2)])
        #expect(try await failing { try await list.responseModelAsync(Item.self) }.kind == .decoding)
        api.server.stop()
    }

    @Test("a status outside 2xx fails every response method but the one that gives the answer as it is")
    func directFailures() async throws {
        let api = TestAPI { _ in answer(503, #"{"id":7}"#) }
        let net = client(api.baseURL, interceptor: nil)
        let told = Told(4)
        let one = net.request(get)
            .responseData { _ in
                told.add("value")
            } failed: {
                told.add("\($0.kind) \($0.statusCode ?? 0)")
            }
            .responseJSON { _ in
                told.add("value")
            } failed: {
                told.add("\($0.kind) \($0.statusCode ?? 0)")
            }
            .responseModel(type: Item.self) { _ in
                told.add("value")
            } failed: {
                told.add("\($0.kind) \($0.statusCode ?? 0)")
            }
            .responseModelArray(type: Item.self) { _ in
                told.add("value")
            } failed: {
                told.add("\($0.kind) \($0.statusCode ?? 0)")
            }
        #expect(await told.all == Array(repeating: "http 503", count: 4))
        #expect(try await one.responseAsync().statusCode == 503)
        for failure in [
            try await failing { try await one.responseDataAsync() }, try await failing { try await one.responseJSONAsync() },
            try await failing { try await one.responseModelAsync(Item.self) },
            try await failing { try await one.responseModelArrayAsync(Item.self) },
        ] {
            #expect(failure.kind == .http && failure.statusCode == 503 && text(failure.responseData) == #"{"id":7}"#)
        }
        api.server.stop()
    }

    @Test("each intercept method gives the data or the whole of a success, with callbacks and with async calls")
    func interceptedValues() async throws {
        let api = TestAPI { request in
            answer(200, request.target == "/list" ? #"{"code":0,"data":[{"id":1},{"id":2}]}"# : #"{"code":0,"data":{"id":7}}"#)
        }
        let net = client(api.baseURL)
        let told = Told(4)
        let one = net.request(get)
            .interceptJSON {
                told.add("json \($0["data"]["id"].intValue)")
            } failed: {
                told.add($0)
            }
            .interceptModel(type: Item.self) {
                told.add("model \($0.id)")
            } failed: {
                told.add($0)
            }
            .interceptModelCompleteData(type: Envelope.self) {
                told.add("whole \($0.data.id)")
            } failed: {
                told.add($0)
            }
        let list = net.request(RequestModel(path: "/list", method: .get))
        #expect(try await one.interceptJSONAsync()["code"].intValue == 0)
        #expect(try await one.interceptModelAsync(Item.self) == Item(id: 7))
        #expect(try await one.interceptModelCompleteDataAsync(Envelope.self).data == Item(id: 7))
        list.interceptModelArray(type: Item.self) {
            told.add("array \($0.map(\.id))")
        } failed: {
            told.add($0)
        }
        #expect(await told.all == ["json 7", "model 7", "whole 7", "array [1, 2]"])
        #expect(try await list.interceptModelArrayAsync(Item.self).count == 2)
        api.server.stop()
    }

    @Test("a refused answer gives each who asked its message and its failure; the interceptor hears of it once")
    func interceptedFailures() async throws {
        let api = TestAPI { _ in answer(200, #"{"code":40013,"msg":"no money","data":null}"#) }
        let failures = Failures()
        let net = client(api.baseURL, interceptor: policyP(failures))
        let told = Told(8)
        let failed: @Sendable (String) -> Void = { told.add($0) }
        let failure: @Sendable (CryoFailure) -> Void = { told.add("\($0.kind) \($0.businessCode ?? 0)") }
        let one = net.request(get)
            .interceptJSON(success: { _ in told.add("value") }, failed: failed, failure: failure)
            .interceptModel(type: Item.self, success: { _ in told.add("value") }, failed: failed, failure: failure)
            .interceptModelArray(type: Item.self, success: { _ in told.add("value") }, failed: failed, failure: failure)
            .interceptModelCompleteData(type: Envelope.self, success: { _ in told.add("value") }, failed: failed, failure: failure)
        #expect(await told.all == (0..<4).flatMap { _ in ["no money", "business 40013"] })
        #expect(try await failing { try await one.interceptJSONAsync() }.businessCode == 40013)
        #expect(failures.all.count == 1)
        api.server.stop()
    }
}
