// Writes what happens to logins into the gateway's log.
// Domain: shared

import CryoPipeline

struct SessionLog: SessionObserver {
    let log: Log

    func observe(_ event: SessionEvent, of session: String, tokens: [String]) {
        let held = tokens == [session] ? "" : " (tokens \(tokens.joined(separator: ", ")))"
        switch event {
        case .began: log.info("session \(session)\(held): began")
        case .expired: log.warning("session \(session)\(held): expired, log in again")
        case .loggedOut: log.info("session \(session)\(held): logged out")
        }
    }
}

/// Tells all of them, in this order.
struct SessionObservers: SessionObserver {
    private let observers: [any SessionObserver]

    init(_ observers: [any SessionObserver]) { self.observers = observers }

    func observe(_ event: SessionEvent, of session: String, tokens: [String]) {
        for observer in observers { observer.observe(event, of: session, tokens: tokens) }
    }
}
