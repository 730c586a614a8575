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
    let live = LiveSecrets()
    let audit: SimulatedAudit
    let hooks: SimulatedHooks
    let spill = SpillFiles()
    private(set) var tokens: [SimulatedToken] = []
    private(set) var plan: PipelinePlan?
    private(set) var workers: [SimulatedWorker] = []
    var problems: [String] = []
    var statuses: [UInt16: Int] = [:]
    var reasons: [[UInt8]: Int] = [:]
    var injected: [String: Int] = [:]
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
        audit = SimulatedAudit(live)
        hooks = SimulatedHooks(live)
        tokens = [
            SimulatedToken("app", .header, "Authorization", format: "Bearer {token}", expires: false, canIssue: true, world: self),
            SimulatedToken("second", .query, "k", format: "{token}", expires: true, canIssue: true, world: self),
            SimulatedToken("third", .cookie, "sid", format: "{token}", expires: true, canIssue: false, world: self),
        ]
        plan = makePlan()
        workers = (0..<4).map { _ in SimulatedWorker(self) }
    }

    /// name, the token it names, whether it is optional
    static let routes: [(name: String, token: Int?, isOptional: Bool)] = [
        ("plain", 0, false), ("retried", 0, false), ("judged", 0, false), ("data", 1, false), ("small", 0, false), ("query", 1, false),
        ("cookie", 2, false), ("maybe", 2, true), ("choice", 0, false), ("open", nil, false),
    ]

    private func makePlan() -> PipelinePlan {
        var settings = UpstreamSettings(name: "api", url: UpstreamURL(isTLS: false, host: "api.test", port: 80))
        settings.timeouts.responseMilliseconds = 3_000
        settings.timeouts.idleMilliseconds = 2_000
        settings.timeouts.totalMilliseconds = 20_000
        let upstream = UpstreamPlan(settings)
        let judging = envelope { $0.sessionExpiredCodes = ["20001"] }
        let policies: [String: PolicyPlan?] = [
            "judged": judging, "cookie": judging, "data": envelope { $0.view = .data }, "small": envelope { $0.bodyBytesMax = 64 },
        ]
        let retries: [String: UInt32] = ["retried": 2, "judged": 2, "query": 2, "small": 1, "open": 1, "maybe": 1]
        let routes = Self.routes.map { route in
            var made = RouteSettings(name: route.name, path: "/\(route.name)/*", upstream: "api")
            made.retry.limit = retries[route.name] ?? 0
            made.auth = route.isOptional ? .optional : nil
            made.allowedOverrides = route.name == "choice" ? [.token, .policy] : []
            return RoutePlan(
                made, upstream: upstream, credentials: route.token.map { tokens[$0].store }, policy: policies[route.name] ?? nil)
        }
        var auditing = AuditSettings(file: "audit.jsonl")
        auditing.bodies = .all
        return PipelinePlan(
            routes: routes, upstreams: [upstream], credentials: tokens.map(\.store), hosts: ["localhost"], audit: auditing,
            auditSink: audit, limits: LimitSettings(), policies: [judging].compactMap(\.self), hooks: hooks)
    }

    func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

    func after(microseconds range: ClosedRange<UInt64>, _ work: @escaping () -> Void) {
        heap.push(clock.nanoseconds + UInt64.random(in: range, using: &random) * 1_000, work)
    }

    func report(_ problem: String) { if problems.count < 20 { problems.append("\(clock.nanoseconds): \(problem)") } }

    var unixMicroseconds: Int64 { 1_700_000_000_000_000 + Int64(clock.nanoseconds / 1_000) }

    /// Runs until nothing is left to happen.
    func run(exchanges: Int) {
        spawn(1, of: exchanges)
        for token in tokens {
            revoke(token, while: exchanges)
            disturb(token, while: exchanges)
        }
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

    /// Now and then the upstream stops accepting the present token; somebody logs out, or in.
    private func revoke(_ token: SimulatedToken, while exchanges: Int) {
        after(microseconds: 20_000...600_000) { [unowned self] in
            if chance(60) { token.valid = -1 }
            if chance(3) { token.logOut() }
            if chance(token.refresher.canIssue ? 15 : 40) { token.install(isLogin: chance(50)) }
            if wasEnded < exchanges { revoke(token, while: exchanges) }
        }
    }

    /// Now and then the token endpoint is down, or slow, for a while.
    private func disturb(_ token: SimulatedToken, while exchanges: Int) {
        after(microseconds: 1_000_000...20_000_000) { [unowned self] in
            token.endpoint = chance(50) ? .down : .slow
            after(microseconds: 100_000...8_000_000) { [unowned self] in
                token.endpoint = .up
                if wasEnded < exchanges { disturb(token, while: exchanges) }
            }
        }
    }

    private func pump() {
        for worker in workers where worker.queue.count > 0 && !worker.isDraining {
            worker.isDraining = true
            after(microseconds: 0...300) {
                worker.isDraining = false
                worker.queue.run()
            }
        }
        for token in tokens { token.answerRefreshes() }
    }
}
