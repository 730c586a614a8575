// One hook's queue: order, bounds, what is counted and what is said; and the table that finds the hooks of a token and a policy.
// Domain: cold

import CryoPipeline
import CryoSync
import Dispatch
import Testing

@testable import CryoHooks

private final class Seen: Sendable {
    private let kept = Mutex<[String]>([])
    var all: [String] { kept.withLock { $0 } }
    func add(_ text: String) { kept.withLock { $0.append(text) } }
}

private func event(_ text: String, _ kind: HookSettings.Event = .failure) -> HookEvent { HookEvent(kind: kind, body: Array(text.utf8)) }

private func text(_ event: HookEvent) -> String { String(decoding: event.body, as: UTF8.self) }

@Suite("A hook's queue")
struct HookQueueTests {
    @Test("events are told one after the other, in their order, on another thread")
    func order() {
        let seen = Seen()
        let queue = HookQueue(
            name: "token t", events: [.failure], warn: { _ in },
            deliver: {
                seen.add(text($0))
                return nil
            })
        for number in 0..<50 { queue.add(event("\(number)")) }
        queue.waitUntilEmpty(10_000)
        #expect(seen.all == (0..<50).map { "\($0)" })
        #expect(queue.counts == HookQueue.Counts(sent: 50))
    }

    @Test("a hook that hangs holds nobody up: at the bound events are dropped and counted, and it is said once, twice, four times")
    func bound() {
        let gate = DispatchSemaphore(value: 0)
        let began = DispatchSemaphore(value: 0)
        let said = Seen()
        let queue = HookQueue(
            name: "token t", events: [.failure], warn: { said.add($0) },
            deliver: { _ in
                began.signal()
                gate.wait()
                return nil
            })
        queue.add(event("first"))
        #expect(began.wait(timeout: .now() + 10) == .success)
        for number in 0..<HookQueue.waitingMax { queue.add(event("\(number)")) }
        #expect(queue.counts.dropped == 0)
        for _ in 0..<5 { queue.add(event("too many")) }
        #expect(queue.counts.dropped == 5)
        #expect(said.all == [1, 2, 4].map { "hook of token t: too many events wait: dropped (\($0) in a row)" })
        for _ in 0...HookQueue.waitingMax { gate.signal() }
        queue.waitUntilEmpty(10_000)
        #expect(queue.counts == HookQueue.Counts(sent: UInt64(HookQueue.waitingMax) + 1, dropped: 5))
    }

    @Test("few large events are as many as many small ones")
    func bytesBound() {
        let gate = DispatchSemaphore(value: 0)
        let queue = HookQueue(
            name: "t", events: [.failure], warn: { _ in },
            deliver: { _ in
                gate.wait()
                return nil
            })
        let half = HookEvent(kind: .failure, body: [UInt8](repeating: 0x20, count: HookQueue.waitingBytesMax / 2 + 1))
        queue.add(half)
        queue.add(half)
        queue.add(half)
        // The first may have left the queue already.
        #expect(1...2 ~= queue.counts.dropped)
        for _ in 0..<3 { gate.signal() }
        queue.waitUntilEmpty(10_000)
    }

    @Test("failures are counted, and said less and less often until one succeeds")
    func failures() {
        let said = Seen()
        let isDown = Atomic<Bool>(true)
        let queue = HookQueue(
            name: "policy p", events: [.failure], warn: { said.add($0) },
            deliver: { _ in isDown.load(ordering: .relaxed) ? HookFailure("the webhook answered 500") : nil })
        for _ in 0..<5 { queue.add(event("e")) }
        queue.waitUntilEmpty(10_000)
        #expect(said.all == [1, 2, 4].map { "hook of policy p: the webhook answered 500: failed (\($0) in a row)" })
        isDown.store(false, ordering: .relaxed)
        queue.add(event("e"))
        queue.waitUntilEmpty(10_000)
        isDown.store(true, ordering: .relaxed)
        queue.add(event("e"))
        queue.waitUntilEmpty(10_000)
        #expect(said.all.count == 4 && queue.counts == HookQueue.Counts(sent: 1, failed: 6))
    }

    @Test("a closed hook takes nothing more, and at the end what waits too long is dropped")
    func end() {
        let gate = DispatchSemaphore(value: 0)
        let began = DispatchSemaphore(value: 0)
        let queue = HookQueue(
            name: "t", events: [.failure], warn: { _ in },
            deliver: { _ in
                began.signal()
                gate.wait()
                return nil
            })
        queue.add(event("told"))
        #expect(began.wait(timeout: .now() + 10) == .success)
        queue.add(event("waits"))
        queue.close()
        queue.add(event("late"))
        #expect(queue.counts.dropped == 1)
        queue.waitUntilEmpty(1)
        #expect(queue.counts.dropped == 2)
        gate.signal()
        queue.waitUntilEmpty(10_000)
        #expect(queue.counts == HookQueue.Counts(sent: 1, dropped: 2))
    }
}

