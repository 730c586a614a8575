// A small API on raw sockets, a token manager that counts, and a client for both.
// Domain: cold

import CryoNet
import CryoSync
import CryoTestSupport
import Foundation
import Testing

/// A request as the server received it.
struct Received: Sendable {
    var method: String
    var target: String
    var headers: [String: String]
    var body: String
    var number: Int
    var authorization: String? { headers["authorization"] }
}

/// Answers each request by a function of it and keeps them all.
final class TestAPI: Sendable {
    let server: RawServer
    private let hits: @Sendable () -> [Received]

    init(_ answer: @escaping @Sendable (Received) -> String) {
        let received = Shared()
        hits = { received.all }
        server = RawServer { _, connection in
            while let head = connection.readHead() {
                let request = received.add(head) { count in String(decoding: connection.read(count) ?? [], as: UTF8.self) }
                let text = answer(request)
                connection.write(text)
                if text.contains("Connection: close") { return }
            }
        }
    }

    private final class Shared: Sendable {
        private let list = Mutex<[Received]>([])
        var all: [Received] { list.withLock { $0 } }

        func add(_ head: String, body: (Int) -> String) -> Received {
            let lines = head.components(separatedBy: "\r\n")
            let words = lines[0].components(separatedBy: " ")
            var headers: [String: String] = [:]
            for line in lines.dropFirst() {
                guard let colon = line.firstIndex(of: ":") else { continue }
                headers[line[..<colon].lowercased()] = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
            }
            let content = body(headers["content-length"].flatMap { Int($0) } ?? 0)
            return list.withLock { list in
                let request = Received(method: words[0], target: words[1], headers: headers, body: content, number: list.count)
                list.append(request)
                return request
            }
        }
    }

    var requests: [Received] { hits() }
    var baseURL: String { "http://127.0.0.1:\(server.port)" }
}

/// An answer with a JSON body.
func answer(_ status: Int, _ body: String, fields: String = "") -> String {
    "HTTP/1.1 \(status) X\r\nContent-Type: application/json\r\n\(fields)Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
}

actor CountingTokenManager: TokenManagerProtocol {
    private var token: String?
    private let next: String?
    private let gate: Gate?
    private(set) var refreshes = 0

    init(_ token: String?, next: String? = nil, gate: Gate? = nil) {
        self.token = token
        self.next = next
        self.gate = gate
    }

    func getToken() -> String? { token }
    func setToken(_ newToken: String) { token = newToken }
    func clearToken() { token = nil }
    func refreshToken() async -> String? {
        refreshes += 1
        await gate?.pass()
        return next
    }
}

/// Holds whoever passes until it is opened.
actor Gate {
    private var isOpen = false
    private var waiters: [CheckedContinuation<Void, Never>] = []

    func pass() async {
        if isOpen { return }
        await withCheckedContinuation { waiters.append($0) }
    }

    func open() {
        isOpen = true
        for waiter in waiters { waiter.resume() }
        waiters = []
    }
}

/// What happened, in order.
final class Log: Sendable {
    private let lines = Mutex<[String]>([])
    func add(_ line: String) { lines.withLock { $0.append(line) } }
    var all: [String] { lines.withLock { $0 } }
}

final class Failures: Sendable {
    private let list = Mutex<[CryoFailure]>([])
    func add(_ failure: CryoFailure) { list.withLock { $0.append(failure) } }
    var all: [CryoFailure] { list.withLock { $0 } }
}

/// Policy P of the vectors: `code == 0`, `data`, `msg`, `code`.
func policyP(
    _ failures: Failures = Failures(), session: (any AuthenticationSessionManaging)? = nil,
    onFailure: (@Sendable (CryoFailure) -> Void)? = nil
) -> DefaultInterceptor {
    DefaultInterceptor(
        extractData: { json, data in JSON.extractDataFromJSON(json["data"], originalData: data) },
        isSuccess: { $0["code"].intValue == 0 }, extractFailureReason: { json, _ in json["msg"].string },
        extractBusinessCode: { json, _ in json["code"].int }, authenticationSession: session,
        handleFailure: { failure, _ in
            failures.add(failure)
            onFailure?(failure)
        })
}

func client(
    _ baseURL: String, tokens: any TokenManagerProtocol = DefaultTokenManager(), interceptor: (any RequestInterceptorProtocol)? = policyP(),
    timeout: TimeInterval = 20, retry: RetryPolicy = RetryPolicy()
) -> CryoNet {
    CryoNet { config in
        config.baseURL = baseURL
        config.defaultTimeout = timeout
        config.tokenManager = tokens
        config.interceptor = interceptor
        config.retry = retry
    }
}

let get = RequestModel(path: "/x", method: .get, encoding: .urlDefault)

/// The failure an operation ends in.
func failing<Value: Sendable>(of operation: () async throws -> Value) async throws -> CryoFailure {
    do {
        let value = try await operation()
        Issue.record("succeeded with \(value)")
        throw CancellationError()
    } catch let failure as CryoFailure {
        return failure
    }
}

func domain(_ failure: CryoFailure) -> String { (failure.underlyingError as? CryoError).map { "\($0.domain)/\($0.code)" } ?? "" }
func text(_ data: Data?) -> String { data.map { String(decoding: $0, as: UTF8.self) } ?? "" }
