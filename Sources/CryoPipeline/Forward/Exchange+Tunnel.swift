// An exchange whose connection has become a tunnel, by an upgrade or by CONNECT: the two bodies are its bytes, which nobody looks into.
// Domain: worker

import CryoHTTP

extension Exchange {
    /// CONNECT: no token, no policy, no retry; what the client wants from the upstream it says through the tunnel, in its own TLS.
    func connect() {
        guard isTunnelAdmittedByAudit() else { return }
        perform(machine.handle(.begun(.notApplicable)))
        armDeadlines()
    }

    func writeConnect(_ request: inout AttemptRequest, _ head: RequestHead) {
        request.target = Array(head.fields.bytes[head.target])
        request.fields.removeAll()
        request.isConnect = true
    }

    /// Before the 101, or the 200 of a CONNECT, goes to the client: what it sends from then on streams through and is never sent twice.
    func openTunnel() {
        isTunnel = true
        withheld?.letPass()
        echo?.letPass()
        body = ReplayBuffer(records: false, openSpill: environment.openSpill)
        deadlines.total = .max
    }

    /// Silence ends a tunnel. One that is half closed has little left to say and gets the time of an ordinary response.
    func touchTunnelIdle() {
        guard let timeouts = upstream?.settings.timeouts else { return }
        let standard = timeouts.tunnelIdleMilliseconds
        let length = isTunnelHalfClosed ? min(standard, timeouts.idleMilliseconds) : standard
        deadlines.idle = now &+ UInt64(length) * 1_000_000
        if isTunnelHalfClosed { armDeadlines() }
    }

    func halfCloseTunnel() {
        isTunnelHalfClosed = true
        touchIdle()
    }

    package func attemptReceivedTunnelEnd(_ id: AttemptID) {
        guard id == attempt, !isOver, isTunnel else { return }
        halfCloseTunnel()
        sink.endTunnelReply()
    }
}