@Suite("The hooks of a gateway")
struct HooksTests {
    private let revision = SessionRevision(high: 1, low: 2)

    private func queue(_ seen: Seen, _ name: String, _ events: [HookSettings.Event]) -> HookQueue {
        HookQueue(
            name: name, events: events, warn: { _ in },
            deliver: {
                seen.add("\(name): \(text($0))")
                return nil
            })
    }

    @Test("a policy hears of its failures, a token only of those about it, each of the events it asked for")
    func interests() {
        let seen = Seen()
        let hooks = Hooks(unixMicroseconds: { 1_700_000_000_000_000 })
        let all = [
            HookOwner.token("app"): [queue(seen, "token", [.failure]), queue(seen, "expired", [.sessionExpired])],
            .policy("p"): [queue(seen, "policy", [.failure, .sessionExpired])],
        ]
        #expect(!hooks.wantsFailure(token: "app", policy: "p", isAuthentication: true))
        hooks.use(all)
        #expect(hooks.wantsFailure(token: "app", policy: nil, isAuthentication: true))
        #expect(!hooks.wantsFailure(token: "app", policy: nil, isAuthentication: false))
        #expect(!hooks.wantsFailure(token: "other", policy: "q", isAuthentication: true))
        func settled() -> [String] {
            for queue in all.values.flatMap(\.self) { queue.waitUntilEmpty(10_000) }
            return seen.all.sorted()
        }
        hooks.failed(token: "app", policy: "p", isAuthentication: false, body: Array("1".utf8))
        hooks.failed(token: "app", policy: "p", isAuthentication: true, body: Array("2".utf8))
        #expect(settled() == ["policy: 1", "policy: 2", "token: 2"])
        hooks.observe(.expired(revision: revision), of: "app", tokens: ["app"])
        hooks.sessionExpired(policy: "p", token: "app", revision: revision)
        let told = settled().filter { $0.contains("session_expired") }
        let body =
            #"{"event":"session_expired","time":"2023-11-14T22:13:20.000000Z","token":"app","session":"00000000-0000-4001-8000-000000000002"}"#
        #expect(told == ["expired: \(body)", "policy: \(body)"])
    }

    @Test("the end of a login that tokens share is told to each hook once, an asked-for end and a beginning to none")
    func sharedSession() {
        let seen = Seen()
        let hooks = Hooks(unixMicroseconds: { 0 })
        let queues = [
            HookOwner.token("a"): [queue(seen, "a", [.sessionExpired])], .token("b"): [queue(seen, "b", [.sessionExpired])],
            .token("c"): [queue(seen, "c", [.sessionExpired])], .policy("p"): [queue(seen, "p", [.sessionExpired])],
        ]
        hooks.use(queues)
        hooks.observe(.began(revision: revision), of: "user", tokens: ["a", "b"])
        hooks.observe(.loggedOut(revision: revision), of: "user", tokens: ["a", "b"])
        hooks.observe(.expired(revision: revision), of: "user", tokens: ["a", "b"])
        // Codes of the policy for both tokens, at the same time: each store ends its own copy of the login.
        for token in ["a", "b"] { hooks.sessionExpired(policy: "p", token: token, revision: revision) }
        hooks.sessionExpired(policy: "p", token: "a", revision: SessionRevision(high: 3, low: 4))
        hooks.close(within: 10_000)
        #expect(seen.all.map { String($0.prefix(1)) }.sorted() == ["a", "b", "p", "p"])
        #expect(queues.values.flatMap(\.self).allSatisfy { $0.counts.dropped == 0 })
    }

    @Test("a new table ends the hooks it does not hold any more, and lets the others be")
    func reload() {
        let seen = Seen()
        let hooks = Hooks(unixMicroseconds: { 0 })
        let (kept, gone) = (queue(seen, "kept", [.failure]), queue(seen, "gone", [.failure]))
        hooks.use([.policy("p"): [kept, gone]])
        hooks.use([.policy("p"): [kept]])
        hooks.failed(token: nil, policy: "p", isAuthentication: false, body: Array("1".utf8))
        gone.add(event("late"))
        hooks.close(within: 10_000)
        #expect(seen.all == ["kept: 1"] && gone.counts.dropped == 1)
    }
}
