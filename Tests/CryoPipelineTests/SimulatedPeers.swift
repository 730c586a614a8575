// The two sides of a simulated exchange: a client that sends, reads, stalls and leaves, and an upstream that answers as it likes.
// Domain: cold

import CryoHTTP
import CryoSync

@testable import CryoPipeline

/// A client with its connection. Checks that it gets one reply, and nothing after it.
final class SimulatedClient: ReplySink, Scheduler {
    let world: SimulatedWorld
    let worker: SimulatedWorker
    let number: Int
    private var exchange: Exchange?
    private var heads = 0
    private var isOver = false
    private var isFailure = false
    private var failureBody: [UInt8] = []
    private var pendingWake = UInt64.max
    private var bodyLeft: Range<Int>
    private var isBodyPaused = false
    private var isSending = false
    /// Attempts that were begun for this exchange.
    var attempts = 0
    /// The login of the first attempt: no other may carry the rest.
    var login: SessionRevision?
    /// What the route and the request say about the token: nil, none goes.
    private(set) var token: SimulatedToken?
    private(set) var isOptional = false
    /// The request names a token or policy that is not there.
    private var asksForUnknown = false

    init(_ world: SimulatedWorld, number: Int) {
        self.world = world
        self.number = number
        worker = world.workers[number % world.workers.count]
        let size: Int
        switch Int.random(in: 0..<200, using: &world.random) {
        case 0..<120: size = 0
        case 120..<199: size = Int.random(in: 1...3_000, using: &world.random)
        default: size = Int.random(in: 260_000...400_000, using: &world.random)
        }
        bodyLeft = 0..<size
    }

    var bodySize: Int { bodyLeft.upperBound }

    func start() {
        let route = SimulatedWorld.routes.randomElement(using: &world.random) ?? SimulatedWorld.routes[0]
        token = route.token.map { world.tokens[$0] }
        isOptional = route.isOptional
        let wishes = wish(on: route.name)
        let method = bodySize > 0 ? (world.chance(50) ? "POST" : "PUT") : (world.chance(90) ? "GET" : "HEAD")
        let framing = bodySize == 0 ? [] : world.chance(50) ? ["Content-Length: \(bodySize)"] : ["Transfer-Encoding: chunked"]
        let query = world.chance(30) ? "?a=1&k=mine" : ""
        let own = world.chance(30) ? ["Authorization: Basic mine", "Cookie: a=b; sid=mine"] : []
        let fields = ["X-Request-Id: sim-request-\(number)"] + wishes + own + framing
        guard let head = requestHead("/\(route.name)/x\(query)", method: method, fields), let plan = world.plan
        else { return world.report("request \(number) did not parse") }
        let spill = world.spill
        let exchange = Exchange(
            head: head, plan: plan,
            environment: ExchangeEnvironment(
                forwarder: worker.forwarder, scanner: worker.scanner, openSpill: { spill.make() }, decode: { _, _, _ in .broken },
                counters: worker.counters),
            context: ConnectionContext(
                sink: self, scheduler: self, client: Array("127.0.0.1:1".utf8), localPort: 8080, workerIndex: 0, isTLS: false,
                startNanoseconds: nanoseconds,
                startUnixMicroseconds: unixMicroseconds))
        self.exchange = exchange
        worker.forwarder.clients[ObjectIdentifier(exchange)] = self
        exchange.begin()
        if world.chance(6) { world.after(microseconds: 1...3_000_000) { [self] in leave() } }
        // Also those who lead a refresh, or wait for one.
        if exchange.ticket != nil, world.chance(10) { world.after(microseconds: 1...50_000) { [self] in leave() } }
        sendBody()
    }

