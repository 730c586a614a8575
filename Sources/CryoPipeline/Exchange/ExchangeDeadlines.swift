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
        if Self.take(&total, at: nanoseconds) { return .total }
        if Self.take(&backOff, at: nanoseconds) { return .backOff }
        if Self.take(&tokenWait, at: nanoseconds) { return .tokenWait }
        if Self.take(&response, at: nanoseconds) { return .response }
        if Self.take(&idle, at: nanoseconds) { return .idle }
        if Self.take(&lookAhead, at: nanoseconds) { return .lookAhead }
        if Self.take(&heartbeat, at: nanoseconds) { return .heartbeat }
        if Self.take(&audit, at: nanoseconds) { return .audit }
        return nil
    }

    private static func take(_ deadline: inout UInt64, at nanoseconds: UInt64) -> Bool {
        guard deadline <= nanoseconds else { return false }
        deadline = .max
        return true
    }
}
