// The state of one login (ledger §E): who may end it, and that it ends once.
// Domain: pure (kept behind the credential store's lock)

package struct Session: Sendable, Equatable {
    package enum State: String, Sendable {
        /// Next: loggingOut, or authenticated with another revision.
        case authenticated
        /// Next: unauthenticated, or authenticated with another revision.
        case loggingOut
        /// Next: authenticated.
        case unauthenticated
    }

    package private(set) var state: State
    package private(set) var revision: SessionRevision

    package init(isAuthenticated: Bool, revision: SessionRevision) {
        state = isAuthenticated ? .authenticated : .unauthenticated
        self.revision = revision
    }

    /// Compare-and-set (ledger AS2): true for exactly one caller per login. nil checks the state only.
    package mutating func beginLogoutIfCurrent(_ expected: SessionRevision?) -> Bool {
        if let expected, expected != revision { return false }
        guard state == .authenticated else { return false }
        state = .loggingOut
        return true
    }

    package mutating func markAuthenticated(_ revision: SessionRevision) {
        self.revision = revision
        state = .authenticated
    }

    package mutating func markLoggedOut(_ revision: SessionRevision) {
        self.revision = revision
        state = .unauthenticated
    }
}
