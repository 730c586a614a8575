// The one wake of a connection, and what happens when everything that could be done has been done.
// Domain: worker

import CryoHTTP
import CryoIO
import CryoPipeline

extension ClientConnection {
    /// That long from now; 0 is no deadline.
    func deadline(_ milliseconds: UInt32) -> UInt64 {
        milliseconds == 0 ? .max : worker.nanoseconds &+ UInt64(milliseconds) &* 1_000_000
    }

    func arm() {
        guard phase != .closed else { return }
        let nearest = min(readDeadline, writeDeadline)
        if nearest < .max { wake(at: nearest) }
    }

    /// Leaves the connection in a state that needs no more attention until the next event.
    func settle() {
        guard phase != .closed else { return }
        let hasPending = state?.out.isEmpty == false
        // Else the kernel tells when there is room.
        if hasPending, canWrite { worker.afterBatch(self) }
        if phase == .idle, !hasPending, state?.inputCount == 0 { giveBackState() }
        if phase == .tunnel { shutTunnelReply() }
        if phase == .flushing, !hasPending {
            if let tls, !endTLS(tls) { return arm() }
            return lingerOrClose()
        }
        if phase == .idle, share.isDraining, state == nil, context != nil { return close() }
        arm()
    }

    private func giveBackState() {
        if let state = state.take() { share.giveBack(state) }
        tls?.stream.trim()
    }

    /// A request has been answered: waits for the next one.
    func becomeIdle() {
        phase = .idle
        readDeadline = deadline(limits.settings.idleTimeoutMilliseconds)
        if hasSeenEnd, (state?.inputCount ?? 0) == 0 { phase = .flushing }
    }

    /// All that is owed has been sent. When the client may still be sending, closing now would reset the connection and could
    /// take the reply from it.
    private func lingerOrClose() {
        guard state?.lingers == true, !hasSeenEnd, !resetsOnClose else { return close() }
        phase = .lingering
        Socket.shutdownWrite(descriptor)
        readDeadline = deadline(ConnectionBounds.discardMilliseconds)
        advance()
    }
}