    /// What the request chooses for itself, where it may and where it may not.
    private func wish(on route: String) -> [String] {
        guard world.chance(route == "choice" ? 70 : 5) else { return [] }
        let name = ["app", "second", "third", "none", "nobody"].randomElement(using: &world.random) ?? "none"
        let policy = world.chance(30) ? ["CryoNet-Policy: envelope"] : world.chance(3) ? ["CryoNet-Policy: nothing"] : []
        if route == "choice" {
            token = world.tokens.first { $0.name == name }
            asksForUnknown = name == "nobody" || policy == ["CryoNet-Policy: nothing"]
        }
        return ["CryoNet-Token: \(name)"] + policy
    }

    private func sendBody() {
        guard !isOver, let exchange, !isSending, !isBodyPaused else { return }
        if bodyLeft.isEmpty { return exchange.receiveBodyEnd() }
        isSending = true
        world.after(microseconds: 1...2_000) { [self] in
            isSending = false
            guard !isOver, let exchange = self.exchange, !isBodyPaused else { return }
            let count = min(bodyLeft.count, Int.random(in: 1...max(1, bodySize / 3), using: &world.random))
            let range = bodyLeft.lowerBound..<bodyLeft.lowerBound + count
            bodyLeft = range.upperBound..<bodyLeft.upperBound
            let flow = SimulatedWorld.bodyPattern.withUnsafeBytes { exchange.receiveBody(UnsafeRawBufferPointer(rebasing: $0[range])) }
            if flow == .pause { isBodyPaused = true } else { sendBody() }
        }
    }

    private func leave() {
        guard !isOver, let exchange else { return }
        close()
        exchange.clientGone()
        if !exchange.isOver { world.report("exchange \(number) goes on without its client") }
        check(exchange)
    }

    private func close() {
        isOver = true
        world.wasEnded += 1
    }

    private func check(_ exchange: Exchange) {
        if exchange.machine.authRetries > 1 { world.report("exchange \(number) had \(exchange.machine.authRetries) auth retries") }
        if exchange.ticket != nil { world.report("exchange \(number) still waits for a token") }
        if exchange.isAttemptOpen { world.report("exchange \(number) left an attempt open") }
        if attempts != Int(exchange.machine.attempts) { world.report("exchange \(number) miscounts its attempts") }
        if asksForUnknown, attempts > 0 { world.report("exchange \(number) went on with a name that names nothing") }
        if attempts > 4 { world.report("exchange \(number) made \(attempts) attempts") }
        worker.forwarder.checkEnded(of: exchange)
        worker.forwarder.clients[ObjectIdentifier(exchange)] = nil
        self.exchange = nil
    }

    // MARK: ReplySink

    func sendContinue() {}

    func sendHead(status: UInt16, fields: FieldSection, framing: BodyFraming) {
        if isOver || heads > 0 { world.report("exchange \(number) sent a second head, or one after its end") }
        heads += 1
        isFailure = fields.value(of: "content-type").map { $0 == Array("application/problem+json".utf8) } ?? false
        world.statuses[status, default: 0] += 1
        if let reason = fields.value(of: "cryonet-failure") { world.reasons[reason, default: 0] += 1 }
    }

    func sendBody(_ bytes: UnsafeRawBufferPointer) -> Flow {
        if isOver || heads == 0 { world.report("exchange \(number) sent bytes outside its reply") }
        if isFailure { failureBody.append(contentsOf: bytes) }
        guard world.chance(10) else { return .more }
        world.after(microseconds: 1...(world.chance(5) ? 5_000_000 : 5_000)) { [self] in
            if !isOver { exchange?.replyDrained() }
        }
        return .pause
    }

    func finish() { end("finish") }
    func abort() { end("abort") }

    private func end(_ what: String) {
        if isOver || heads != 1 { world.report("exchange \(number): \(what) after \(heads) heads") }
        close()
        if failureBody.withUnsafeBytes(world.live.isIn) { world.report("a secret in failure \(number)") }
        if let exchange { check(exchange) }
    }

    func endTunnelReply() { world.report("request \(number): a tunnel nobody asked for") }

