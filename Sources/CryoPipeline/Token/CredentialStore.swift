// One token's shared state: the present credential, its session, its refresh gate and those who wait.
// Domain: shared (one lock, held for a few loads; refreshers and waiters are called after leaving it)

import CryoSync

/// What an exchange learns from a demand for a newer token.
package enum TokenAnswer: Sendable, Equatable {
    case ready
    case rejected, failed, windowExceeded
}

/// The result of a demand: an answer at once, or a ticket for one that comes later.
package enum TokenDemand: Sendable, Equatable {
    case answered(RefreshDecision)
    case waiting(ticket: UInt64, isLeader: Bool)
}

/// What happened to a token, for the log, the metrics and the hooks. Holds no secret.
package enum TokenEvent: Sendable {
    case renewed(version: UInt64)
    case refreshFailed(detail: String)
    case refreshRejected(detail: String)
    case sessionExpired(revision: SessionRevision)
    /// A token came where there was no login: that is one.
    case sessionBegan(revision: SessionRevision)
    /// A refresh ended after a logout or another login: its result was thrown away.
    case staleResultDropped
}

package final class CredentialStore: Sendable {
    package let settings: TokenSettings
    package let injection: Injection
    /// `refresh.on_business_codes` as bytes.
    let refreshBusinessCodes: Set<[UInt8]>
    private let refresher: any TokenRefresher
    private let report: @Sendable (String, TokenEvent) -> Void
    private let state: Mutex<State>
    private let monotonic: @Sendable () -> UInt64

    private typealias Waiters = [UInt64: @Sendable (TokenAnswer) -> Void]

    private struct State {
        var credential: Credential?
        var version: UInt64 = 0
        /// `version` when the present flight began; logging in and out count too.
        var flightVersion: UInt64 = 0
        var session: Session
        /// The login is being forgotten: until that is done the source would bring it back.
        var isHeld = false
        /// A session has ended and no other has begun.
        var hasEnded = false
        var gate: RefreshGate
        /// By ticket, so that one of thousands can leave without a search.
        var waiters: Waiters = [:]
        var lastTicket: UInt64 = 0
        /// Values that were in use a while ago and must still be redacted.
        var retired: [Secret] = []
        /// The spellings of all of them, made when one changes.
        var needles = NeedleSet.none
    }

    /// Retired secrets kept for redaction.
    private static let retiredMax = 4

    /// `report` is called outside the lock, on any thread. `monotonic` is nanoseconds.
    package init(
        settings: TokenSettings, refresher: any TokenRefresher, initial: NewCredential?, revision: SessionRevision = .random(),
        monotonic: @escaping @Sendable () -> UInt64, report: @escaping @Sendable (String, TokenEvent) -> Void
    ) {
        self.settings = settings
        injection = Injection(settings.inject)
        refreshBusinessCodes = Set(settings.refresh.onBusinessCodes.map { Array($0.utf8) })
        self.refresher = refresher
        self.report = report
        self.monotonic = monotonic
        var initialState = State(
            session: Session(isAuthenticated: initial?.token.isEmpty == false, revision: revision),
            gate: RefreshGate(settings: settings.refresh))
        if let initial, !initial.token.isEmpty {
            initialState.version = 1
            initialState.credential = Self.credential(initial, settings, injection, previous: nil, version: 1, revision: revision)
        }
        Self.updateNeedles(in: &initialState)
        state = Mutex(initialState)
    }

    package var canRefresh: Bool { refresher.canRefresh }
    package var canIssue: Bool { refresher.canIssue }

    /// The present credential: token, version and revision as one snapshot (ledger B-C6).
    package func snapshot() -> Credential? { state.withLock { $0.credential } }

    package func session() -> Session { state.withLock { $0.session } }

    /// Every spelling of every secret of this token that was live lately, for redaction.
    package func needles() -> NeedleSet { state.withLock { $0.needles } }

    /// Asks for a token newer than the one that failed. With `.waiting`, `resume` is called once, on any thread, unless the
    /// ticket is withdrawn first.
    package func demand(_ cause: RefreshCause, resume: @escaping @Sendable (TokenAnswer) -> Void) -> TokenDemand {
        guard refresher.canRefresh else { return .answered(.rejected) }
        let now = monotonic()
        var flight: Credential??
        let result: TokenDemand = state.withLock { state in
            let current = state.credential?.version ?? 0
            if needsLogin(state, cause) { return .answered(.rejected) }
            let decision = state.gate.demand(cause, current: current, waiters: state.waiters.count, at: now)
            guard decision == .lead || decision == .join else { return .answered(decision) }
            if decision == .lead {
                flight = .some(state.credential)
                state.flightVersion = state.version
            }
            state.lastTicket += 1
            state.waiters[state.lastTicket] = resume
            return .waiting(ticket: state.lastTicket, isLeader: decision == .lead)
        }
        if case .some(let credential) = flight { start(credential) }
        return result
    }

    /// True when no refresh can help: the login of a refused token has ended, so there is nothing newer for its requests; or one has
    /// ended, and the source can only renew a login, not begin one; or one is being forgotten.
    private func needsLogin(_ state: State, _ cause: RefreshCause?) -> Bool {
        if state.isHeld { return true }
        guard state.credential == nil else { return false }
        if case .refused = cause { return true }
        return state.hasEnded && !refresher.canIssue
    }

    /// Starts a refresh that nobody waits for, if none is on its way. nil: of whatever version is current.
    package func refreshInBackground(_ cause: RefreshCause? = nil) {
        guard refresher.canRefresh else { return }
        let now = monotonic()
        var flight: Credential??
        state.withLock { state in
            if needsLogin(state, cause) { return }
            let current = state.credential?.version ?? 0
            guard state.gate.demand(cause ?? .early(version: current), current: current, waiters: 0, at: now) == .lead else { return }
            flight = .some(state.credential)
            state.flightVersion = state.version
        }
        if case .some(let credential) = flight { start(credential) }
    }

    /// A waiter that no longer waits. Its `resume` is not called after this returns, unless it is being called now.
    package func withdraw(ticket: UInt64) {
        state.withLock { state in _ = state.waiters.removeValue(forKey: ticket) }
    }

    /// Takes a token from outside a refresh: a login, a changed file. A new session begins when `isLogin`, with `revision` if given.
    package func install(_ new: NewCredential, isLogin: Bool, revision: SessionRevision? = nil) {
        var began: SessionRevision?
        let released = state.withLock { state -> Waiters in
            if let current = state.credential, !isLogin, current.token.matches(new.token) { return [:] }
            let begins = isLogin || state.session.state != .authenticated
            install(new, isLogin: begins, revision: revision, in: &state)
            if begins, revision == nil { began = state.session.revision }
            state.gate.forgetFailures()
            // A refresh still on its way keeps its waiters: its end finds the newer version.
            if case .refreshing = state.gate.state { return [:] }
            return Self.takeWaiters(in: &state)
        }
        if let began { report(settings.name, .sessionBegan(revision: began)) }
        Self.resume(released, .ready)
    }

    /// The present token goes on under another login's revision: one that another token of the same session began.
    package func restamp(_ revision: SessionRevision) {
        state.withLock { state in
            guard let old = state.credential, old.revision != revision else { return }
            state.session.markAuthenticated(revision)
            state.credential = Credential(
                token: old.token, refreshToken: old.refreshToken, expiresAt: old.expiresAt, refreshAt: old.refreshAt, version: old.version,
                revision: revision, injectedValue: old.injectedValue)
        }
    }

    /// Keeps the source from being asked while its login is forgotten; a new login ends that too.
    package func hold() { state.withLock { $0.isHeld = true } }

    package func release() { state.withLock { $0.isHeld = false } }

    /// Somebody wants a refresh in spite of what came of earlier ones.
    package func forgetFailures() { state.withLock { $0.gate.forgetFailures() } }

    /// Ends the session of that revision, once: clears the token and draws a new revision (ledger AS10). nil: whichever is current.
    /// With `tokenVersion` only while that version is the newest: what an older one was told says nothing about a renewed login.
    package func logOut(expected: SessionRevision?, tokenVersion: UInt64? = nil) -> Bool {
        let ended = state.withLock { state -> SessionRevision? in
            if let tokenVersion, let current = state.credential, current.version > tokenVersion { return nil }
            return endSession(expected, in: &state)
        }
        guard let ended else { return false }
        report(settings.name, .sessionExpired(revision: ended))
        return true
    }

    // MARK: The flight

    private func start(_ credential: Credential?) {
        refresher.refresh(credential) { [self] result in complete(result) }
    }

    private func complete(_ result: RefreshResult) {
        let now = monotonic()
        var events: [TokenEvent] = []
        let (waiters, answer) = state.withLock { state -> (Waiters, TokenAnswer) in
            let answer = settle(result, in: &state, at: now, events: &events)
            return (Self.takeWaiters(in: &state), answer)
        }
        for event in events { report(settings.name, event) }
        Self.resume(waiters, answer)
    }

    private static func takeWaiters(in state: inout State) -> Waiters {
        let waiters = state.waiters
        state.waiters = [:]
        return waiters
    }

    /// In the order in which they came.
    private static func resume(_ waiters: Waiters, _ answer: TokenAnswer) {
        for (_, resume) in waiters.sorted(by: { $0.key < $1.key }) { resume(answer) }
    }

    private func settle(
        _ result: RefreshResult, in state: inout State, at now: UInt64, events: inout [TokenEvent]
    ) -> TokenAnswer {
        let current = state.credential
        // Re-check inside: a logout, a login or a changed file while the refresh ran makes its result stale.
        guard state.version == state.flightVersion else {
            state.gate.complete(.renewed, current: current?.version ?? 0, at: now)
            events.append(.staleResultDropped)
            return current == nil ? .rejected : .ready
        }
        let version = current?.version ?? 0
        switch result {
        case .renewed(let new):
            if new.token.isEmpty {
                state.gate.complete(.unchanged, current: version, at: now)
                return .rejected
            }
            if let current, current.token.matches(new.token) {
                state.gate.complete(.unchanged, current: version, at: now)
                return prolong(current, by: new, in: &state) ? .ready : .rejected
            }
            state.gate.complete(.renewed, current: version, at: now)
            let begins = state.session.state != .authenticated
            install(new, isLogin: begins, in: &state)
            events.append(.renewed(version: state.version))
            if begins { events.append(.sessionBegan(revision: state.session.revision)) }
            return .ready
        case .unchanged:
            state.gate.complete(.unchanged, current: version, at: now)
            return .rejected
        case .rejected(let detail):
            state.gate.complete(.rejected, current: version, at: now)
            events.append(.refreshRejected(detail: detail))
            // The version is the flown one, its login perhaps another by now: one that a sibling of the same session began.
            if let current, let ended = endSession(current.revision, in: &state) {
                events.append(.sessionExpired(revision: ended))
            }
            return .rejected
        case .failed(let detail):
            state.gate.complete(.failed, current: version, at: now)
            events.append(.refreshFailed(detail: detail))
            return .failed
        }
    }

    // MARK: State changes, under the lock

    private func install(_ new: NewCredential, isLogin: Bool, revision: SessionRevision? = nil, in state: inout State) {
        if isLogin { state.session.markAuthenticated(revision ?? .random()) }
        state.isHeld = false
        state.hasEnded = false
        retire(in: &state)
        state.version += 1
        state.credential = Self.credential(
            new, settings, injection, previous: isLogin ? nil : state.credential, version: state.version,
            revision: state.session.revision)
        Self.updateNeedles(in: &state)
    }

    /// The same token once more: what came with it counts all the same. It keeps its version, so whoever was refused with it does not
    /// take it for a newer one. True when it lives longer than was known.
    private func prolong(_ current: Credential, by new: NewCredential, in state: inout State) -> Bool {
        let isLonger =
            if let expiresAt = current.expiresAt, let later = new.expiresAt { later > expiresAt } else { false }
        if isLonger || new.refreshToken.map({ current.refreshToken?.matches($0) != true }) == true {
            var kept = new
            kept.expiresAt = new.expiresAt ?? current.expiresAt
            state.credential = Self.credential(
                kept, settings, injection, previous: current, version: current.version, revision: current.revision)
            if let spent = current.refreshToken, new.refreshToken != nil { state.retired.append(spent) }
            state.retired.removeFirst(max(0, state.retired.count - Self.retiredMax))
            Self.updateNeedles(in: &state)
        }
        return isLonger
    }

    private func endSession(_ expected: SessionRevision?, in state: inout State) -> SessionRevision? {
        let revision = state.session.revision
        guard state.session.beginLogoutIfCurrent(expected) else { return nil }
        retire(in: &state)
        state.credential = nil
        state.hasEnded = true
        state.version += 1
        state.session.markLoggedOut(.random())
        return revision
    }

    private func retire(in state: inout State) {
        guard let credential = state.credential else { return }
        state.retired.append(credential.token)
        if let refreshToken = credential.refreshToken { state.retired.append(refreshToken) }
        state.retired.removeFirst(max(0, state.retired.count - Self.retiredMax))
    }

    private static func updateNeedles(in state: inout State) {
        var secrets = state.retired
        if let credential = state.credential {
            secrets.append(credential.token)
            if let refreshToken = credential.refreshToken { secrets.append(refreshToken) }
        }
        state.needles = Redactor.needles(of: secrets)
    }

    private static func credential(
        _ new: NewCredential, _ settings: TokenSettings, _ injection: Injection, previous: Credential?, version: UInt64,
        revision: SessionRevision
    ) -> Credential {
        Credential(
            token: new.token, refreshToken: new.refreshToken ?? previous?.refreshToken, expiresAt: new.expiresAt,
            refreshAt: new.refreshAt ?? new.expiresAt.map { $0 - settings.refresh.beforeExpirySeconds }, version: version,
            revision: revision, injectedValue: injection.value(of: new.token), isUnwritten: new.isUnwritten)
    }
}
