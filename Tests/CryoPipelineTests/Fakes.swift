// What the tests of this target share: stand-ins for the five ports, a virtual clock, and builders of plans and requests.
// Domain: cold

import CryoHTTP
import CryoJSON
import CryoSync

@testable import CryoPipeline

// MARK: Bytes and text

func text(_ bytes: [UInt8]?) -> String? { bytes.map { String(decoding: $0, as: UTF8.self) } }

/// The lines that are left, as `name: value`.
func lines(_ fields: FieldSection?) -> [String] {
    guard let fields else { return [] }
    return fields.lines.filter { !$0.isRemoved }.map {
        String(decoding: fields.bytes[$0.name], as: UTF8.self) + ": " + String(decoding: fields.bytes[$0.value], as: UTF8.self)
    }
}

func section(_ lines: [(String, String)]) -> FieldSection {
    var fields = FieldSection()
    for (name, value) in lines { fields.append(name: Array(name.utf8), value: Array(value.utf8)) }
    return fields
}

/// The head of a request that must parse; nil when it does not.
func requestHead(
    _ target: String = "/t", method: String = "GET", version: String = "HTTP/1.1", host: String? = "localhost", _ fields: [String] = []
) -> RequestHead? {
    var raw = "\(method) \(target) \(version)\r\n"
    if let host { raw += "Host: \(host)\r\n" }
    for field in fields { raw += field + "\r\n" }
    raw += "\r\n"
    var parser = RequestParser()
    guard case .head(let head, _) = Array(raw.utf8).withUnsafeBytes({ parser.parse($0) }) else { return nil }
    return head
}

// MARK: Time

/// A clock that only the test moves.
final class ManualClock: Sendable {
    private let value: Atomic<UInt64>

    init(_ nanoseconds: UInt64 = 1_000_000_000) { value = Atomic(nanoseconds) }

    var nanoseconds: UInt64 { value.load(ordering: .relaxed) }
    func set(_ nanoseconds: UInt64) { value.store(nanoseconds, ordering: .relaxed) }
    func advance(milliseconds: UInt64) { value.add(milliseconds * 1_000_000, ordering: .relaxed) }
}

/// SplitMix64: the same seed gives the same run.
struct SeededRandom: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

/// Work that other threads gave a worker; the test runs it when it wants to.
final class WorkQueue: Sendable {
    private let work = Mutex<[@Sendable () -> Void]>([])

    var count: Int { work.withLock { $0.count } }

    func submit(_ item: @escaping @Sendable () -> Void) { work.withLock { $0.append(item) } }

    func discard() { work.withLock { $0 = [] } }

    /// Runs what is there, and what that gives rise to; the number of items.
    @discardableResult
    func run() -> Int {
        var count = 0
        while true {
            let items = work.withLock { work in
                let items = work
                work = []
                return items
            }
            if items.isEmpty { return count }
            for item in items { item() }
            count += items.count
        }
    }
}

final class FakeScheduler: Scheduler {
    let clock: ManualClock
    let queue: WorkQueue
    var wakes: [UInt64] = []
    var unixMicroseconds: Int64 = 1_700_000_000_000_000
    var chance: UInt64 = 0

    init(clock: ManualClock = ManualClock(), queue: WorkQueue = WorkQueue()) {
        self.clock = clock
        self.queue = queue
    }

    var nanoseconds: UInt64 { clock.nanoseconds }
    func wake(at nanoseconds: UInt64) { wakes.append(nanoseconds) }
    func random() -> UInt64 { chance }
    var submit: @Sendable (@escaping @Sendable () -> Void) -> Void {
        let queue = queue
        return { queue.submit($0) }
    }
}

// MARK: Ports

final class FakeSink: ReplySink {
    enum Ending { case open, finished, aborted }

    var status: UInt16 = 0
    var fields: FieldSection?
    var framing: BodyFraming?
    var body: [UInt8] = []
    var ending = Ending.open
    var heads = 0
    var continues = 0
    var resumes = 0
    var callsAfterEnd = 0
    var pausesNext = false
    var tunnelEnds = 0

    private func note() { if ending != .open { callsAfterEnd += 1 } }

    func sendContinue() {
        note()
        continues += 1
    }

    func sendHead(status: UInt16, fields: FieldSection, framing: BodyFraming) {
        note()
        heads += 1
        self.status = status
        self.fields = fields
        self.framing = framing
    }

