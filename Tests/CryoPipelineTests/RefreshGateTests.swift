// Dialogues with the refresh gate: who leads, who waits, who is told that it is no use.
// Domain: cold

import Testing

@testable import CryoPipeline

private let second: UInt64 = 1_000_000_000

private func gate(_ change: (inout RefreshSettings) -> Void = { _ in }) -> RefreshGate {
    var settings = RefreshSettings()
    change(&settings)
    return RefreshGate(settings: settings)
}

@Suite("The refresh gate")
struct RefreshGateTests {
    @Test("the first refusal leads, the others join, and one flight serves them all")
    func singleFlight() {
        var gate = gate()
        #expect(gate.demand(.refused(version: 1), current: 1, waiters: 0, at: 0) == .lead)
        #expect(gate.state == .refreshing(since: 0))
        for waiters in 1..<5 {
            #expect(gate.demand(.refused(version: 1), current: 1, waiters: waiters, at: 1) == .join)
        }
        #expect(gate.demand(.unusable(version: 1), current: 1, waiters: 5, at: 1) == .join)
        gate.complete(.renewed, current: 1, at: 2)
        #expect(gate.state == .idle)
    }

    @Test("a refusal of an older version is answered with the newer one, also while another refresh runs")
    func alreadyNewer() {
        var gate = gate()
        #expect(gate.demand(.refused(version: 1), current: 2, waiters: 0, at: 0) == .alreadyNewer)
        #expect(gate.state == .idle)
        #expect(gate.demand(.refused(version: 2), current: 2, waiters: 0, at: 0) == .lead)
        #expect(gate.demand(.refused(version: 1), current: 2, waiters: 1, at: 0) == .alreadyNewer)
    }

    @Test(
        "whoever saw an older version than the present one is given that one, whatever the need was",
        arguments: [RefreshCause.refused(version: 1), .unusable(version: 1), .unusable(version: 0), .early(version: 1)])
    func staleNeed(_ cause: RefreshCause) {
        var gate = gate()
        #expect(gate.demand(cause, current: 2, waiters: 0, at: 0) == .alreadyNewer)
        #expect(gate.state == .idle)
        #expect(gate.demand(.unusable(version: 2), current: 2, waiters: 0, at: 0) == .lead)
    }

    @Test("a demand whose clock was read before the leader's joins the flight")
    func olderClock() {
        var gate = gate()
        #expect(gate.demand(.refused(version: 1), current: 1, waiters: 0, at: 5 * second) == .lead)
        #expect(gate.demand(.refused(version: 1), current: 1, waiters: 1, at: 5 * second - 1) == .join)
        #expect(gate.demand(.unusable(version: 1), current: 1, waiters: 2, at: 4 * second) == .join)
    }

    @Test("a flight that is overdue is not joined and not doubled; its end, however late, opens the gate")
    func overdue() {
        var gate = gate { $0.timeoutMilliseconds = 10_000 }
        #expect(gate.demand(.refused(version: 1), current: 1, waiters: 0, at: 0) == .lead)
        #expect(gate.demand(.refused(version: 1), current: 1, waiters: 1, at: 11 * second) == .join)
        #expect(gate.demand(.refused(version: 1), current: 1, waiters: 2, at: 11 * second + 1) == .failed)
        #expect(gate.demand(.unusable(version: 1), current: 1, waiters: 2, at: 900 * second) == .failed)
        gate.complete(.renewed, current: 1, at: 901 * second)
        #expect(gate.demand(.refused(version: 2), current: 2, waiters: 0, at: 901 * second) == .lead)
    }

    @Test("at the bound of waiters everybody joins, one more is told that it failed")
    func waitersBound() {
        var gate = gate { $0.waitersMax = 3 }
        #expect(gate.demand(.refused(version: 1), current: 1, waiters: 0, at: 0) == .lead)
        #expect(gate.demand(.refused(version: 1), current: 1, waiters: 2, at: 0) == .join)
        #expect(gate.demand(.refused(version: 1), current: 1, waiters: 3, at: 0) == .failed)
    }

    @Test(
        "a version whose refresh was rejected, or brought nothing newer, is not refreshed again",
        arguments: [RefreshVerdict.rejected, .unchanged])
    func hopeless(_ verdict: RefreshVerdict) {
        var gate = gate()
        #expect(gate.demand(.refused(version: 1), current: 1, waiters: 0, at: 0) == .lead)
        gate.complete(verdict, current: 1, at: 0)
        #expect(gate.demand(.refused(version: 1), current: 1, waiters: 0, at: second) == .rejected)
        #expect(gate.demand(.unusable(version: 1), current: 1, waiters: 0, at: second) == .rejected)
        #expect(gate.demand(.early(version: 1), current: 1, waiters: 0, at: second) == .rejected)
        #expect(gate.demand(.refused(version: 2), current: 2, waiters: 0, at: second) == .lead)
    }

    @Test("a failure that may pass is tried again after a second, then two, up to thirty")
    func backOff() {
        var gate = gate()
        var now: UInt64 = 0
        for delay in [1, 2, 4, 8, 16, 30, 30] as [UInt64] {
            #expect(gate.demand(.refused(version: 1), current: 1, waiters: 0, at: now) == .lead)
            gate.complete(.failed, current: 1, at: now)
            #expect(gate.demand(.refused(version: 1), current: 1, waiters: 0, at: now + delay * second - 1) == .failed)
            now += delay * second
        }
        #expect(gate.demand(.refused(version: 1), current: 1, waiters: 0, at: now) == .lead)
        gate.complete(.renewed, current: 1, at: now)
        #expect(gate.demand(.refused(version: 2), current: 2, waiters: 0, at: now) == .lead)
        gate.complete(.failed, current: 2, at: now)
        #expect(gate.demand(.refused(version: 2), current: 2, waiters: 0, at: now + second) == .lead)
    }

