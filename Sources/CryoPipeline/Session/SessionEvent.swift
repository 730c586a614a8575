// What happens to a login, for the log, the metrics and the hooks.
// Domain: shared

package enum SessionEvent: Sendable, Equatable {
    /// A login: by a client of the admin side, or by a token source itself.
    case began(revision: SessionRevision)
    /// The login is over although nobody asked for that: its refresh was refused for good, or a business code said so. Once for each
    /// login, however many exchanges failed by it.
    case expired(revision: SessionRevision)
    /// Somebody asked for the end.
    case loggedOut(revision: SessionRevision)

    /// The word for it in logs, metrics and hooks.
    package var name: String {
        switch self {
        case .began: "session_began"
        case .expired: "session_expired"
        case .loggedOut: "session_logged_out"
        }
    }

    package static let names = ["session_began", "session_expired", "session_logged_out"]

    package var revision: SessionRevision {
        switch self {
        case .began(let revision), .expired(let revision), .loggedOut(let revision): revision
        }
    }
}

/// Told of every event, once. Called on any thread, workers included, outside of every lock: it must return at once.
package protocol SessionObserver: Sendable {
    /// `tokens`: the names of the tokens that the session holds.
    func observe(_ event: SessionEvent, of session: String, tokens: [String])
}