    func resumeRequestBody() {
        if isOver { world.report("exchange \(number) asks for its body after its end") }
        isBodyPaused = false
        sendBody()
    }

    // MARK: Scheduler

    var nanoseconds: UInt64 { world.clock.nanoseconds }
    var unixMicroseconds: Int64 { world.unixMicroseconds }
    func random() -> UInt64 { world.random.next() }
    var submit: @Sendable (@escaping @Sendable () -> Void) -> Void {
        let queue = worker.queue
        return { queue.submit($0) }
    }

    func wake(at nanoseconds: UInt64) {
        guard nanoseconds < pendingWake else { return }
        pendingWake = nanoseconds
        world.heap.push(nanoseconds) { [self] in
            guard pendingWake == nanoseconds else { return }
            pendingWake = .max
            exchange?.deadlineReached(world.clock.nanoseconds)
        }
    }
}

/// One worker's upstream. Reads the request, judges its token, and answers by chance.
final class SimulatedForwarder: Forwarder {
    private final class Attempt {
        let id: AttemptID
        let exchange: Exchange
        let request: AttemptRequest
        let size: Int
        /// The token that judges it.
        let token: SimulatedToken?
        var received = 0
        /// Has read all it wants of the request.
        var isSated = false
        var isOpen = true
        var isPaused = false
        var answer: [[UInt8]] = []
        var ending: Ending = .ended

        init(id: AttemptID, exchange: Exchange, request: AttemptRequest, size: Int, token: SimulatedToken?) {
            self.id = id
            self.exchange = exchange
            self.request = request
            self.size = size
            self.token = token
        }
    }
    private enum Ending { case ended, truncated, silent }

    private unowned let world: SimulatedWorld
    private var attempts: [UInt32: Attempt] = [:]
    private var slots: UInt32 = 0
    var clients: [ObjectIdentifier: SimulatedClient] = [:]

    init(_ world: SimulatedWorld) { self.world = world }

    var open: Int { attempts.count }

    func begin(_ request: AttemptRequest, for exchange: Exchange) -> AttemptID {
        slots += 1
        let id = AttemptID(slot: slots, generation: slots)
        let client = clients[ObjectIdentifier(exchange)]
        client?.attempts += 1
        if exchange.statusSent != 0 { world.report("an attempt after the reply began") }
        if let client { inspect(request, of: exchange, client) }
        let attempt = Attempt(
            id: id, exchange: exchange, request: request, size: request.framing == .none ? 0 : client?.bodySize ?? 0, token: client?.token)
        attempts[slots] = attempt
        world.after(microseconds: 10...3_000) { [self] in readRequest(attempt) }
        return id
    }

    /// Exactly the token of the route or of the request's choice, once, alive, and of the login the exchange began with.
    private func inspect(_ request: AttemptRequest, of exchange: Exchange, _ client: SimulatedClient) {
        let sent = values(of: request)
        for (index, token) in world.tokens.enumerated() where token !== client.token {
            if sent[index].contains(where: { $0.contains("SIMSECRET") }) { world.report("a token of \(token.name) where none belongs") }
        }
        if request.fields.value(of: "cryonet-token") != nil || request.fields.value(of: "cryonet-policy") != nil {
            world.report("a choice went on to the upstream")
        }
        guard let token = client.token, let index = world.tokens.firstIndex(where: { $0 === token }) else { return }
        if sent[index].isEmpty {
            if !client.isOptional { world.report("an attempt without its token") }
            world.injected["none", default: 0] += 1
            return
        }
        world.injected[token.name, default: 0] += 1
        guard sent[index].count == 1, let number = number(in: sent[index][0]) else {
            return world.report("\(token.name): \(sent[index].count) values, or one of the client")
        }
        if token.hasExpired(number) { world.report("\(token.name): an expired token was sent") }
        guard let credential = exchange.credential, SimulatedSecret.number(of: credential.token) == number else {
            return world.report("\(token.name): another token than the exchange holds")
        }
        if let login = client.login, login != credential.revision { world.report("\(token.name): a request changed its login") }
        client.login = credential.revision
    }

