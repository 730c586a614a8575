// How asking a token source may end, by name: the words of the log, of the counters and of the tests.
// Domain: shared

import CryoPipeline
import CryoSync

package enum SourceOutcome: String, Sendable, CaseIterable {
    // There is a token.
    /// From the credential of the present one.
    case renewed
    /// From nothing but the configuration: a first login, client credentials, a file, a command.
    case issued
    /// From a refresh of the same login that was under way when a reload changed its settings.
    case takenOver = "taken_over"

    // There is no newer one, and nothing went wrong.
    case unchanged
    /// Neither a refresh token nor a way to log in.
    case noCredential = "no_credential"

    // Definite refusals: they end the session, unless a first login follows.
    case invalidGrant = "invalid_grant"
    case invalidClient = "invalid_client"
    case unauthorizedClient = "unauthorized_client"
    case statusRefused = "status_refused"
    case codeRefused = "code_refused"

    // A call that may go better later.
    case timedOut = "timed_out"
    case connectFailed = "connect_failed"
    case tlsFailed = "tls_failed"
    case callFailed = "call_failed"
    case answerStatus = "answer_status"
    case answerError = "answer_error"
    case answerCode = "answer_code"
    case answerEmpty = "answer_empty"
    case answerTooLarge = "answer_too_large"
    case answerNotJSON = "answer_not_json"
    case tokenAbsent = "token_absent"
    case tokenWrongType = "token_wrong_type"
    case tokenUnusable = "token_unusable"
    case tokenExpired = "token_expired"

    // What the gateway needs for asking is not there.
    case secretUnavailable = "secret_unavailable"
    case keyUnusable = "key_unusable"

    // A file.
    case fileMissing = "file_missing"
    case fileUnreadable = "file_unreadable"
    case fileNotRegular = "file_not_regular"
    case fileTooLarge = "file_too_large"
    case fileEmpty = "file_empty"

    // A command.
    case commandNotStarted = "command_not_started"
    case commandTimedOut = "command_timed_out"
    case commandOutputTooLarge = "command_output_too_large"
    case commandFailed = "command_failed"
    case commandKilled = "command_killed"

    /// Beside another one: the token was taken, the life it was said to have was not believed.
    case lifetimeIgnored = "lifetime_ignored"

    /// The grant will never work again.
    var refusesGrant: Bool { self == .invalidGrant || self == .statusRefused || self == .codeRefused }

    /// No later try can change it.
    var isDefinite: Bool { refusesGrant || self == .invalidClient || self == .unauthorizedClient }
}

/// Why a source has no token now. `detail` holds no secret and nothing of an answer.
struct SourceTrouble: Error, Sendable {
    var outcome: SourceOutcome
    var detail: String

    init(_ outcome: SourceOutcome, _ detail: String) {
        self.outcome = outcome
        self.detail = detail
    }

    init(_ problem: TokenProblem) {
        outcome = problem.outcome
        detail = String(describing: problem)
    }
}

/// The end of one question to a source.
struct SourceResult: Sendable {
    enum End: Sendable {
        case token(NewCredential)
        case nothingNewer
        case trouble(SourceTrouble)
    }
    var end: End
    var outcomes: [SourceOutcome]

    static func token(_ new: IssuedToken, _ outcome: SourceOutcome) -> SourceResult {
        SourceResult(end: .token(new.credential), outcomes: new.isLifetimeIgnored ? [outcome, .lifetimeIgnored] : [outcome])
    }

    static func nothingNewer(_ outcome: SourceOutcome) -> SourceResult { SourceResult(end: .nothingNewer, outcomes: [outcome]) }

    static func trouble(_ trouble: SourceTrouble) -> SourceResult { SourceResult(end: .trouble(trouble), outcomes: [trouble.outcome]) }

    /// As the pipeline hears it. The detail ends with the outcome's name, so that the log has it.
    var refreshResult: RefreshResult {
        switch end {
        case .token(let new): return .renewed(new)
        case .nothingNewer: return .unchanged
        case .trouble(let trouble):
            let detail = "\(trouble.detail) (\(trouble.outcome.rawValue))"
            return trouble.outcome.isDefinite ? .rejected(detail: detail) : .failed(detail: detail)
        }
    }
}

/// How often each outcome was seen, for the metrics.
package final class SourceCounters: Sendable {
    private let counts = Mutex<[SourceOutcome: UInt64]>([:])

    package init() {}

    func add(_ outcomes: [SourceOutcome]) {
        counts.withLock { counts in
            for outcome in outcomes { counts[outcome, default: 0] += 1 }
        }
    }

    package func count(of outcome: SourceOutcome) -> UInt64 { counts.withLock { $0[outcome] ?? 0 } }

    /// Every outcome that was seen, in the order of the enum.
    package var seen: [(outcome: SourceOutcome, count: UInt64)] {
        let counts = counts.withLock { $0 }
        return SourceOutcome.allCases.compactMap { outcome in counts[outcome].map { (outcome, $0) } }
    }
}