    func sendBody(_ bytes: UnsafeRawBufferPointer) -> Flow {
        note()
        body.append(contentsOf: bytes)
        return pausesNext ? .pause : .more
    }

    func finish() {
        note()
        ending = .finished
    }

    func abort() {
        note()
        ending = .aborted
    }

    func endTunnelReply() {
        note()
        tunnelEnds += 1
    }

    func resumeRequestBody() {
        note()
        resumes += 1
    }
}

/// Records attempts; the test answers them.
final class FakeForwarder: Forwarder {
    struct Attempt {
        let request: AttemptRequest
        let exchange: Exchange
        var isCancelled = false
    }

    var attempts: [Attempt] = []
    var resumed: [UInt32] = []
    var ready: [UInt32] = []

    func begin(_ request: AttemptRequest, for exchange: Exchange) -> AttemptID {
        attempts.append(Attempt(request: request, exchange: exchange))
        return AttemptID(slot: UInt32(attempts.count - 1), generation: 1)
    }

    func cancel(_ attempt: AttemptID) { attempts[Int(attempt.slot)].isCancelled = true }
    func resumeResponse(_ attempt: AttemptID) { resumed.append(attempt.slot) }
    func requestBodyReady(_ attempt: AttemptID) { ready.append(attempt.slot) }

    /// How many bytes the upstream takes at once, and what it took.
    var straightMax = 0
    var straight: [UInt8] = []

    func sendRequestBody(_ attempt: AttemptID, _ bytes: UnsafeRawBufferPointer) -> Int {
        let taken = bytes.prefix(straightMax)
        straight.append(contentsOf: taken)
        return taken.count
    }

    var last: AttemptID { AttemptID(slot: UInt32(max(0, attempts.count - 1)), generation: 1) }
}

final class FakeAuditSink: AuditSink {
    private let kept = Mutex<[String]>([])
    private let waiting = Mutex<[@Sendable (Bool) -> Void]>([])
    private let writable = Atomic<Bool>(true)

    var lines: [String] { kept.withLock { $0 } }
    var isWritable: Bool {
        get { writable.load(ordering: .relaxed) }
        set { writable.store(newValue, ordering: .relaxed) }
    }
    var waiters: Int { waiting.withLock { $0.count } }

    func append(_ line: UnsafeRawBufferPointer, confirm: (@Sendable (Bool) -> Void)?) -> AuditOutcome {
        let text = String(decoding: line, as: UTF8.self)
        kept.withLock { $0.append(text) }
        if let confirm { waiting.withLock { $0.append(confirm) } }
        return .written
    }

    func confirmAll(_ isWritten: Bool) {
        let all = waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
        for completion in all { completion(isWritten) }
    }
}

/// Keeps the completions; the test ends the refreshes.
final class ScriptedRefresher: TokenRefresher {
    private struct State {
        var pending: [@Sendable (RefreshResult) -> Void] = []
        var seen: [UInt64?] = []
    }

    private let state = Mutex(State())
    let canRefresh: Bool
    let canIssue: Bool

    init(canRefresh: Bool = true, canIssue: Bool? = nil) {
        self.canRefresh = canRefresh
        self.canIssue = canIssue ?? canRefresh
    }

    func refresh(_ current: Credential?, completion: @escaping @Sendable (RefreshResult) -> Void) {
        state.withLock {
            $0.seen.append(current?.version)
            $0.pending.append(completion)
        }
    }

    var calls: Int { state.withLock { $0.seen.count } }
    var inFlight: Int { state.withLock { $0.pending.count } }
    /// Forgets what is in flight: it holds the store, which holds this.
    func abandon() { state.withLock { $0.pending = [] } }
    var versions: [UInt64?] { state.withLock { $0.seen } }

    /// Ends the oldest refresh; false when there is none.
    @discardableResult
    func end(_ result: RefreshResult) -> Bool {
        let completion = state.withLock { $0.pending.isEmpty ? nil : $0.pending.removeFirst() }
        completion?(result)
        return completion != nil
    }
}

/// A spill file in memory that knows how many are open.
final class SpillFiles {
    var open = 0
    var opened = 0
    var fails = false

