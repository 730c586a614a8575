// A virtual world for real exchanges: one clock, workers, a token endpoint, an upstream and clients that misbehave by seed.
// Domain: cold

import CryoHTTP
import CryoJSON
import CryoSync
import Glibc
import Testing

@testable import CryoPipeline

/// Work in the order of its time; equal times in the order of their making.
struct EventHeap {
    private var items: [(time: UInt64, serial: UInt64, work: () -> Void)] = []
    private var serial: UInt64 = 0

    var isEmpty: Bool { items.isEmpty }

    private func isBefore(_ one: Int, _ other: Int) -> Bool {
        items[one].time != items[other].time ? items[one].time < items[other].time : items[one].serial < items[other].serial
    }

    mutating func push(_ time: UInt64, _ work: @escaping () -> Void) {
        serial += 1
        items.append((time, serial, work))
        var child = items.count - 1
        while child > 0, isBefore(child, (child - 1) / 2) {
            items.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    mutating func pop() -> (time: UInt64, work: () -> Void)? {
        guard let last = items.indices.last else { return nil }
        items.swapAt(0, last)
        let first = items.removeLast()
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < items.count && isBefore(child, least) { least = child }
            if least == parent { return (first.time, first.work) }
            items.swapAt(least, parent)
            parent = least
        }
    }
}

/// Takes refreshes and keeps their completions until the world ends them.
final class SimulatedRefresher: TokenRefresher {
    typealias Completion = @Sendable (RefreshResult) -> Void
    private struct State {
        var started: [Completion] = []
        var open = 0
        var openMax = 0
        var calls = 0
    }
    private let state = Mutex(State())
    var canRefresh: Bool { true }
    var openMax: Int { state.withLock { $0.openMax } }
    var calls: Int { state.withLock { $0.calls } }

    func refresh(_ current: Credential?, completion: @escaping Completion) {
        state.withLock {
            $0.calls += 1
            $0.open += 1
            $0.openMax = max($0.openMax, $0.open)
            $0.started.append { [weak self] result in
                self?.state.withLock { $0.open -= 1 }
                completion(result)
            }
        }
    }

    func takeStarted() -> [Completion] {
        state.withLock { state in
            let started = state.started
            state.started = []
            return started
        }
    }
}

/// Counts the records of each exchange and looks for secrets in them.
final class SimulatedAudit: AuditSink {
    private let counts = Mutex<[Int: Int]>([:])
    let latestSecret = Atomic<Int>(1)
    let leaks = Atomic<Int>(0)
    var all: [Int: Int] { counts.withLock { $0 } }

    func append(_ line: UnsafeRawBufferPointer) -> AuditOutcome {
        let number = SimulatedSecret.number(after: "sim-request-", in: line) ?? -1
        counts.withLock { $0[number, default: 0] += 1 }
        if SimulatedSecret.isLive(in: line, latest: latestSecret.load(ordering: .relaxed)) { leaks.add(1, ordering: .relaxed) }
        return .written
    }
}

/// Secrets carry a number and a mark by which they are found in any output.
enum SimulatedSecret {
    static let mark: StaticString = "SIMSECRET-"

    static func token(_ number: Int) -> String { "\(mark)\(number)-token" }

    /// The decimal number behind the first `mark`.
    static func number(after mark: StaticString, in bytes: UnsafeRawBufferPointer) -> Int? {
        guard let base = bytes.baseAddress, let start = position(of: mark, in: bytes, at: base) else { return nil }
        var index = start + mark.utf8CodeUnitCount
        var number = 0
        while index < bytes.count, bytes[index] &- 0x30 < 10 {
            number = number * 10 + Int(bytes[index] - 0x30)
            index += 1
        }
        return number
    }

    private static func position(of mark: StaticString, in bytes: UnsafeRawBufferPointer, at base: UnsafeRawPointer) -> Int? {
        let length = mark.utf8CodeUnitCount
        var index = 0
        while index + length <= bytes.count, let found = memchr(base + index, Int32(mark.utf8Start[0]), bytes.count - index - length + 1) {
            index = UnsafeRawPointer(found) - base
            if memcmp(found, mark.utf8Start, length) == 0 { return index }
            index += 1
        }
        return nil
    }

    /// The present token and the one before it must never be seen; older ones have left the store's memory of retired secrets.
    static func isLive(in bytes: UnsafeRawBufferPointer, latest: Int) -> Bool {
        guard let number = number(after: mark, in: bytes) else { return false }
        return number >= latest - 1
    }
}

final class SimulatedWorker {
    let queue = WorkQueue()
    let counters = ExchangeCounters()
    let scanner = JSONScanner()
    let forwarder: SimulatedForwarder
    var isDraining = false

