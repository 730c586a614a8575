// The circuit breaker on manual time: when it opens, what it lets through, how it closes, and what it must not take for a failure.
// Domain: pure

import CryoSync
import Testing

@testable import CryoPipeline

@Suite("breaker") struct BreakerTests {
    private final class Changes: Sendable {
        private let kept = Mutex<[Breaker.Change]>([])
        var all: [Breaker.Change] { kept.withLock { $0 } }
        func add(_ change: Breaker.Change) { kept.withLock { $0.append(change) } }
    }

    private static let second: UInt64 = 1_000_000_000
    private let changes = Changes()

    private func breaker(_ change: (inout BreakerSettings) -> Void = { _ in }) -> Breaker {
        var settings = BreakerSettings(failurePercent: 50)
        settings.requestsMin = 4
        settings.windowMilliseconds = 10_000
        settings.openMilliseconds = 1_000
        settings.openMillisecondsMax = 4_000
        settings.probes = 2
        change(&settings)
        return Breaker(settings) { [changes] in changes.add($0) }
    }

    private func permit(_ breaker: Breaker, at now: UInt64) -> Breaker.Permit? {
        if case .admitted(let permit) = breaker.admit(at: now) { permit } else { nil }
    }

    /// Admits and settles; false when it was refused.
    @discardableResult
    private func run(_ breaker: Breaker, _ ending: Breaker.Ending, at now: UInt64, times: Int = 1) -> Bool {
        for _ in 0..<times {
            guard let permit = permit(breaker, at: now) else { return false }
            breaker.settle(permit, ending, at: now)
        }
        return true
    }

    @Test("opens at the share, not below it, and says of how many")
    func share() {
        let breaker = breaker()
        run(breaker, .success, at: 0, times: 3)
        run(breaker, .failure, at: 0, times: 2)
        #expect(breaker.status(at: 0).state == .closed, "2 of 5")
        run(breaker, .failure, at: 0)
        #expect(breaker.status(at: 0).state == .open, "3 of 6")
        #expect(changes.all == [Breaker.Change(state: .open, failures: 3, attempts: 6, openMilliseconds: 1000)])
    }

    @Test("a few failures of a quiet upstream tell nothing: the least number counts")
    func leastNumber() {
        let breaker = breaker()
        run(breaker, .failure, at: 0, times: 3)
        #expect(breaker.status(at: 0).state == .closed)
        run(breaker, .failure, at: 0)
        #expect(breaker.status(at: 0).state == .open)
    }

    @Test("a success never opens it, not even the one that makes the number enough")
    func successNeverOpens() {
        let breaker = breaker()
        run(breaker, .failure, at: 0, times: 3)
        run(breaker, .success, at: 0)
        #expect(breaker.status(at: 0).state == .closed)
        run(breaker, .failure, at: 0)
        #expect(breaker.status(at: 0).state == .open)
    }

    @Test("failures older than the window are forgotten, part by part")
    func window() {
        let breaker = breaker()
        run(breaker, .failure, at: 0, times: 3)
        run(breaker, .failure, at: 10 * Self.second)
        #expect(breaker.status(at: 10 * Self.second).failures == 1)
        run(breaker, .failure, at: 15 * Self.second, times: 2)
        #expect(breaker.status(at: 15 * Self.second) == Breaker.Status(state: .closed, failures: 3, attempts: 3))
        #expect(breaker.status(at: 20 * Self.second).failures == 2)
        #expect(breaker.status(at: 100 * Self.second).attempts == 0)
    }

    @Test("a worker whose clock is a little behind counts in its own part, and one far behind not at all")
    func lateClocks() {
        var window = AttemptWindow(milliseconds: 10_000)
        window.add(isFailure: true, at: 20 * Self.second)
        window.add(isFailure: true, at: 15 * Self.second)
        window.add(isFailure: false, at: 2 * Self.second)
        #expect(window.bad == 2 && window.total == 2)
        window.roll(at: 25 * Self.second)
        #expect(window.bad == 1)
    }

