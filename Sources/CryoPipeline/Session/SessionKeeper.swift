// One login and the tokens that share it: whatever ends it for one of them ends it for all, once.
// Domain: shared (one lock, held for a few loads; stores and observers are called after leaving it)

import CryoSync

/// What happened to a login, as those who keep its tokens hear it.
package enum LoginChange: Sendable {
    case login(NewCredential)
    /// Somebody asked for its end: it must not begin again by itself.
    case loggedOut
    /// It was refused.
    case expired
}

/// A token's store keeps its own copy of state and revision, so that the data path takes one lock; the keeper's is the one that
/// decides whether an event is told. No lock is held across a call to a store.
package final class SessionKeeper: Sendable {
    /// What a session needs of a token it holds.
    package struct Member: Sendable {
        package let store: CredentialStore
        /// Puts a login's token where it outlives the process, or removes it from there; calls back on any thread.
        package let persist: @Sendable (LoginChange, @escaping @Sendable () -> Void) -> Void

        package init(
            store: CredentialStore, persist: @escaping @Sendable (LoginChange, @escaping @Sendable () -> Void) -> Void = { $1() }
        ) {
            self.store = store
            self.persist = persist
        }

        package var name: String { store.settings.name }
    }

    package enum LogoutAnswer: Sendable, Equatable {
        case done
        /// There is no login, it is another one, or its end has begun already.
        case notCurrent
    }

    /// How long the state may stay `loggingOut`.
    package static let logoutMilliseconds = 5_000

    package let name: String
    private let monotonic: @Sendable () -> UInt64
    /// Runs work after that many milliseconds, on any thread.
    private let later: @Sendable (Int, @escaping @Sendable () -> Void) -> Void
    private let observer: any SessionObserver
    private let state: Mutex<State>

    private struct State {
        var session: Session
        var members: [Member] = []
        var counts: [String: UInt64] = [:]
        /// How many logins of each token are on their way to the disk: an end that comes meanwhile is that of the login before.
        var persisting: [String: Int] = [:]
    }

    package init(
        name: String, revision: SessionRevision, monotonic: @escaping @Sendable () -> UInt64,
        later: @escaping @Sendable (Int, @escaping @Sendable () -> Void) -> Void, observer: any SessionObserver
    ) {
        self.name = name
        self.monotonic = monotonic
        self.later = later
        self.observer = observer
        state = Mutex(State(session: Session(isAuthenticated: false, revision: revision)))
    }

    /// State and revision as one snapshot.
    package var session: Session { state.withLock { $0.session } }

    package var members: [Member] { state.withLock { $0.members } }

    /// How often each event was told, by its name.
    package var counts: [String: UInt64] { state.withLock { $0.counts } }

    /// Takes a token's store into the session. Before any traffic, or on a reload: another store of the same name is replaced.
    package func join(_ member: Member) {
        let held = member.store.session()
        let revision = state.withLock { state -> SessionRevision? in
            state.members.removeAll { $0.name == member.name }
            state.members.append(member)
            guard held.state == .authenticated else { return nil }
            if state.session.state != .authenticated { state.session.markAuthenticated(held.revision) }
            return state.session.revision
        }
        if let revision { member.store.restamp(revision) }
    }

    /// A token that a new configuration does not have any more.
    package func leave(_ store: CredentialStore) { state.withLock { state in state.members.removeAll { $0.store === store } } }

    // MARK: From the stores

    /// A store has begun a login of its own: its source got a token where there was none.
    package func storeBegan(_ token: String, _ revision: SessionRevision) {
        let (current, store) = state.withLock { state in
            if state.session.state != .authenticated { state.session.markAuthenticated(revision) }
            return (state.session.revision, state.members.first { $0.name == token }?.store)
        }
        // Another token of this session was faster: this one joins its login.
        if current != revision { store?.restamp(current) } else { tell(.began(revision: revision)) }
    }

    /// A store's login has ended: a refusal or a business code.
    package func storeExpired(_ revision: SessionRevision) { _ = end(revision, as: .expired, completion: {}) }

    // MARK: From people

    /// A new login with these tokens, by name. Persisted, then installed, then told (ledger AS10). Tokens of the session that are not
    /// named go on under the new login: programs hand over their tokens one after the other.
    package func logIn(_ tokens: [String: NewCredential], completion: @escaping @Sendable (SessionRevision) -> Void) {
        let revision = SessionRevision.random()
        let named = state.withLock { state in
            let named = state.members.compactMap { member in tokens[member.name].map { (member, $0) } }
            for (member, _) in named { state.persisting[member.name, default: 0] += 1 }
            return named
        }
        let countdown = Countdown(named.count) { [self] in
            let members = state.withLock { state -> [Member] in
                for (member, _) in named { state.persisting[member.name, default: 1] -= 1 }
                state.session.markAuthenticated(revision)
                return state.members
            }
            for (member, new) in named { member.store.install(new, isLogin: true, revision: revision) }
            for member in members where tokens[member.name] == nil { member.store.restamp(revision) }
            tell(.began(revision: revision))
            completion(revision)
        }
        for (member, new) in named { member.persist(.login(new)) { countdown.count() } }
    }

    /// Ends the login of that revision, nil: whichever is current. `completion` is called once, when all of it is forgotten or the time
    /// for that is over; not after `notCurrent`.
    package func logOut(expected: SessionRevision?, completion: @escaping @Sendable () -> Void = {}) -> LogoutAnswer {
        end(expected, as: .loggedOut, completion: completion) ? .done : .notCurrent
    }

    // MARK: The end

    /// The compare-and-set comes first: of many that come at once one goes on (ledger AS2, AS6).
    private func end(
        _ expected: SessionRevision?, as change: LoginChange, completion: @escaping @Sendable () -> Void
    ) -> Bool {
        let deadline = monotonic() &+ UInt64(Self.logoutMilliseconds) * 1_000_000
        let ended = state.withLock { state -> (SessionRevision, [Member], [Member])? in
            let revision = state.session.revision
            guard state.session.beginLogoutIfCurrent(expected, until: deadline) else { return nil }
            return (revision, state.members, state.members.filter { state.persisting[$0.name, default: 0] == 0 })
        }
        guard let (revision, members, forgetting) = ended else { return false }
        for member in members {
            member.store.hold()
            // A store that has ended already says so by false; its own event comes back here and finds the logout begun.
            _ = member.store.logOut(expected: revision)
        }
        if case .expired = change { tell(.expired(revision: revision)) } else { tell(.loggedOut(revision: revision)) }
        let completed = Countdown(1, completion)
        let countdown = Countdown(forgetting.count) { [self] in
            release(members) { session in _ = session.finishLogout(of: revision, next: .random()) }
            completed.count()
        }
        for member in forgetting { member.persist(change) { countdown.count() } }
        later(Self.logoutMilliseconds) { [weak self] in
            guard let self else { return }
            let now = monotonic()
            release(members) { session in
                if session.revision == revision { _ = session.finishLogoutIfDue(at: now, next: .random()) }
            }
            completed.count()
        }
        return true
    }

    /// Lets the sources be asked again, unless another logout has begun in the meantime.
    private func release(_ members: [Member], after change: (inout Session) -> Void) {
        let isOver = state.withLock { state in
            change(&state.session)
            return state.session.state != .loggingOut
        }
        if isOver { for member in members { member.store.release() } }
    }

    private func tell(_ event: SessionEvent) {
        let tokens = state.withLock { state -> [String] in
            state.counts[event.name, default: 0] += 1
            return state.members.map(\.name)
        }
        observer.observe(event, of: name, tokens: tokens)
    }
}

/// Runs its work at the last of `count` calls, further ones do nothing; at once when there is nothing to wait for.
private final class Countdown: Sendable {
    private let left: Mutex<Int>
    private let work: @Sendable () -> Void

    init(_ count: Int, _ work: @escaping @Sendable () -> Void) {
        left = Mutex(count)
        self.work = work
        if count == 0 { work() }
    }

    func count() {
        let isLast = left.withLock { left -> Bool in
            left -= 1
            return left == 0
        }
        if isLast { work() }
    }
}