    /// What the request carries where each token goes.
    private func values(of request: AttemptRequest) -> [[String]] {
        let fields = lines(request.fields)
        let target = String(decoding: request.target, as: UTF8.self)
        func named(_ name: String, in parts: [Substring]) -> [String] {
            parts.compactMap { part in
                let part = part.drop { $0 == " " }
                return part.hasPrefix(name + "=") ? String(part.dropFirst(name.count + 1)) : nil
            }
        }
        return [
            fields.filter { $0.lowercased().hasPrefix("authorization: ") },
            named("k", in: target.split(separator: "?").dropFirst().flatMap { $0.split(separator: "&") }),
            named("sid", in: fields.filter { $0.lowercased().hasPrefix("cookie: ") }.flatMap { $0.dropFirst(8).split(separator: ";") }),
        ]
    }

    private func number(in value: String) -> Int? {
        Array(value.utf8).withUnsafeBytes { SimulatedSecret.numbers(after: SimulatedSecret.mark, in: $0).first }
    }

    func cancel(_ attempt: AttemptID) { close(attempt.slot) }

    func resumeResponse(_ attempt: AttemptID) {
        guard let attempt = attempts[attempt.slot], attempt.isPaused else { return }
        attempt.isPaused = false
        world.after(microseconds: 1...100) { [self] in deliver(attempt) }
    }

    func requestBodyReady(_ attempt: AttemptID) {
        guard let attempt = attempts[attempt.slot] else { return }
        world.after(microseconds: 0...50) { [self] in readRequest(attempt) }
    }

    /// Takes what a socket might: nothing, a part or all.
    func sendRequestBody(_ attempt: AttemptID, _ bytes: UnsafeRawBufferPointer) -> Int {
        guard let attempt = attempts[attempt.slot], attempt.size > 0, !attempt.isSated else { return 0 }
        let count = world.chance(40) ? bytes.count : world.chance(50) ? Int.random(in: 0...bytes.count, using: &world.random) : 0
        if !SimulatedWorld.isPattern(Array(bytes), count, at: attempt.received) {
            world.report("an attempt was sent other bytes than are its next")
        }
        attempt.received += count
        return count
    }

    func checkEnded(of exchange: Exchange) {
        if attempts.values.contains(where: { $0.exchange === exchange }) { world.report("an attempt outlives its exchange") }
    }

    private func close(_ slot: UInt32) {
        attempts[slot]?.isOpen = false
        attempts[slot] = nil
    }

    private func readRequest(_ attempt: Attempt) {
        guard attempt.isOpen else { return }
        if attempt.size == 0 { return answer(attempt) }
        var buffer = [UInt8](repeating: 0, count: 65_536)
        for _ in 0..<8 {
            switch buffer.withUnsafeMutableBytes({ attempt.exchange.readRequestBody(attempt.id, into: $0) }) {
            case .bytes(let count):
                if !SimulatedWorld.isPattern(buffer, count, at: attempt.received) {
                    world.report("an attempt got other bytes than the client sent")
                }
                attempt.received += count
            case .wait: return
            case .end:
                if attempt.received != attempt.size { world.report("an attempt got \(attempt.received) of \(attempt.size) bytes") }
                return answer(attempt)
            case .failed: return fail(attempt, .requestBodyFailed)
            }
            // Some upstreams have seen enough early.
            if world.chance(3) { return answer(attempt) }
        }
        world.after(microseconds: 1...100) { [self] in readRequest(attempt) }
    }

