import CryoPipeline
import CryoSync
import Dispatch
import Testing

@testable import CryoTokens

/// One gateway's part of a shared login.
private struct Replica {
    let source: SharedTokenSource
    let keeper: PairKeeper
    let monitor = TokenStoreMonitor(.redis)
    let reports = Reports()

    init(_ inner: any TokenRefresher, _ settings: RedisStoreSettings, refreshToken: String = "r0") {
        let reports = reports
        keeper = PairKeeper(store: nil, refreshToken: Secret(refreshToken), monitor: monitor, report: { reports.add($0) })
        source = SharedTokenSource(
            inner, keeper: keeper, settings: settings, version: 0, patienceMilliseconds: 20_000, monitor: monitor,
            report: { reports.add($0) })
    }
}

private func renewed(_ number: Int) -> RefreshResult {
    .renewed(NewCredential(token: Secret("a\(number)"), refreshToken: Secret("r\(number)")))
}

private let current = credential("a0", refreshToken: "r0")

/// Polls, with a bound.
private func eventually(_ condition: () -> Bool) async -> Bool {
    for _ in 0..<4000 {
        if condition() { return true }
        try? await Task.sleep(for: .milliseconds(5))
    }
    return false
}

@Suite(.enabled(if: RedisServer.isInstalled)) struct SharedTokenSourceTests {
    private let server: RedisServer

    init() throws { server = try #require(RedisServer()) }

    @Test("one refreshes, the other takes its pair without asking") func adopted() async {
        let first = ScriptedSource { _ in renewed(1) }
        let second = ScriptedSource { _ in renewed(9) }
        let one = Replica(first, server.settings())
        let other = Replica(second, server.settings())
        #expect(text(of: await refresh(one.source, current)) == "renewed a1 r1")
        #expect(text(of: await refresh(other.source, current)) == "renewed a1 r1")
        #expect(first.calls == 1 && second.calls == 0)
        #expect(one.monitor.count(of: .written) == 1 && other.monitor.count(of: .adopted) == 1)
        #expect(other.keeper.refreshToken(for: current)?.text == "r1")
    }

    @Test("who comes while another refreshes waits, and the lease outlives its length") func waits() async {
        let gate = DispatchSemaphore(value: 0)
        let first = ScriptedSource { _ in
            gate.wait()
            return renewed(1)
        }
        let second = ScriptedSource { _ in renewed(9) }
        let one = Replica(first, server.settings(leaseMilliseconds: 1500))
        let other = Replica(second, server.settings(leaseMilliseconds: 1500))
        async let leading = refresh(one.source, current)
        #expect(await eventually { first.calls == 1 })
        async let waiting = refresh(other.source, current)
        #expect(await eventually { other.monitor.count(of: .leaseAwaited) == 1 })
        // Twice the lease, which is long enough to be renewed in time on a busy machine.
        try? await Task.sleep(for: .milliseconds(3000))
        gate.signal()
        #expect(text(of: await leading) == "renewed a1 r1")
        #expect(text(of: await waiting) == "renewed a1 r1")
        #expect(second.calls == 0 && one.monitor.count(of: .leaseLost) == 0)
    }

    @Test("a lost lease is counted, and the pair that was there first counts") func conflict() async throws {
        let gate = DispatchSemaphore(value: 0)
        let inner = ScriptedSource { _ in
            gate.wait()
            return renewed(1)
        }
        let one = Replica(inner, server.settings(leaseMilliseconds: 100))
        async let leading = refresh(one.source, current)
        #expect(await eventually { inner.calls == 1 })
        try server.command("SET", "cryonet:test:lease", "somebody else")
        #expect(await eventually { one.monitor.count(of: .leaseLost) == 1 })
        let theirs = NewCredential(token: Secret("b1"), refreshToken: Secret("s1"))
        #expect(try server.link().publish(theirs, after: 0) == .written(version: 1))
        gate.signal()
        #expect(text(of: await leading) == "renewed b1 s1")
        #expect(one.monitor.count(of: .conflict) == 1)
        #expect(one.reports.all.contains { if case .sharedStoreConflict = $0 { true } else { false } })
        #expect(try server.command("GET", "cryonet:test:lease") == .bytes(Array("somebody else".utf8)))
    }

    @Test("a refused refresh token is told to the others, who do not present it") func refused() async throws {
        let first = ScriptedSource { _ in renewed(1) }
        let one = Replica(first, server.settings())
        _ = await refresh(one.source, current)
        let refusing = ScriptedSource { _ in .rejected(detail: "no") }
        let two = Replica(refusing, server.settings())
        let three = Replica(refusing, server.settings())
        let adopted = credential("a1", refreshToken: "r1")
        _ = await refresh(two.source, current)
        _ = await refresh(three.source, current)
        two.keeper.forget(Secret("r1"))
        #expect(text(of: await refresh(two.source, adopted)) == "rejected: no")
        #expect(refusing.calls == 1)
        #expect(text(of: await refresh(three.source, adopted)) == "rejected: another gateway was told that the refresh token is refused")
        #expect(refusing.calls == 1 && three.monitor.count(of: .refusedElsewhere) == 1)
    }

    @Test("a login from outside is told to the others, and so is a logout") func adoptedFromOutside() async throws {
        let one = Replica(ScriptedSource { _ in renewed(1) }, server.settings())
        let other = Replica(ScriptedSource { _ in .rejected(detail: "asked") }, server.settings())
        _ = await refresh(one.source, current)
        one.source.adopt(.login(NewCredential(token: Secret("a5"), refreshToken: Secret("r5"))))
        #expect(text(of: await refresh(other.source, current)) == "renewed a5 r5")
        one.source.adopt(.loggedOut)
        let result = text(of: await refresh(other.source, credential("a5", refreshToken: "r5")))
        #expect(result == "rejected: another gateway was told that the refresh token is refused")
    }

    @Test("an expired pair of another gateway is not used, but refreshed from") func expired() async throws {
        let old = NewCredential(token: Secret("a1"), refreshToken: Secret("r1"), expiresAt: 5)
        _ = try server.link().publish(old, after: 0)
        let inner = ScriptedSource { base in base?.refreshToken?.text == "r1" ? renewed(2) : .failed(detail: "another base") }
        #expect(text(of: await refresh(Replica(inner, server.settings()).source, current)) == "renewed a2 r2")
    }

    @Test("writing twice is writing once; an older version writes nothing") func scripts() throws {
        let link = try server.link()
        let pair = NewCredential(token: Secret("a1"), refreshToken: Secret("r1"), expiresAt: 1_900_000_000)
        #expect(try link.publish(pair, after: 0) == .written(version: 1))
        #expect(try link.publish(pair, after: 0) == .written(version: 1))
        #expect(try link.publish(NewCredential(token: Secret("b1")), after: 0) == .conflict)
        #expect(try link.refuse(Secret("r0"), after: 0) == .conflict)
        guard case .pair(let read, let version) = try link.read() else {
            Issue.record("no pair")
            return
        }
        #expect(version == 1 && read.token.text == "a1" && read.refreshToken?.text == "r1" && read.expiresAt == 1_900_000_000)
    }

    @Test("a lease is one gateway's at a time, and only its owner releases it") func lease() throws {
        let one = try server.link()
        let other = try server.link()
        #expect(try one.acquire() && one.acquire())
        #expect(try !other.acquire() && !other.renew())
        try other.release()
        #expect(try one.renew() && !other.acquire())
        try one.release()
        #expect(try !one.renew() && other.acquire())
    }

    @Test("no word of a command comes back with an error") func errors() throws {
        #expect(throws: RedisError.refused(code: "ERR")) { try server.command("AUTH", "my-secret") }
        #expect(throws: RedisError.refused(code: "ERR")) { try server.command("my-secret", "my-secret") }
    }
}

@Suite struct LonelyTokenSourceTests {
    private let unreachable = RedisStoreSettings(address: .unix(path: "/nonexistent/r.sock"), key: "cryonet:test")

    @Test("without Redis each refreshes for itself; that is said once and counted each time") func alone() async {
        let inner = ScriptedSource { _ in renewed(1) }
        let one = Replica(inner, unreachable)
        for _ in 0..<3 { #expect(text(of: await refresh(one.source, current)) == "renewed a1 r1") }
        #expect(one.monitor.count(of: .refreshedAlone) == 3 && one.monitor.count(of: .unreachable) >= 3)
        #expect(one.monitor.status.trouble == "can't connect: No such file or directory")
        #expect(one.reports.all.count == 1)
    }

    @Test("without Redis a refusal is no end of the login") func notDead() async {
        let one = Replica(ScriptedSource { _ in .rejected(detail: "no") }, unreachable)
        guard case .failed = await refresh(one.source, current) else {
            Issue.record("the login is over")
            return
        }
    }
}
