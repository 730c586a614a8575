// Step refresh: asks the credential store for a newer token and waits for the answer on this worker.
// Domain: worker

extension Exchange {
    /// Rounds of one demand. A second is needed when the newer token that is there has expired too; more would be a race lost twice.
    private static let demandRoundsMax = 3

    func demandToken() {
        guard let store = route?.credentials else { return }
        var refused = machine.state == .awaitingRefresh ? credential?.version ?? 0 : nil
        for _ in 0..<Self.demandRoundsMax {
            let cause: RefreshCause =
                if let refused { .refused(version: refused) } else { .unusable(version: credential?.version ?? 0) }
            switch demand(cause, of: store) {
            case .waiting(let ticket, let isLeader): return wait(ticket, isLeader: isLeader, for: store)
            case .answered(.alreadyNewer):
                if !takeNewerToken(from: store) || !isSameSession { return perform(machine.handle(.tokenDecided(.rejected))) }
                if isTokenUsable { return perform(machine.handle(.tokenDecided(.alreadyNewer))) }
                refused = nil
            case .answered(let decision): return perform(machine.handle(.tokenDecided(decision)))
            }
        }
        perform(machine.handle(.tokenDecided(.failed)))
    }

    private func demand(_ cause: RefreshCause, of store: CredentialStore) -> TokenDemand {
        // SAFETY: the box is opened on this worker only, by the work that `submit` brings back to it.
        nonisolated(unsafe) let exchange = self
        let submit = scheduler.submit
        return store.demand(cause) { answer in
            submit { exchange.receiveToken(answer) }
        }
    }

    private func wait(_ ticket: UInt64, isLeader: Bool, for store: CredentialStore) {
        self.ticket = ticket
        deadlines.tokenWait = now &+ RefreshGate.flightNanoseconds(of: store.settings.refresh)
        armDeadlines()
        tell(.refreshing(isLeader: isLeader))
        perform(machine.handle(.tokenDecided(isLeader ? .lead : .join)))
    }

    private func receiveToken(_ answer: TokenAnswer) {
        guard !isOver, ticket != nil, let store = route?.credentials else { return }
        ticket = nil
        deadlines.tokenWait = .max
        var answer = answer
        if answer == .ready {
            let refused = machine.state == .awaitingRefresh ? credential?.version : nil
            if !takeNewerToken(from: store) || credential?.version == refused {
                // Gone, or the very same token that was refused (report B-03).
                answer = .rejected
            } else if !isTokenUsable {
                answer = .failed
            }
        }
        perform(machine.handle(.tokenAnswered(answer, isSameSession: isSameSession)))
        armDeadlines()
    }

    /// False when there is none any more.
    private func takeNewerToken(from store: CredentialStore) -> Bool {
        guard let newer = store.snapshot() else { return false }
        if revision == nil { revision = newer.revision }
        credential = newer
        return true
    }

    private var isSameSession: Bool { credential?.revision == revision }

    /// Before another attempt after a transient failure: the newest token of the exchange's own login (ledger TK4). False when that
    /// one has expired meanwhile.
    func takeLatestToken() -> Bool {
        guard machine.carriesToken, let store = route?.credentials else { return true }
        if let latest = store.snapshot(), latest.revision == revision { credential = latest }
        return isTokenUsable
    }

    /// An expired token is never sent (design §7).
    var isTokenUsable: Bool {
        guard let credential else { return false }
        return credential.expiresAt.map { scheduler.unixMicroseconds / 1_000_000 < $0 } ?? true
    }

    func withdrawTicket() {
        guard let ticket else { return }
        self.ticket = nil
        route?.credentials?.withdraw(ticket: ticket)
    }
}
