// Decides, for everybody who needs a newer token, who refreshes, who waits and who is told that it is no use (design §7).
// Domain: pure (kept behind the credential store's lock)

/// Why a newer token is wanted.
package enum RefreshCause: Sendable, Equatable {
    /// The upstream refused this version.
    case refused(version: UInt64)
    /// This version has expired; 0: there was no token.
    case unusable(version: UInt64)
    /// This version still works but will expire soon; nobody waits.
    case early(version: UInt64)

    /// What the asker saw. Another worker may have seen a newer one installed since.
    var version: UInt64 {
        switch self {
        case .refused(let version), .unusable(let version), .early(let version): version
        }
    }
}

/// What somebody who needs a newer token is to do.
package enum RefreshDecision: Sendable, Equatable {
    /// Start the refresh, and wait for its end like the others.
    case lead
    /// A refresh is on its way: wait for its end.
    case join
    /// A newer version is there already: use it.
    case alreadyNewer
    /// A refresh for this version was refused for good, or the source has nothing newer.
    case rejected
    /// A refresh failed a moment ago; the next try comes after the back-off. Or too many wait, or the flight is overdue.
    case failed
    case windowExceeded
}

/// How a refresh ended, as the gate remembers it.
package enum RefreshVerdict: Sendable, Equatable { case renewed, unchanged, rejected, failed }

/// One flight per token. The flight belongs to no caller: whoever leads may leave.
package struct RefreshGate: Sendable {
    package enum State: Sendable, Equatable {
        /// Next: refreshing.
        case idle
        /// Next: idle.
        case refreshing(since: UInt64)
    }

    /// Delay before the next try after a failure that may pass, doubling from the first to the last.
    package static let backoffMinNanoseconds: UInt64 = 1_000_000_000
    package static let backoffMaxNanoseconds: UInt64 = 30_000_000_000
    /// What a flight and its waiters get beyond the source's own timeout, so that the flight's answer comes first.
    package static let graceNanoseconds: UInt64 = 1_000_000_000

    package private(set) var state: State = .idle
    /// The version for which a refresh is known to be useless, and until when that is believed; a new version clears it.
    private var hopelessVersion: UInt64?
    private var hopelessUntil: UInt64 = 0
    private var failuresInARow: UInt32 = 0
    private var backoffUntil: UInt64 = 0
    private var window: RefreshWindow
    private let waitersMax: Int
    /// How long a flight may take before nobody joins it any more.
    private let flightNanoseconds: UInt64
    private var isCountedFlight = false
    /// When the last refresh brought a token; nil once another came from elsewhere.
    private var renewedAt: UInt64?

    package init(settings: RefreshSettings) {
        window = RefreshWindow(limit: settings.perWindowMax, seconds: settings.windowSeconds)
        waitersMax = settings.waitersMax
        flightNanoseconds = Self.flightNanoseconds(of: settings)
    }

    /// The bound of one flight, and of waiting for it.
    package static func flightNanoseconds(of settings: RefreshSettings) -> UInt64 {
        UInt64(settings.timeoutMilliseconds) * 1_000_000 + graceNanoseconds
    }

    /// `current`: the version of the token held now, 0 for none. `waiters`: how many wait already.
    package mutating func demand(_ cause: RefreshCause, current: UInt64, waiters: Int, at nanoseconds: UInt64) -> RefreshDecision {
        if cause.version < current { return .alreadyNewer }
        if case .refreshing(let since) = state {
            // A source that does not answer holds up those who wait for it already, and nobody else. It is not asked twice at a time.
            // Workers read their clocks before they take the lock, so a demand may be older than the flight it finds.
            if nanoseconds > since &+ flightNanoseconds { return .failed }
            return waiters >= waitersMax ? .failed : .join
        }
        if hopelessVersion == current, nanoseconds < hopelessUntil { return .rejected }
        if nanoseconds < backoffUntil { return .failed }
        // A token that has expired before it is a second old is a bad answer: an endpoint that gives no better is not asked for each request.
        if case .unusable(version: 1...) = cause, let renewedAt, nanoseconds < renewedAt &+ Self.backoffMinNanoseconds { return .failed }
        if case .refused = cause {
            if window.isExceeded(at: nanoseconds) { return .windowExceeded }
            isCountedFlight = true
        } else {
            isCountedFlight = false
        }
        state = .refreshing(since: nanoseconds)
        return .lead
    }

    /// The flight has ended. `current`: the version that was held when it ended, before anything is installed.
    package mutating func complete(_ verdict: RefreshVerdict, current: UInt64, at nanoseconds: UInt64) {
        state = .idle
        switch verdict {
        case .renewed:
            hopelessVersion = nil
            failuresInARow = 0
            backoffUntil = 0
            renewedAt = nanoseconds
            if isCountedFlight { window.count(at: nanoseconds) }
        case .unchanged, .rejected:
            hopelessVersion = current
            // A refused refresh token stays refused. A source that had nothing newer, or a client without any token, is asked again
            // after the longest back-off: a file may be replaced, an account be unlocked.
            hopelessUntil = verdict == .rejected && current != 0 ? .max : nanoseconds &+ Self.backoffMaxNanoseconds
            failuresInARow = 0
            if isCountedFlight { window.count(at: nanoseconds) }
        case .failed:
            let delay = Self.backoffMinNanoseconds << UInt64(min(failuresInARow, 5))
            failuresInARow += 1
            backoffUntil = nanoseconds &+ min(delay, Self.backoffMaxNanoseconds)
        }
    }

    /// A token came from elsewhere (a login, a changed file): nothing is hopeless any more.
    package mutating func forgetFailures() {
        hopelessVersion = nil
        failuresInARow = 0
        backoffUntil = 0
        renewedAt = nil
    }
}
