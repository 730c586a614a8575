// An exchange whose connection has been upgraded: the two bodies are the bytes of a tunnel, which nobody looks into.
// Domain: worker

extension Exchange {
    /// Before the 101 goes to the client: what it sends from then on streams through and is never sent twice.
    func openTunnel() {
        isTunnel = true
        body = ReplayBuffer(records: false, openSpill: environment.openSpill)
        deadlines.total = .max
    }

    /// Silence ends a tunnel. One that is half closed has little left to say and gets the time of an ordinary response.
    func touchTunnelIdle() {
        guard let timeouts = match?.route.upstream.settings.timeouts else { return }
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
        context.sink.endTunnelReply()
    }
}