    private func answer(_ attempt: Attempt) {
        attempt.isSated = true
        let delay: ClosedRange<UInt64> = world.chance(4) ? 1_000_000...6_000_000 : 100...50_000
        world.after(microseconds: delay) { [self] in
            guard attempt.isOpen else { return }
            let credential = attempt.exchange.machine.carriesToken ? attempt.exchange.credential : nil
            let sent = credential.map { SimulatedSecret.number(of: $0.token).map(SimulatedSecret.token) ?? "" }
            if let token = attempt.token, sent != SimulatedSecret.token(token.valid) {
                if world.chance(20) { return send(attempt, 200, #"{"code":10001,"msg":"expired","echo":"\#(sent ?? "")"}"#) }
                return send(attempt, 401, #"{"error":"\#(sent ?? "")"}"#)
            }
            switch Int.random(in: 0..<100, using: &world.random) {
            case 0..<60: send(attempt, 200, #"{"code":0,"data":{"a":[1,2,3]},"msg":"fine"}"#)
            case 60..<66: send(attempt, 200, #"{"code":7,"msg":"no","echo":"\#(sent ?? "")"}"#)
            case 66..<72: send(attempt, 503, #"{"echo":"\#(sent ?? "")"}"#)
            case 72..<78: send(attempt, 500, "broken \(sent ?? "")")
            case 78..<79: send(attempt, 200, "<html>", type: "text/html")
            case 79..<80 where world.chance(20): send(attempt, 200, #"{"code":20001,"msg":"the session is over"}"#)
            case 80..<82: send(attempt, 401, #"{"always":true}"#)
            case 82..<84: send(attempt, 500, String(repeating: "x", count: 70_000))
            case 84..<88: send(attempt, 200, #"{"code":0,"data":{"a":[1,2,3]}}"#, ending: .truncated)
            case 88..<90: send(attempt, 200, #"{"code":0,"data":{"a":[1,2,3]}}"#, ending: .silent)
            case 90..<91: send(attempt, 401, "cut", ending: .truncated)
            case 91..<97: fail(attempt, ForwardError.allCases.filter { $0 != .truncated }.randomElement(using: &world.random) ?? .reset)
            default: break
            }
        }
    }

    private func send(_ attempt: Attempt, _ status: UInt16, _ body: String, type: String = "application/json", ending: Ending = .ended) {
        attempt.ending = ending
        var rest = attempt.request.method == Array("HEAD".utf8) ? [] : Array(body.utf8)
        while !rest.isEmpty {
            let count = Int.random(in: 1...max(1, min(rest.count, rest.count / 3 + 20)), using: &world.random)
            attempt.answer.append(Array(rest.prefix(count)))
            rest.removeFirst(min(count, rest.count))
        }
        let head = ResponseHead(status: status, fields: section([("Content-Type", type)]))
        attempt.exchange.attemptReceivedHead(
            attempt.id, head, framing: attempt.answer.isEmpty ? .none : world.chance(50) ? .chunked : .length(UInt64(body.utf8.count)))
        world.after(microseconds: 0...2_000) { [self] in deliver(attempt) }
    }

    private func deliver(_ attempt: Attempt) {
        guard attempt.isOpen, !attempt.isPaused else { return }
        guard !attempt.answer.isEmpty else {
            switch attempt.ending {
            case .silent: return
            case .truncated: return fail(attempt, .truncated)
            case .ended:
                close(attempt.id.slot)
                return attempt.exchange.attemptEnded(attempt.id, AttemptTiming())
            }
        }
        let flow = attempt.answer.removeFirst().withUnsafeBytes { attempt.exchange.attemptReceivedBody(attempt.id, $0) }
        guard attempt.isOpen else { return }
        if flow == .pause { attempt.isPaused = true } else { world.after(microseconds: 0...2_000) { [self] in deliver(attempt) } }
    }

    private func fail(_ attempt: Attempt, _ error: ForwardError) {
        close(attempt.id.slot)
        attempt.exchange.attemptFailed(attempt.id, error, AttemptTiming())
    }
}
