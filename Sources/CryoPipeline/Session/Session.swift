// The state of one login (ledger §E): who may end it, that it ends once, and that an end can't take for ever.
// Domain: pure (kept behind its owner's lock)

package struct Session: Sendable, Equatable {
    package enum State: String, Sendable, CaseIterable {
        /// Next: loggingOut, or authenticated with another revision.
        case authenticated
        /// Next: unauthenticated, or authenticated with another revision.
        case loggingOut
        /// Next: authenticated.
        case unauthenticated
    }

    package private(set) var state: State
    /// `loggingOut` keeps that of the login which ends (ledger AS3).
    package private(set) var revision: SessionRevision
    /// When a logout counts as done, whatever its cleaning up still does; `.max` outside of one.
    private var logoutDeadline = UInt64.max

    package init(isAuthenticated: Bool, revision: SessionRevision) {
        state = isAuthenticated ? .authenticated : .unauthenticated
        self.revision = revision
    }

    /// Compare-and-set (ledger AS2): true for exactly one caller per login. nil checks the state only.
    package mutating func beginLogoutIfCurrent(_ expected: SessionRevision?, until deadline: UInt64 = .max) -> Bool {
        if let expected, expected != revision { return false }
        guard state == .authenticated else { return false }
        state = .loggingOut
        logoutDeadline = deadline
        return true
    }

    /// Ends the logout of that login. False when it has ended already, or another login has come in the meantime.
    package mutating func finishLogout(of ended: SessionRevision, next: SessionRevision) -> Bool {
        guard state == .loggingOut, revision == ended else { return false }
        markLoggedOut(next)
        return true
    }

    /// Ends a logout whose time is over.
    package mutating func finishLogoutIfDue(at nanoseconds: UInt64, next: SessionRevision) -> Bool {
        guard state == .loggingOut, nanoseconds >= logoutDeadline else { return false }
        markLoggedOut(next)
        return true
    }

    package mutating func markAuthenticated(_ revision: SessionRevision) {
        self.revision = revision
        state = .authenticated
        logoutDeadline = .max
    }

    package mutating func markLoggedOut(_ revision: SessionRevision) {
        self.revision = revision
        state = .unauthenticated
        logoutDeadline = .max
    }
}
