// Step refresh: asks the credential store for a newer token and waits for the answer on this worker.
// Domain: worker

extension Exchange {
    func demandToken() {
        guard let store = match?.route.credentials else { return }
        let cause: RefreshCause
        if machine.state == .awaitingToken {
            cause = .unusable
        } else {
            cause = .refused(version: credential?.version ?? 0)
        }
        // SAFETY: the box is opened on this worker only, by the work that `submit` brings back to it.
        nonisolated(unsafe) let exchange = self
        let submit = context.scheduler.submit
        let demand = store.demand(cause) { answer in
            submit { exchange.receiveToken(answer) }
        }
        switch demand {
        case .waiting(let ticket, let isLeader):
            self.ticket = ticket
            let timeout = UInt64(store.settings.refresh.timeoutMilliseconds) * 1_000_000
            // The flight has the same bound; the waiter's is a little later so that the flight's own answer comes first.
            deadlines.tokenWait = now &+ timeout &+ 1_000_000_000
            armDeadlines()
            perform(machine.handle(.tokenDecided(isLeader ? .lead : .join)))
        case .answered(let decision):
            takeNewerToken(from: store)
            perform(machine.handle(.tokenDecided(decision == .alreadyNewer && !isSameSession ? .rejected : decision)))
        }
    }

    private func receiveToken(_ answer: TokenAnswer) {
        guard !isOver, ticket != nil, let store = match?.route.credentials else { return }
        ticket = nil
        deadlines.tokenWait = .max
        var answer = answer
        if answer == .ready {
            takeNewerToken(from: store)
            if credential == nil { answer = .rejected }
        }
        perform(machine.handle(.tokenAnswered(answer, isSameSession: isSameSession)))
        armDeadlines()
    }

    private func takeNewerToken(from store: CredentialStore) {
        guard let newer = store.snapshot() else { return }
        if revision == nil { revision = newer.revision }
        credential = newer
    }

    private var isSameSession: Bool { credential?.revision == revision }

    func withdrawTicket() {
        guard let ticket else { return }
        self.ticket = nil
        match?.route.credentials?.withdraw(ticket: ticket)
    }
}
