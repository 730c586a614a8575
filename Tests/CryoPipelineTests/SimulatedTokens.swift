// The tokens of a simulated world: stores, token endpoints that break and rotate, and what must never be seen of a secret.
// Domain: cold

import CryoSync
import Glibc

@testable import CryoPipeline

/// Secrets carry a number and a mark by which they are found in any output.
enum SimulatedSecret {
    static let mark: StaticString = "SIMSECRET-"

    static func token(_ number: Int) -> String { "\(mark)\(number)-token" }
    static func refreshToken(_ number: Int) -> String { "\(mark)\(number)-refresh" }

    /// The decimal numbers behind each `mark`.
    static func numbers(after mark: StaticString, in bytes: UnsafeRawBufferPointer) -> [Int] {
        guard let base = bytes.baseAddress else { return [] }
        var numbers: [Int] = []
        var start = 0
        while let found = position(of: mark, in: bytes, at: base, from: start) {
            var index = found + mark.utf8CodeUnitCount
            var number = 0
            while index < bytes.count, bytes[index] &- 0x30 < 10 {
                number = number &* 10 &+ Int(bytes[index] - 0x30)
                index += 1
            }
            numbers.append(number)
            start = index
        }
        return numbers
    }

    private static func position(of mark: StaticString, in bytes: UnsafeRawBufferPointer, at base: UnsafeRawPointer, from start: Int)
        -> Int?
    {
        let length = mark.utf8CodeUnitCount
        var index = start
        while index + length <= bytes.count, let found = memchr(base + index, Int32(mark.utf8Start[0]), bytes.count - index - length + 1) {
            index = UnsafeRawPointer(found) - base
            if memcmp(found, mark.utf8Start, length) == 0 { return index }
            index += 1
        }
        return nil
    }

    static func number(of secret: Secret?) -> Int? {
        secret?.withBytes { bytes in bytes.withUnsafeBytes { numbers(after: mark, in: $0).first } }
    }
}

/// The present secrets of each token and the ones before them, which must be in no output; older ones have left the stores' memory.
final class LiveSecrets: Sendable {
    private let numbers = Mutex<[String: [Int]]>([:])
    let latest = Atomic<Int>(0)

    /// A new number for a token's next pair.
    func next() -> Int { latest.add(1, ordering: .relaxed).newValue }

    func installed(_ number: Int, of token: String) {
        numbers.withLock { $0[token] = [number] + ($0[token] ?? []).prefix(1) }
    }

    func isIn(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let found = SimulatedSecret.numbers(after: SimulatedSecret.mark, in: bytes)
        if found.isEmpty { return false }
        return numbers.withLock { live in live.values.contains { $0.contains { found.contains($0) } } }
    }
}

/// Counts the records of each exchange and looks for secrets in them.
final class SimulatedAudit: AuditSink {
    private let counts = Mutex<[Int: Int]>([:])
    private let live: LiveSecrets
    let leaks = Atomic<Int>(0)
    var all: [Int: Int] { counts.withLock { $0 } }

    init(_ live: LiveSecrets) { self.live = live }

    func append(_ line: UnsafeRawBufferPointer, confirm: (@Sendable (Bool) -> Void)?) -> AuditOutcome {
        confirm?(true)
        let number = SimulatedSecret.numbers(after: "sim-request-", in: line).first ?? -1
        counts.withLock { $0[number, default: 0] += 1 }
        if live.isIn(line) { leaks.add(1, ordering: .relaxed) }
        return .written
    }
}

/// Counts what hooks are told, and looks for secrets in it.
final class SimulatedHooks: HookSink {
    private let live: LiveSecrets
    private let ended = Mutex<[SessionRevision: Int]>([:])
    let failures = Atomic<Int>(0)
    let leaks = Atomic<Int>(0)
    /// How often each session's end was told on behalf of a policy.
    var sessions: [SessionRevision: Int] { ended.withLock { $0 } }

