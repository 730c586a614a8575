// What an exchange waits for at most how long.
// Domain: pure

/// The times by which something must have happened; `.max` is none.
struct ExchangeDeadlines {
    var response = UInt64.max
    var idle = UInt64.max
    var total = UInt64.max
    var tokenWait = UInt64.max
    var backOff = UInt64.max
    var lookAhead = UInt64.max
    var heartbeat = UInt64.max
    var audit = UInt64.max

    var nearest: UInt64 { min(response, idle, total, tokenWait, backOff, lookAhead, heartbeat, audit) }

    /// The first that is due, taken out.
    mutating func takeDue(at nanoseconds: UInt64) -> DeadlineKind? {
        if total <= nanoseconds {
            total = .max
            return .total
        }
        if backOff <= nanoseconds {
            backOff = .max
            return .backOff
        }
        if tokenWait <= nanoseconds {
            tokenWait = .max
            return .tokenWait
        }
        if response <= nanoseconds {
            response = .max
            return .response
        }
        if idle <= nanoseconds {
            idle = .max
            return .idle
        }
        if lookAhead <= nanoseconds {
            lookAhead = .max
            return .lookAhead
        }
        if heartbeat <= nanoseconds {
            heartbeat = .max
            return .heartbeat
        }
        if audit <= nanoseconds {
            audit = .max
            return .audit
        }
        return nil
    }
}
