// What exchanges of one connection and one worker share: no word of one must show in the next.
// Domain: cold

import CryoHTTP
import CryoJSON
import Testing

@testable import CryoPipeline

@Suite("Memory shared by exchanges")
struct ExchangeMemoryTests {
    private func plan(hosts: [String]) -> PipelinePlan {
        let upstream = UpstreamPlan(UpstreamSettings(name: "api", url: UpstreamURL(isTLS: true, host: "api.example.com", port: 443)))
        let route = RoutePlan(RouteSettings(name: "all", path: "/*", upstream: "api"), upstream: upstream, credentials: nil, policy: nil)
        return PipelinePlan(
            routes: [route], upstreams: [upstream], credentials: [], hosts: hosts, audit: nil, auditSink: nil, limits: LimitSettings())
    }

    @Test("a Host is remembered for its very bytes and for the plan that admitted it")
    func admittedHost() throws {
        let first = plan(hosts: ["localhost"])
        let second = plan(hosts: ["localhost"])
        var admitted = AdmittedHost()
        let head = try #require(requestHead("/a", host: "localhost:8080"))
        #expect(!admitted.isHost(of: head, for: first))
        admitted.note(head, for: first)
        #expect(admitted.isHost(of: head, for: first) && !admitted.isHost(of: head, for: second))
        for other in ["localhost:8081", "localhost", "evil.test:80", "LOCALHOST:8080"] {
            let head = try #require(requestHead("/a", host: other))
            #expect(!admitted.isHost(of: head, for: first), "\(other)")
        }
    }

    @Test("a Host of 64 bytes is remembered, of 65 not")
    func longHost() throws {
        let plan = plan(hosts: [])
        for (count, isRemembered) in [(64, true), (65, false)] {
            var admitted = AdmittedHost()
            let head = try #require(requestHead("/a", host: String(repeating: "a", count: count)))
            admitted.note(head, for: plan)
            #expect(admitted.isHost(of: head, for: plan) == isRemembered)
        }
    }

    @Test("a Host that came beside an absolute target was not what was judged, and is not remembered")
    func absoluteTarget() throws {
        let plan = plan(hosts: ["localhost"])
        var admitted = AdmittedHost()
        let head = try #require(requestHead("http://localhost/a", host: "localhost"))
        admitted.note(head, for: plan)
        #expect(!admitted.isHost(of: head, for: plan))
    }

    @Test("the cases of every enumeration that is counted have the place of their byte")
    func places() {
        func check<Case: CaseIterable>(_: Case.Type) { #expect(Case.allCases.map { casePlace($0) } == Array(0..<Case.allCases.count)) }
        check(AcceptOutcome.self)
        check(ReadOutcome.self)
        check(RouteOutcome.self)
        check(InjectOutcome.self)
        check(ForwardOutcome.self)
        check(RefreshOutcome.self)
        check(RetryOutcome.self)
        check(NormalizeOutcome.self)
        check(ReplyOutcome.self)
        check(AuditOutcome.self)
        check(FailureReason.self)
        #expect(FailureReason.allCases.count <= 64, "a set of reasons is 64 bits")
    }

    @Test("a set of reasons has what was put in and nothing else")
    func reasons() {
        let set: FailureReasonSet = [.reset, .internalError]
        #expect(FailureReason.allCases.filter { set.contains($0) } == [.reset, .internalError])
    }

    @Test("the record of the present attempt is the last of all")
    func records() {
        var records = AttemptRecords()
        #expect(records.isEmpty && records.last == nil)
        for number in 1...3 as ClosedRange<UInt64> {
            records.begin(AttemptRecord(startedAt: number))
            records.current.endedAt = number * 10
        }
        #expect(records.map(\.startedAt) == [1, 2, 3] && records.map(\.endedAt) == [10, 20, 30])
        var seen: [UInt64] = []
        records.forEach { seen.append($0.startedAt) }
        #expect(seen == [1, 2, 3])
    }

    @Test("two requests of one worker share memory and nothing that is in it")
    func requests() throws {
        let plan = plan(hosts: ["localhost"])
        let forwarder = FakeForwarder()
        let environment = ExchangeEnvironment(
            forwarder: forwarder, scanner: JSONScanner(), openSpill: { nil }, decode: { _, _, _ in .broken }, counters: ExchangeCounters())
        let bench = Bench()
        for (target, name) in [("/a-long-target?with=query", "X-First-And-Long"), ("/b", "X-Second")] {
            let head = try #require(requestHead(target, ["\(name): value of \(name)"]))
            let exchange = Exchange(head: head, plan: plan, environment: environment, context: bench.context())
            exchange.begin()
            exchange.receiveBodyEnd()
        }
        let requests = forwarder.attempts.map(\.request)
        #expect(requests.map { String(decoding: $0.target, as: UTF8.self) } == ["/a-long-target?with=query", "/b"])
        #expect(requests.map { $0.fields.contains("x-first-and-long") } == [true, false])
        #expect(requests.map { $0.fields.contains("x-second") } == [false, true])
        for attempt in forwarder.attempts { attempt.exchange.clientGone() }
        forwarder.attempts.removeAll()
    }
}