    init(_ live: LiveSecrets) { self.live = live }

    func wantsFailure(token: String?, policy: String?, isAuthentication: Bool) -> Bool { true }
    func failed(token: String?, policy: String?, isAuthentication: Bool, body: [UInt8]) {
        failures.add(1, ordering: .relaxed)
        if body.withUnsafeBytes(live.isIn) { leaks.add(1, ordering: .relaxed) }
    }
    func sessionExpired(policy: String, token: String, revision: SessionRevision) { ended.withLock { $0[revision, default: 0] += 1 } }
}

/// Takes refreshes and keeps their completions until the world ends them.
final class SimulatedRefresher: TokenRefresher {
    struct Call: Sendable {
        let credential: Credential?
        let completion: @Sendable (RefreshResult) -> Void
    }
    private struct State {
        var started: [Call] = []
        var open = 0
        var openMax = 0
        var calls = 0
    }
    private let state = Mutex(State())
    let canIssue: Bool
    var canRefresh: Bool { true }
    var openMax: Int { state.withLock { $0.openMax } }
    var calls: Int { state.withLock { $0.calls } }

    init(canIssue: Bool) { self.canIssue = canIssue }

    func refresh(_ current: Credential?, completion: @escaping @Sendable (RefreshResult) -> Void) {
        state.withLock {
            $0.calls += 1
            $0.open += 1
            $0.openMax = max($0.openMax, $0.open)
            let call = Call(credential: current) { [weak self] result in
                self?.state.withLock { $0.open -= 1 }
                completion(result)
            }
            $0.started.append(call)
        }
    }

    func takeStarted() -> [Call] {
        state.withLock { state in
            let started = state.started
            state.started = []
            return started
        }
    }
}

/// One token with its endpoint, which rotates refresh tokens and takes each once.
final class SimulatedToken {
    enum Endpoint { case up, down, slow }

    let name: String
    let expires: Bool
    let refresher: SimulatedRefresher
    let store: CredentialStore
    var endpoint = Endpoint.up
    /// The number of the one token the upstream accepts.
    var valid = 0
    /// Sessions whose end was reported, and how often.
    var ended: [SessionRevision: Int] { log.ended }
    var sessionsEndedHere = 0
    private let log: SessionLog
    private unowned let world: SimulatedWorld
    private var expiries: [Int: Int64] = [:]
    /// Refresh tokens that were redeemed or refused: presenting one again would end the family.
    private var spent: Set<Int> = []
    private var failedAt: UInt64?
    private var countedAt: [UInt64] = []
    static let perWindowMax = 50

    private final class SessionLog: Sendable {
        private let kept = Mutex<[SessionRevision: Int]>([:])
        var ended: [SessionRevision: Int] { kept.withLock { $0 } }
        func add(_ event: TokenEvent) { if case .sessionExpired(let revision) = event { kept.withLock { $0[revision, default: 0] += 1 } } }
    }

    init(
        _ name: String, _ place: InjectSettings.Place, _ parameter: String, format: String, expires: Bool, canIssue: Bool,
        world: SimulatedWorld
    ) {
        self.name = name
        self.expires = expires
        self.world = world
        let (clock, log, refresher) = (world.clock, SessionLog(), SimulatedRefresher(canIssue: canIssue))
        self.log = log
        self.refresher = refresher
        var settings = TokenSettings(name: name, source: .environment(name: "T"))
        settings.inject.place = place
        settings.inject.name = parameter
        settings.inject.format = format
        settings.refresh.onBusinessCodes = ["10001"]
        settings.refresh.perWindowMax = Self.perWindowMax
        settings.refresh.beforeExpirySeconds = 2
        let number = world.live.next()
        world.live.installed(number, of: name)
        valid = number
        store = CredentialStore(
            settings: settings, refresher: refresher,
            initial: NewCredential(
                token: Secret(SimulatedSecret.token(number)), refreshToken: Secret(SimulatedSecret.refreshToken(number))),
            monotonic: { clock.nanoseconds }, report: { _, event in log.add(event) })
    }