    func make() -> SpillFile? {
        if fails { return nil }
        open += 1
        opened += 1
        final class Bytes { var all: [UInt8] = [] }
        let bytes = Bytes()
        return SpillFile(
            append: { [unowned self] in
                if fails { return false }
                bytes.all.append(contentsOf: $0)
                return true
            },
            read: { offset, target in
                let start = min(Int(offset), bytes.all.count)
                let count = min(target.count, bytes.all.count - start)
                bytes.all.withUnsafeBytes { target.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[start..<start + count])) }
                return count
            },
            close: { [unowned self] in open -= 1 })
    }
}

// MARK: Plans

func tokenSettings(_ change: (inout TokenSettings) -> Void = { _ in }) -> TokenSettings {
    var settings = TokenSettings(name: "app", source: .environment(name: "T"))
    change(&settings)
    return settings
}

func store(
    _ refresher: ScriptedRefresher, clock: ManualClock = ManualClock(), initial: NewCredential? = NewCredential(token: Secret("token-one")),
    events: EventLog = EventLog(), _ change: (inout TokenSettings) -> Void = { _ in }
) -> CredentialStore {
    CredentialStore(
        settings: tokenSettings(change), refresher: refresher, initial: initial, monotonic: { clock.nanoseconds },
        report: { _, event in events.add(event) })
}

final class EventLog: Sendable {
    private let kept = Mutex<[TokenEvent]>([])

    func add(_ event: TokenEvent) { kept.withLock { $0.append(event) } }
    var all: [TokenEvent] { kept.withLock { $0 } }
    var expired: [SessionRevision] {
        all.compactMap { if case .sessionExpired(let revision) = $0 { revision } else { nil } }
    }
    var dropped: Int { all.filter { if case .staleResultDropped = $0 { true } else { false } }.count }
}

/// `code == 0`, data at `data`, the seeds' messages, code at `code`.
func envelope(_ change: (inout PolicySettings) -> Void = { _ in }) -> PolicyPlan? {
    var settings = PolicySettings(name: "envelope")
    if let code = JSONPath("code") {
        settings.success = .equals(code, .number("0"))
        settings.codePath = code
    }
    settings.dataPath = JSONPath("data")
    settings.messagePaths = ["message", "msg", "error", "reason", "detail"].compactMap { JSONPath($0) }
    change(&settings)
    return PolicyPlan(settings)
}

/// One exchange with everything around it.
final class Bench {
    let clock = ManualClock()
    let scheduler: FakeScheduler
    let sink = FakeSink()
    let forwarder = FakeForwarder()
    let audit = FakeAuditSink()
    let spill = SpillFiles()
    let counters = ExchangeCounters()
    let refresher: ScriptedRefresher
    let events = EventLog()
    let feed = ExchangeFeed(exchanges: RecordRing(countMax: 8, bytesMax: 65_536), events: RecordRing(countMax: 256, bytesMax: 65_536))
    let credentials: CredentialStore?
    let plan: PipelinePlan
    var exchange: Exchange?

    init(
        token: NewCredential? = NewCredential(token: Secret("token-one")), withToken: Bool = true, canRefresh: Bool = true,
        policy: PolicyPlan? = nil, basePath: String = "", clientKey: Secret? = nil,
        trustedProxies: [String] = [], connect: ListenSettings.Connect = .off, tokens: (inout TokenSettings) -> Void = { _ in },
        upstream: (inout UpstreamSettings) -> Void = { _ in }, route: (inout RouteSettings) -> Void = { _ in },
        audit auditing: (inout AuditSettings) -> Void = { _ in }, others: [CredentialStore] = [], policies: [PolicyPlan] = [],
        hooks: (any HookSink)? = nil, statistics: ExchangeStatistics? = nil, signer: RequestSigner? = nil,
        echoes: EchoReports? = nil, blocksEchoes: Bool = false
    ) {
        scheduler = FakeScheduler(clock: clock)
        refresher = ScriptedRefresher(canRefresh: canRefresh)
        credentials = withToken ? store(refresher, clock: clock, initial: token, events: events, tokens) : nil
        var settings = UpstreamSettings(
            name: "api", url: UpstreamURL(isTLS: true, host: "api.example.com", port: 443, basePath: basePath))
        upstream(&settings)
        let upstreamPlan = UpstreamPlan(settings, signer: signer)
        var routeSettings = RouteSettings(name: "api", path: "/*", upstream: "api")
        route(&routeSettings)
        let routePlan = RoutePlan(routeSettings, upstream: upstreamPlan, credentials: credentials, policy: policy, statistics: statistics)
        var auditSettings = AuditSettings(file: "audit.jsonl")
        auditing(&auditSettings)
        plan = PipelinePlan(
            routes: [routePlan], upstreams: [upstreamPlan], credentials: (credentials.map { [$0] } ?? []) + others, hosts: ["localhost"],
            audit: auditSettings, auditSink: audit, limits: LimitSettings(), clientKey: clientKey,
            trustedProxies: trustedProxies.compactMap { AddressBlock($0) }, connect: connect, policies: policies, hooks: hooks,
            feed: feed, echoes: echoes, blocksEchoes: blocksEchoes)
    }