    init(_ world: SimulatedWorld) { forwarder = SimulatedForwarder(world) }
}

final class SimulatedWorld {
    let clock = ManualClock(1)
    var heap = EventHeap()
    var random: SeededRandom
    let refresher = SimulatedRefresher()
    let audit = SimulatedAudit()
    let spill = SpillFiles()
    let credentials: CredentialStore
    private(set) var plan: PipelinePlan?
    private(set) var workers: [SimulatedWorker] = []
    /// The number of the one token the upstream accepts.
    var valid = 1
    var problems: [String] = []
    var statuses: [UInt16: Int] = [:]
    var reasons: [[UInt8]: Int] = [:]
    var wasEnded = 0
    static let bodyPattern: [UInt8] = (0..<524_288).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 / 251) }

    static func isPattern(_ bytes: [UInt8], _ count: Int, at offset: Int) -> Bool {
        bodyPattern.withUnsafeBytes { pattern in
            bytes.withUnsafeBytes { bytes in
                guard let pattern = pattern.baseAddress, let bytes = bytes.baseAddress else { return false }
                return memcmp(bytes, pattern + offset, count) == 0
            }
        }
    }

    init(seed: UInt64) {
        random = SeededRandom(seed: seed)
        let clock = clock
        var settings = TokenSettings(name: "app", source: .environment(name: "T"))
        settings.refresh.onBusinessCodes = ["10001"]
        settings.refresh.perWindowMax = 50
        credentials = CredentialStore(
            settings: settings, refresher: refresher,
            initial: NewCredential(token: Secret(SimulatedSecret.token(1)), refreshToken: Secret("SIMREFRESH-1")),
            monotonic: { clock.nanoseconds }, report: { _, _ in })
        plan = makePlan()
        workers = (0..<4).map { _ in SimulatedWorker(self) }
    }

    private func makePlan() -> PipelinePlan {
        var settings = UpstreamSettings(name: "api", url: UpstreamURL(isTLS: false, host: "api.test", port: 80))
        settings.timeouts.responseMilliseconds = 3_000
        settings.timeouts.idleMilliseconds = 2_000
        settings.timeouts.totalMilliseconds = 20_000
        let upstream = UpstreamPlan(settings)
        func route(_ name: String, retries: UInt32, token: Bool, _ policy: PolicyPlan?) -> RoutePlan {
            var route = RouteSettings(name: name, path: "/\(name)/*", upstream: "api")
            route.retry.limit = retries
            return RoutePlan(route, upstream: upstream, credentials: token ? credentials : nil, policy: policy)
        }
        let routes = [
            route("plain", retries: 0, token: true, nil), route("retried", retries: 2, token: true, nil),
            route("judged", retries: 2, token: true, envelope()), route("data", retries: 0, token: true, envelope { $0.view = .data }),
            route("small", retries: 1, token: true, envelope { $0.bodyBytesMax = 64 }), route("open", retries: 1, token: false, nil),
        ]
        var auditing = AuditSettings(file: "audit.jsonl")
        auditing.bodies = .all
        return PipelinePlan(
            routes: routes, upstreams: [upstream], credentials: [credentials], hosts: ["localhost"], audit: auditing, auditSink: audit,
            limits: LimitSettings())
    }

    func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

    func after(microseconds range: ClosedRange<UInt64>, _ work: @escaping () -> Void) {
        heap.push(clock.nanoseconds + UInt64.random(in: range, using: &random) * 1_000, work)
    }

    func report(_ problem: String) { if problems.count < 20 { problems.append("\(clock.nanoseconds): \(problem)") } }

    /// Runs until nothing is left to happen.
    func run(exchanges: Int) {
        spawn(1, of: exchanges)
        revoke(while: exchanges)
        while let (time, work) = heap.pop() {
            clock.set(max(clock.nanoseconds, time))
            work()
            pump()
        }
    }

    private func spawn(_ number: Int, of count: Int) {
        let client = SimulatedClient(self, number: number)
        client.start()
        guard number < count else { return }
        after(microseconds: 10...8_000) { [unowned self] in spawn(number + 1, of: count) }
    }

    /// Now and then the upstream stops accepting the present token.
    private func revoke(while exchanges: Int) {
        after(microseconds: 20_000...600_000) { [unowned self] in
            if chance(70) { valid = -1 }
            if chance(3) { _ = credentials.logOut(expected: credentials.session().revision) }
            if chance(40) { renew { self.credentials.install($0, isLogin: self.chance(50)) } }
            if wasEnded < exchanges { revoke(while: exchanges) }
        }
    }

    private func renew(_ install: (NewCredential) -> Void) {
        let number = audit.latestSecret.add(1, ordering: .relaxed).newValue
        valid = number
        install(NewCredential(token: Secret(SimulatedSecret.token(number)), refreshToken: Secret("SIMREFRESH-\(number)")))
    }

    private func pump() {
        for worker in workers where worker.queue.count > 0 && !worker.isDraining {
            worker.isDraining = true
            after(microseconds: 0...300) {
                worker.isDraining = false
                worker.queue.run()
            }
        }
        for completion in refresher.takeStarted() {
            let slow: ClosedRange<UInt64> = chance(4) ? 1_000_000...13_000_000 : 1_000...100_000
            after(microseconds: slow) { [unowned self] in
                switch Int.random(in: 0..<100, using: &random) {
                case 0..<86: renew { completion(.renewed($0)) }
                case 86..<92: completion(.failed(detail: "timeout"))
                case 92..<96: completion(.unchanged)
                default: completion(.rejected(detail: "invalid_grant"))
                }
            }
        }
    }
}