    @Test("the sixth refresh by refusal in thirty seconds is one too many, the next window allows it")
    func window() {
        var gate = gate()
        for version in 1...5 as ClosedRange<UInt64> {
            #expect(gate.demand(.refused(version: version), current: version, waiters: 0, at: version) == .lead)
            gate.complete(.renewed, current: version, at: version)
        }
        #expect(gate.demand(.refused(version: 6), current: 6, waiters: 0, at: 30 * second) == .windowExceeded)
        #expect(gate.demand(.refused(version: 6), current: 6, waiters: 0, at: 30 * second + 1) == .lead)
    }

    @Test("expiry and failures that may pass do not use up the window")
    func uncounted() {
        var gate = gate { $0.perWindowMax = 1 }
        for version in 1...4 as ClosedRange<UInt64> {
            let cause: RefreshCause = version % 2 == 0 ? .early(version: version) : .unusable(version: version)
            #expect(gate.demand(cause, current: version, waiters: 0, at: version * second) == .lead)
            gate.complete(.renewed, current: version, at: version * second)
        }
        #expect(gate.demand(.refused(version: 5), current: 5, waiters: 0, at: 5 * second) == .lead)
        gate.complete(.failed, current: 5, at: 5 * second)
        #expect(gate.demand(.refused(version: 5), current: 5, waiters: 0, at: 6 * second) == .lead)
        gate.complete(.renewed, current: 5, at: 6 * second)
        #expect(gate.demand(.refused(version: 6), current: 6, waiters: 0, at: 7 * second) == .windowExceeded)
        #expect(gate.demand(.unusable(version: 6), current: 6, waiters: 0, at: 7 * second) == .lead)
    }

    @Test("a token that had expired when it came is a bad answer: the next try comes after a second, unless a token comes from elsewhere")
    func expiredOnArrival() {
        var gate = gate()
        #expect(gate.demand(.unusable(version: 1), current: 1, waiters: 0, at: 0) == .lead)
        gate.complete(.renewed, current: 1, at: 0)
        #expect(gate.demand(.unusable(version: 2), current: 2, waiters: 0, at: second - 1) == .failed)
        #expect(gate.demand(.refused(version: 2), current: 2, waiters: 0, at: second - 1) == .lead)
        gate.complete(.renewed, current: 2, at: second)
        #expect(gate.demand(.unusable(version: 3), current: 3, waiters: 0, at: 2 * second - 1) == .failed)
        #expect(gate.demand(.unusable(version: 0), current: 0, waiters: 0, at: 2 * second - 1) == .lead)
        gate.complete(.renewed, current: 0, at: 2 * second)
        #expect(gate.demand(.unusable(version: 4), current: 4, waiters: 0, at: 3 * second) == .lead)
        gate.complete(.renewed, current: 4, at: 3 * second)
        gate.forgetFailures()
        #expect(gate.demand(.unusable(version: 5), current: 5, waiters: 0, at: 3 * second) == .lead)
    }

    @Test("a token from elsewhere ends hopelessness and back-off")
    func forget() {
        var gate = gate()
        #expect(gate.demand(.unusable(version: 0), current: 0, waiters: 0, at: 0) == .lead)
        gate.complete(.rejected, current: 0, at: 0)
        gate.forgetFailures()
        #expect(gate.demand(.unusable(version: 0), current: 0, waiters: 0, at: 0) == .lead)
        gate.complete(.failed, current: 0, at: 0)
        gate.forgetFailures()
        #expect(gate.demand(.unusable(version: 0), current: 0, waiters: 0, at: 0) == .lead)
    }
}

@Suite("The refresh window")
struct RefreshWindowTests {
    @Test("the bound is reached, not passed, and each entry leaves after its own time")
    func slides() {
        var window = RefreshWindow(limit: 2, seconds: 10)
        #expect(window.isExceeded(at: 0) == false)
        window.count(at: 0)
        #expect(window.isExceeded(at: 1 * second) == false)
        window.count(at: 4 * second)
        #expect(window.isExceeded(at: 5 * second) == true)
        #expect(window.isExceeded(at: 10 * second - 1) == true)
        #expect(window.isExceeded(at: 10 * second) == false)
        window.count(at: 10 * second)
        #expect(window.isExceeded(at: 14 * second - 1) == true)
        #expect(window.isExceeded(at: 14 * second) == false)
    }

    @Test("a limit of nothing allows nothing, a window of no length forgets at once")
    func extremes() {
        var closed = RefreshWindow(limit: 0, seconds: 10)
        #expect(closed.isExceeded(at: 0) == true)
        var open = RefreshWindow(limit: 1, seconds: 0)
        open.count(at: 5)
        #expect(open.isExceeded(at: 5) == false)
        var negative = RefreshWindow(limit: 1, seconds: -1)
        negative.count(at: 5)
        #expect(negative.isExceeded(at: 5) == false)
    }
}
