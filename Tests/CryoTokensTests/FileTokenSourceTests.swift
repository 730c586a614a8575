// Two stores of one file, as two gateways have them: one refresh for each rotation, and a logout that all hear of.
// Domain: cold

import CryoIO
import CryoPipeline
import CryoSync
import Dispatch
import Glibc
import Testing

@testable import CryoTokens

/// One gateway's part of a login that is kept in a file.
private struct Replica {
    let source: FileTokenSource
    let keeper: PairKeeper
    let monitor = TokenStoreMonitor(.file)
    let reports = Reports()

    /// The source presents and keeps as a real one does. `answer` gets the refresh token it presents.
    init(_ path: String, patience: UInt32 = 20_000, refreshToken: String = "r0", answer: @escaping @Sendable (Secret?) -> RefreshResult) {
        let reports = reports
        let store = TokenStoreFile(path: path)
        let keeper = PairKeeper(store: store, refreshToken: Secret(refreshToken), monitor: monitor, report: { reports.add($0) })
        self.keeper = keeper
        let inner = ScriptedSource { current in
            let presented = keeper.refreshToken(for: current)
            let result = answer(presented)
            guard case .renewed(let pair) = result else { return result }
            return .renewed(keeper.keep(pair, presented: presented))
        }
        source = FileTokenSource(
            inner, keeper: keeper, store: store, patienceMilliseconds: patience, monitor: monitor, report: { reports.add($0) })
    }
}

/// Rotates: each refresh token works once.
private final class Rotating: Sendable {
    private let state = Mutex<(number: Int, refused: Int)>((0, 0))

    func answer(_ presented: Secret?) -> RefreshResult {
        state.withLock { state in
            guard presented?.text == "r\(state.number)" else {
                state.refused += 1
                return .rejected(detail: "used up")
            }
            state.number += 1
            return renewed(state.number)
        }
    }

    var rotations: Int { state.withLock { $0.number } }
    var refused: Int { state.withLock { $0.refused } }
}

private func pair(_ number: Int) -> NewCredential { NewCredential(token: Secret("a\(number)"), refreshToken: Secret("r\(number)")) }
private func renewed(_ number: Int) -> RefreshResult { .renewed(pair(number)) }
private let current = credential("a0", refreshToken: "r0")

@Suite struct FileTokenSourceTests {
    private let directory = TemporaryDirectory()
    private var path: String { directory.file("app.json") }

    @Test("one refreshes, the other takes its pair from the file without asking, and nothing stays beside the file") func adopted() async {
        let endpoint = Rotating()
        let one = Replica(path) { endpoint.answer($0) }
        let other = Replica(path) { endpoint.answer($0) }
        #expect(text(of: await refresh(one.source, current)) == "renewed a1 r1")
        #expect(text(of: await refresh(other.source, current)) == "renewed a1 r1")
        #expect(text(of: await refresh(other.source, credential("a1", refreshToken: "r1"))) == "renewed a2 r2")
        #expect(text(of: await refresh(one.source, credential("a1", refreshToken: "r1"))) == "renewed a2 r2")
        #expect(endpoint.rotations == 2 && endpoint.refused == 0)
        #expect(one.monitor.count(of: .adopted) == 1 && other.monitor.count(of: .adopted) == 1)
        #expect(directory.names == ["app.json"] && one.reports.all.isEmpty && other.reports.all.isEmpty)
    }

    @Test("a hundred rotations of two that ask at the same moment: each refresh token is presented once") func together() async {
        let endpoint = Rotating()
        let replicas = [Replica(path) { endpoint.answer($0) }, Replica(path) { endpoint.answer($0) }]
        for number in 0..<100 {
            let held = credential("a\(number)", refreshToken: "r\(number)")
            async let first = refresh(replicas[0].source, held)
            async let second = refresh(replicas[1].source, held)
            let answers = await [text(of: first), text(of: second)]
            #expect(answers == ["renewed a\(number + 1) r\(number + 1)", "renewed a\(number + 1) r\(number + 1)"])
        }
        #expect(endpoint.rotations == 100 && endpoint.refused == 0)
    }

