// Leaves an upstream alone that keeps failing: closed, open, and half open while a few attempts try it out.
// Domain: shared (one short lock; observers are called outside it)

import CryoSync

/// One per upstream, for all workers.
///
/// A permit names the phase it was given in: what an attempt of an earlier phase ends in says nothing about this one, so that a slow
/// failure from before the opening does not open it again, and a slow success does not close it.
package final class Breaker: Sendable {
    package enum State: String, Sendable, CaseIterable {
        /// Next: open, when enough of the attempts within the window failed.
        case closed
        /// Next: halfOpen, at the first attempt after its time.
        case open
        /// Next: closed, when all probes succeeded; open, when one failed.
        case halfOpen = "half_open"
    }

    package struct Permit: Sendable, Equatable {
        fileprivate let phase: UInt64
        package let isProbe: Bool
    }

    package enum Admission: Sendable, Equatable {
        case admitted(Permit)
        case refused(retryAfterMilliseconds: UInt64)
    }

    package enum Ending: Sendable {
        case success, failure
        /// Says nothing about the upstream: the client left, or the fault was ours. A probe's place is given back.
        case unknown
    }

    package struct Change: Sendable, Equatable {
        package let state: State
        /// What opened it, of how many; a probe's failure is 1 of 1.
        package var failures: UInt64 = 0
        package var attempts: UInt64 = 0
        package var openMilliseconds: UInt64 = 0
    }

    package struct Status: Sendable, Equatable {
        package var state = State.closed
        package var failures: UInt64 = 0
        package var attempts: UInt64 = 0
        /// Until it is tried again; 0 unless open.
        package var retryAfterMilliseconds: UInt64 = 0
        package var opened: UInt64 = 0
        package var refused: UInt64 = 0
    }

    private struct Phase {
        var state = State.closed
        var number: UInt64 = 0
        var window: AttemptWindow
        var openUntil: UInt64 = 0
        /// Since it was last closed.
        var openings: UInt32 = 0
        var probesOut: UInt32 = 0
        var probesGood: UInt32 = 0
        var lastProbeAt: UInt64 = 0
        var opened: UInt64 = 0
        var refused: UInt64 = 0
    }

    package let settings: BreakerSettings
    let conditions: ConditionSet
    private let phase: Mutex<Phase>
    private let observe: @Sendable (Change) -> Void

    package init(_ settings: BreakerSettings, observe: @escaping @Sendable (Change) -> Void = { _ in }) {
        self.settings = settings
        conditions = ConditionSet(settings.conditions)
        phase = Mutex(Phase(window: AttemptWindow(milliseconds: settings.windowMilliseconds)))
        self.observe = observe
    }

    /// Before an attempt. What it ends in is told to `settle` exactly once.
    package func admit(at now: UInt64) -> Admission {
        let (admission, change) = phase.withLock { phase -> (Admission, Change?) in
            var change: Change?
            if phase.state == .open {
                guard now >= phase.openUntil else {
                    phase.refused += 1
                    return (.refused(retryAfterMilliseconds: (phase.openUntil - now + 999_999) / 1_000_000), nil)
                }
                change = enter(.halfOpen, &phase)
            }
            if phase.state == .closed { return (.admitted(Permit(phase: phase.number, isProbe: false)), nil) }
            let isFree = phase.probesOut + phase.probesGood < settings.probes
            // A probe that says nothing for that long makes room for another, so that one slow upload can't hold it half open.
            let hasLapsed = now >= phase.lastProbeAt + UInt64(settings.openMilliseconds) * 1_000_000
            guard isFree || hasLapsed else {
                phase.refused += 1
                return (.refused(retryAfterMilliseconds: UInt64(settings.openMilliseconds)), change)
            }
            if isFree { phase.probesOut += 1 }
            phase.lastProbeAt = max(now, phase.lastProbeAt)
            return (.admitted(Permit(phase: phase.number, isProbe: true)), change)
        }
        if let change { observe(change) }
        return admission
    }

    package func settle(_ permit: Permit, _ ending: Ending, at now: UInt64) {
        let change = phase.withLock { phase -> Change? in
            guard permit.phase == phase.number else { return nil }
            switch phase.state {
            case .open: return nil
            case .closed: return ending == .unknown ? nil : count(ending == .failure, at: now, &phase)
            case .halfOpen: return endProbe(ending, at: now, &phase)
            }
        }
        if let change { observe(change) }
    }

    /// Whether an attempt at that time would be refused, as things are.
    package func isOpen(at time: UInt64) -> Bool { phase.withLock { $0.state == .open && time < $0.openUntil } }

    package func status(at now: UInt64) -> Status {
        phase.withLock { phase in
            phase.window.roll(at: now)
            let left = phase.state == .open && phase.openUntil > now ? (phase.openUntil - now + 999_999) / 1_000_000 : 0
            return Status(
                state: phase.state, failures: phase.window.bad, attempts: phase.window.total, retryAfterMilliseconds: left,
                opened: phase.opened, refused: phase.refused)
        }
    }

    // MARK: Under the lock

    /// Only a failure opens it, also where a success was the one that made enough.
    private func count(_ isFailure: Bool, at now: UInt64, _ phase: inout Phase) -> Change? {
        phase.window.add(isFailure: isFailure, at: now)
        let (bad, total) = (phase.window.bad, phase.window.total)
        guard isFailure, total >= UInt64(settings.requestsMin), bad * 100 >= total * UInt64(settings.failurePercent) else { return nil }
        return open(at: now, failures: bad, attempts: total, &phase)
    }

    private func endProbe(_ ending: Ending, at now: UInt64, _ phase: inout Phase) -> Change? {
        if phase.probesOut > 0 { phase.probesOut -= 1 }
        switch ending {
        case .unknown: return nil
        case .failure: return open(at: now, failures: 1, attempts: 1, &phase)
        case .success:
            phase.probesGood += 1
            guard phase.probesGood >= settings.probes else { return nil }
            phase.openings = 0
            return enter(.closed, &phase)
        }
    }

    private func open(at now: UInt64, failures: UInt64, attempts: UInt64, _ phase: inout Phase) -> Change {
        let doubled = UInt64(settings.openMilliseconds) << UInt64(min(phase.openings, 32))
        let length = min(doubled, UInt64(max(settings.openMilliseconds, settings.openMillisecondsMax)))
        phase.openings += 1
        phase.opened += 1
        phase.openUntil = now + length * 1_000_000
        _ = enter(.open, &phase)
        return Change(state: .open, failures: failures, attempts: attempts, openMilliseconds: length)
    }

    private func enter(_ state: State, _ phase: inout Phase) -> Change {
        phase.state = state
        phase.number += 1
        phase.window.reset()
        (phase.probesOut, phase.probesGood, phase.lastProbeAt) = (0, 0, 0)
        return Change(state: state)
    }
}
