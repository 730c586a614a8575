// The state of a login as the program sees it: who may end it, and that it ends once (ledger §E).
// Domain: cold

import CryoPipeline
public import Foundation

/// The state of a login (source: seed README, 方式二).
public enum AuthenticationState: String, Sendable, CaseIterable {
    /// Logged in: one call may begin the logout.
    case authenticated
    /// A logout has begun: further failures do nothing.
    case loggingOut
    /// Logged out: failures do nothing.
    case unauthenticated
}

/// State and revision of a login at one moment.
public struct AuthenticationSnapshot: Sendable, Equatable {
    /// The state.
    public let state: AuthenticationState
    /// Drawn anew at each login and logout; compared for equality only.
    public let revision: UUID

    /// A snapshot.
    public init(state: AuthenticationState, revision: UUID) {
        self.state = state
        self.revision = revision
    }
}

/// Keeps the state of a login. Clients that share a login share one instance.
public protocol AuthenticationSessionManaging: AnyObject, Sendable {
    /// State and revision, read together.
    func snapshot() async -> AuthenticationSnapshot
    /// Goes from `authenticated` to `loggingOut` if the revision is still that one, and says whether it did. Must be one atomic step.
    /// nil checks the state only.
    func beginLogoutIfCurrent(expectedRevision: UUID?) async -> Bool
    /// A login: a new revision, `authenticated`.
    func markAuthenticated() async
    /// A logout: a new revision, `unauthenticated`.
    func markLoggedOut() async
}

extension AuthenticationSessionManaging {
    /// As `beginLogoutIfCurrent(expectedRevision:)`, with the revision the failed request began with. True for one failure of a login.
    public func beginLogoutIfCurrent(for failure: CryoFailure) async -> Bool {
        await beginLogoutIfCurrent(expectedRevision: failure.authenticationRevision)
    }
}

/// Keeps the state of a login in memory, by the pipeline's own rules.
public actor DefaultAuthenticationSessionManager: AuthenticationSessionManaging {
    private var session: Session
    private var revision = UUID()

    /// Begins as the program left it: authenticated when it still holds a token.
    public init(isAuthenticated: Bool = false) { session = Session(isAuthenticated: isAuthenticated, revision: .random()) }

    /// Begins authenticated if the token manager holds a token.
    public static func restore(using tokenManager: any TokenManagerProtocol) async -> DefaultAuthenticationSessionManager {
        DefaultAuthenticationSessionManager(isAuthenticated: await tokenManager.getToken()?.isEmpty == false)
    }

    /// State and revision.
    public func snapshot() -> AuthenticationSnapshot {
        let state: AuthenticationState
        switch session.state {
        case .authenticated: state = .authenticated
        case .loggingOut: state = .loggingOut
        case .unauthenticated: state = .unauthenticated
        }
        return AuthenticationSnapshot(state: state, revision: revision)
    }

    /// True for exactly one caller per login.
    public func beginLogoutIfCurrent(expectedRevision: UUID?) -> Bool {
        if let expectedRevision, expectedRevision != revision { return false }
        return session.beginLogoutIfCurrent(session.revision)
    }

    /// A login.
    public func markAuthenticated() {
        revision = UUID()
        session.markAuthenticated(.random())
    }

    /// A logout.
    public func markLoggedOut() {
        revision = UUID()
        session.markLoggedOut(.random())
    }
}