    @Test("who comes while another refreshes waits for it; whoever waits too long fails and asks nobody") func waits() async {
        let gate = DispatchSemaphore(value: 0)
        let asked = DispatchSemaphore(value: 0)
        let one = Replica(path) { _ in
            asked.signal()
            gate.wait()
            return renewed(1)
        }
        let other = Replica(path, patience: 60) { _ in .rejected(detail: "asked") }
        async let first = refresh(one.source, current)
        await withCheckedContinuation { continuation in
            DispatchQueue(label: "test").async {
                asked.wait()
                continuation.resume()
            }
        }
        #expect(text(of: await refresh(other.source, current)) == "failed: another gateway has been refreshing for 60 ms")
        gate.signal()
        #expect(text(of: await first) == "renewed a1 r1")
        #expect(text(of: await refresh(other.source, current)) == "renewed a1 r1")
        #expect(other.monitor.count(of: .leaseAwaited) == 1 && other.monitor.count(of: .adopted) == 1)
    }

    @Test("a logout and a login of one are the other's at its next refresh") func heard() async {
        let one = Replica(path) { _ in .failed(detail: "asked") }
        let other = Replica(path) { _ in .failed(detail: "asked") }
        one.source.adopt(.loggedOut)
        #expect(text(of: await refresh(other.source, current)) == "rejected: another gateway was asked to log out")
        // That the login is over for this one too takes nothing from the disk that the first one put there.
        other.source.adopt(.expired)
        #expect(directory.read("app.json")?.holds("logged_out") == true)
        one.source.adopt(.login(pair(5)))
        #expect(text(of: await refresh(other.source)) == "renewed a5 r5")
        #expect(other.monitor.count(of: .refusedElsewhere) == 1 && directory.names == ["app.json"])
    }

    @Test("a logout that does not wait for a refresh wins over it, in the file and in the gateway that refreshes")
    func outdated() async {
        let store = TokenStoreFile(path: path)
        let one = Replica(path) { _ in
            // Another gateway logs out in the middle, as it does when it has waited too long.
            try? store.write(LogoutMark(of: InitialPair()))
            return renewed(1)
        }
        #expect(text(of: await refresh(one.source, current)) == "rejected: another gateway was asked to log out")
        #expect(directory.read("app.json")?.holds("logged_out") == true && one.monitor.count(of: .conflict) == 1)
        #expect(one.keeper.refreshToken(for: nil) == nil)
    }

    @Test("the lock of a process that was killed is free, and its mark is counted once") func killed() async {
        directory.write("app.json.refreshing", "1\n")
        let one = Replica(path) { _ in renewed(1) }
        #expect(text(of: await refresh(one.source, current)) == "renewed a1 r1")
        #expect(one.reports.all == [.storeInterrupted(path: path)] && one.monitor.count(of: .interrupted) == 1)
        #expect(directory.names == ["app.json"])
    }

    @Test("where no lock file can be made the refresh goes on, and all that is said is that the pair can't be written")
    func notLocked() async {
        let one = Replica("/proc/self/nothing/app.json") { _ in renewed(1) }
        #expect(text(of: await refresh(one.source, current)) == "renewed a1 r1")
        _ = await refresh(one.source, credential("a1"))
        guard one.reports.all.count == 1, case .storeNotWritten = one.reports.all[0] else {
            Issue.record("\(one.reports.all)")
            return
        }
        #expect(one.monitor.count(of: .notLocked) == 2)
    }

    @Test("a lock is one open file's: the same process can't take it twice, and a file that was replaced is no lock") func lock() throws {
        let store = TokenStoreFile(path: path)
        guard case .taken(let first) = store.lock() else {
            Issue.record("not taken")
            return
        }
        guard case .held = store.lock() else {
            Issue.record("taken twice")
            return
        }
        #expect(!store.clearMark(), "a start must not take away the mark of a refresh that is under way")
        first.release(leavesMark: true)
        first.release(leavesMark: false)
        #expect(directory.names == ["app.json.refreshing"])
        #expect(store.clearMark() && directory.names.isEmpty && !store.clearMark())
    }
}