    @Test("refuses for its time and tells how long that is; a later look at the clock does not lengthen it")
    func refuses() {
        let breaker = breaker()
        run(breaker, .failure, at: 0, times: 4)
        #expect(breaker.admit(at: 0) == .refused(retryAfterMilliseconds: 1000))
        #expect(breaker.admit(at: Self.second - 1) == .refused(retryAfterMilliseconds: 1))
        #expect(breaker.isOpen(at: Self.second - 1) && !breaker.isOpen(at: Self.second))
        #expect(breaker.status(at: Self.second / 2).retryAfterMilliseconds == 500)
        #expect(breaker.status(at: Self.second / 2).refused == 2)
    }

    @Test("half open lets no more through than its probes, and closes when all of them succeed")
    func probes() {
        let breaker = breaker()
        run(breaker, .failure, at: 0, times: 4)
        let first = permit(breaker, at: Self.second)
        let second = permit(breaker, at: Self.second)
        #expect(first?.isProbe == true && second?.isProbe == true)
        #expect(permit(breaker, at: Self.second) == nil, "the herd waits")
        for permit in [first, second].compactMap(\.self) { breaker.settle(permit, .success, at: Self.second) }
        #expect(breaker.status(at: Self.second) == Breaker.Status(state: .closed, opened: 1, refused: 1))
        #expect(changes.all.map(\.state) == [.open, .halfOpen, .closed])
        #expect(permit(breaker, at: Self.second)?.isProbe == false)
    }

    @Test("a probe that fails opens it again, for twice as long, up to the bound; closing starts over")
    func doubling() {
        let breaker = breaker()
        run(breaker, .failure, at: 0, times: 4)
        var now: UInt64 = 0
        for (length, next) in [(1, 2), (2, 4), (4, 4), (4, 4)] {
            now += UInt64(length) * Self.second
            run(breaker, .failure, at: now)
            #expect(changes.all.last == Breaker.Change(state: .open, failures: 1, attempts: 1, openMilliseconds: UInt64(next) * 1000))
        }
        now += 4 * Self.second
        run(breaker, .success, at: now, times: 2)
        run(breaker, .failure, at: now, times: 4)
        #expect(changes.all.last?.openMilliseconds == 1000)
    }

    @Test("what ends after its phase is over changes nothing: neither a slow failure nor a slow success")
    func latecomers() {
        let breaker = breaker()
        let slow = (0..<4).compactMap { _ in permit(breaker, at: 0) }
        run(breaker, .failure, at: 0, times: 4)
        let probe = permit(breaker, at: Self.second)
        breaker.settle(slow[0], .failure, at: Self.second)
        breaker.settle(slow[1], .success, at: Self.second)
        #expect(breaker.status(at: Self.second).state == .halfOpen)
        if let probe { breaker.settle(probe, .success, at: Self.second) }
        run(breaker, .success, at: Self.second)
        #expect(breaker.status(at: Self.second).state == .closed)
        breaker.settle(slow[2], .failure, at: Self.second)
        #expect(breaker.status(at: Self.second).attempts == 0)
    }

    @Test("a probe that ends without a word gives its place back: a client that leaves never holds it half open")
    func unknownEndings() {
        let breaker = breaker { $0.probes = 1 }
        run(breaker, .failure, at: 0, times: 4)
        for _ in 0..<5 { #expect(run(breaker, .unknown, at: Self.second)) }
        #expect(breaker.status(at: Self.second).state == .halfOpen)
        #expect(run(breaker, .success, at: Self.second))
        #expect(breaker.status(at: Self.second).state == .closed)
    }

    @Test("a probe that never ends makes room for another after the time")
    func silentProbes() {
        let breaker = breaker { $0.probes = 1 }
        run(breaker, .failure, at: 0, times: 4)
        let silent = permit(breaker, at: Self.second)
        #expect(silent != nil && permit(breaker, at: Self.second * 2 - 1) == nil)
        #expect(run(breaker, .success, at: Self.second * 2))
        #expect(breaker.status(at: Self.second * 2).state == .closed)
        if let silent { breaker.settle(silent, .failure, at: Self.second * 3) }
        #expect(breaker.status(at: Self.second * 3).attempts == 0)
    }

    @Test("unknown endings are no part of the share")
    func unknownIsNotCounted() {
        let breaker = breaker()
        run(breaker, .unknown, at: 0, times: 100)
        #expect(breaker.status(at: 0).attempts == 0 && breaker.status(at: 0).state == .closed)
    }
}