    // MARK: What happens to it

    private func make(_ number: Int, lives: Int64?) -> NewCredential {
        let expiry = lives.map { world.unixMicroseconds / 1_000_000 + $0 }
        expiries[number] = expiry
        return NewCredential(
            token: Secret(SimulatedSecret.token(number)), refreshToken: Secret(SimulatedSecret.refreshToken(number)), expiresAt: expiry)
    }

    private func lifetime() -> Int64? {
        guard expires else { return nil }
        return world.chance(2) ? 0 : Int64.random(in: 2...30, using: &world.random)
    }

    func install(isLogin: Bool) {
        let number = world.live.next()
        valid = number
        world.live.installed(number, of: name)
        failedAt = nil
        store.install(make(number, lives: lifetime()), isLogin: isLogin)
    }

    func logOut() {
        if store.logOut(expected: store.session().revision) { sessionsEndedHere += 1 }
    }

    /// Whether the token with that number must not be sent any more.
    func hasExpired(_ number: Int) -> Bool { expiries[number].map { world.unixMicroseconds / 1_000_000 >= $0 } ?? false }

    // MARK: The endpoint

    func answerRefreshes() {
        for call in refresher.takeStarted() {
            check(call)
            let (endpoint, revision) = (endpoint, store.session().revision)
            var delay: ClosedRange<UInt64> = endpoint == .slow || world.chance(2) ? 1_000_000...13_000_000 : 1_000...100_000
            if world.chance(1) { delay = 20_000_000...40_000_000 }
            world.after(microseconds: delay) { [unowned self] in answer(call, of: revision, isDown: endpoint == .down) }
        }
    }

    private func check(_ call: SimulatedRefresher.Call) {
        if call.credential == nil, !refresher.canIssue { world.report("\(name): asked to begin a login, which it cannot") }
        if let presented = SimulatedSecret.number(of: call.credential?.refreshToken), spent.contains(presented) {
            world.report("\(name): refresh token \(presented) is presented again")
        }
        let now = world.clock.nanoseconds
        if let failedAt, now < failedAt + RefreshGate.backoffMinNanoseconds { world.report("\(name): no back-off after a failure") }
        // Without expiry only refusals ask for a refresh of a token that is there.
        guard !expires, call.credential != nil else { return }
        countedAt.removeAll { now >= $0 + 30_000_000_000 }
        if countedAt.count >= Self.perWindowMax { world.report("\(name): more refreshes than the window allows") }
    }

    private func answer(_ call: SimulatedRefresher.Call, of revision: SessionRevision, isDown: Bool) {
        let now = world.clock.nanoseconds
        // A login, a logout or a new token meanwhile: what the endpoint answers is thrown away.
        let isStale = store.snapshot() !== call.credential || store.session().revision != revision
        let presented = SimulatedSecret.number(of: call.credential?.refreshToken)
        let chance = isDown ? 90 : Int.random(in: 0..<100, using: &world.random)
        switch chance {
        case 0..<84:
            if let presented { spent.insert(presented) }
            let number = world.live.next()
            let new = make(number, lives: lifetime())
            if !isStale {
                valid = number
                world.live.installed(number, of: name)
            }
            failedAt = nil
            count(call, now)
            call.completion(.renewed(new))
        case 84..<88:
            count(call, now)
            call.completion(.unchanged)
        case 88..<96:
            failedAt = isStale ? nil : now
            call.completion(.failed(detail: "timeout"))
        default:
            if let presented { spent.insert(presented) }
            if call.credential != nil, !isStale { sessionsEndedHere += 1 }
            count(call, now)
            call.completion(.rejected(detail: "invalid_grant"))
        }
    }

    private func count(_ call: SimulatedRefresher.Call, _ now: UInt64) { if !expires, call.credential != nil { countedAt.append(now) } }
}
