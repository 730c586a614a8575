// What the demo upstream does wrong on purpose, and what it has seen: the two hands of a drill.
// Domain: pure

package struct DemoFaults: Sendable {
    /// The token endpoint answers 503.
    package var isEndpointDown = false
    package var endpointDelayMilliseconds: UInt64 = 0
    /// Of the tokens it issues from now on.
    package var lifetimeSeconds: Int64 = 3600
    /// A refresh token that comes a second time ends the login, as RFC 9700 §4.14.2 asks of servers.
    package var endsLoginOnReuse = false

    package init() {}
}

package struct DemoCounts: Sendable, Equatable {
    /// Calls of the token endpoint, and how many of them were granted.
    package var endpointCalls = 0
    package var grants = 0
    /// Calls that presented a refresh token that had been used before.
    package var reuses = 0
    /// Requests with the present token, and 401 answers to others.
    package var accepted = 0
    package var refused = 0

    package init() {}

    static func - (one: DemoCounts, other: DemoCounts) -> DemoCounts {
        var result = DemoCounts()
        result.endpointCalls = one.endpointCalls - other.endpointCalls
        result.grants = one.grants - other.grants
        result.reuses = one.reuses - other.reuses
        result.accepted = one.accepted - other.accepted
        result.refused = one.refused - other.refused
        return result
    }
}