    /// An exchange and the forwarder that remembers it hold each other; so does work nobody has run.
    deinit {
        forwarder.attempts.removeAll()
        while refresher.end(.failed(detail: "the test is over")) {}
        scheduler.queue.discard()
    }

    func context(client: String = "127.0.0.1:4711") -> ConnectionContext {
        ConnectionContext(
            sink: sink, scheduler: scheduler, client: Array(client.utf8), localPort: 8080, workerIndex: 0, isTLS: false,
            startNanoseconds: clock.nanoseconds, startUnixMicroseconds: scheduler.unixMicroseconds)
    }

    /// Begins an exchange and, unless told otherwise, says that its body is complete.
    func begin(_ head: RequestHead?, body: [UInt8]? = nil, isComplete: Bool = true) {
        let exchange = Exchange(
            head: head, plan: plan,
            environment: ExchangeEnvironment(
                forwarder: forwarder, scanner: JSONScanner(), openSpill: { [spill] in spill.make() }, decode: { _, _, _ in .broken },
                counters: counters),
            context: context())
        self.exchange = exchange
        exchange.begin()
        if let body { send(body) }
        if isComplete { exchange.receiveBodyEnd() }
    }

    @discardableResult
    func send(_ body: [UInt8]) -> Flow? { body.withUnsafeBytes { exchange?.receiveBody($0) } }

    /// The last attempt's answer.
    func answer(
        _ status: UInt16, _ fields: [(String, String)] = [("Content-Type", "application/json")], _ body: String = "", ends: Bool = true
    ) {
        let id = forwarder.last
        exchange?.attemptReceivedHead(
            id, ResponseHead(status: status, fields: section(fields)), framing: .length(UInt64(body.utf8.count)))
        if !body.isEmpty { deliver(body) }
        if ends { exchange?.attemptEnded(id, AttemptTiming()) }
    }

    @discardableResult
    func deliver(_ body: String) -> Flow? {
        Array(body.utf8).withUnsafeBytes { exchange?.attemptReceivedBody(forwarder.last, $0) }
    }

    func fail(_ error: ForwardError) { exchange?.attemptFailed(forwarder.last, error, AttemptTiming()) }

    func endRefresh(_ result: RefreshResult) {
        refresher.end(result)
        scheduler.queue.run()
    }

    func advance(milliseconds: UInt64) {
        clock.advance(milliseconds: milliseconds)
        exchange?.deadlineReached(clock.nanoseconds)
    }

    /// The fields of attempt `index`, in order.
    func fields(_ index: Int) -> [String] { index < forwarder.attempts.count ? lines(forwarder.attempts[index].request.fields) : [] }

    func target(_ index: Int = 0) -> String? {
        index < forwarder.attempts.count ? text(forwarder.attempts[index].request.target) : nil
    }

    /// Reads the body that an attempt would send.
    func readBody(_ index: Int, upTo limit: Int = .max) -> [UInt8] {
        var all: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16_384)
        while all.count < limit {
            let read = buffer.withUnsafeMutableBytes {
                exchange?.readRequestBody(AttemptID(slot: UInt32(index), generation: 1), into: $0) ?? .failed
            }
            guard case .bytes(let count) = read else { break }
            all.append(contentsOf: buffer[..<count])
        }
        return all
    }

    var reply: String { String(decoding: sink.body, as: UTF8.self) }
}

/// The line that tells the client which exchange answered it.
func requestIDLine(_ bench: Bench) -> String { "X-Request-Id: " + String(decoding: bench.exchange?.requestID ?? [], as: UTF8.self) }
