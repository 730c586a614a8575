// The streamed reply of one admin exchange: asks the stream for pieces on the admin queue and sends them on the connection's worker.
// Domain: worker

import CryoPipeline
import Dispatch

final class AdminStreamReply {
    /// An idle stream says that it is alive; a reader that has closed its connection is noticed by that, and makes room for another.
    static let heartbeatNanoseconds: UInt64 = 5_000_000_000

    private let stream: any AdminStream
    private let queue: DispatchQueue
    private let context: ConnectionContext
    private let scrub: @Sendable (inout [UInt8]) -> Void
    /// A piece is being made.
    private var isAsking = false
    /// Something has come since it was asked for.
    private var asksAgain = false
    /// The client takes nothing at the moment.
    private var isPaused = false
    private var isOver = false
    private var heartbeatAt = UInt64.max

    init(
        _ stream: any AdminStream, queue: DispatchQueue, context: ConnectionContext, scrub: @escaping @Sendable (inout [UInt8]) -> Void
    ) {
        self.stream = stream
        self.queue = queue
        self.context = context
        self.scrub = scrub
    }

    func begin() {
        // SAFETY: the reference is opened on this worker only, by the work that `submit` brings back to it.
        nonisolated(unsafe) weak let reply = self
        let submit = context.scheduler.submit
        let stream = stream
        queue.async { @Sendable in stream.begin { submit { reply?.ask() } } }
        touchHeartbeat()
        ask()
    }

    private func ask() {
        guard !isOver, !isPaused else { return }
        guard !isAsking else {
            asksAgain = true
            return
        }
        isAsking = true
        asksAgain = false
        // SAFETY: as above; the reply must live until the piece is here.
        nonisolated(unsafe) let reply = self
        let submit = context.scheduler.submit
        let stream = stream
        queue.async { @Sendable in
            let step = stream.next()
            submit { reply.take(step) }
        }
    }

    private func take(_ step: AdminStreamStep) {
        isAsking = false
        guard !isOver else { return }
        switch step {
        case .bytes(var bytes):
            scrub(&bytes)
            touchHeartbeat()
            isPaused = bytes.withUnsafeBytes { context.sink.sendBody($0) } == .pause
            ask()
        case .nothing: if asksAgain { ask() }
        case .end:
            close()
            context.sink.finish()
        }
    }

    /// The client has taken what there was.
    func drained() {
        isPaused = false
        ask()
    }

    /// The connection has let go of the exchange.
    func close() {
        guard !isOver else { return }
        isOver = true
        let stream = stream
        queue.async { @Sendable in stream.end() }
    }

    // MARK: Heartbeats

    private func touchHeartbeat() {
        guard !stream.heartbeat.isEmpty else { return }
        heartbeatAt = context.scheduler.nanoseconds &+ Self.heartbeatNanoseconds
        context.scheduler.wake(at: heartbeatAt)
    }

    func deadlineReached(_ nanoseconds: UInt64) {
        guard !isOver else { return }
        guard nanoseconds >= heartbeatAt else { return context.scheduler.wake(at: heartbeatAt) }
        // While the client takes nothing a sign of life would only add to what waits for it.
        if !isPaused { isPaused = stream.heartbeat.withUnsafeBytes { context.sink.sendBody($0) } == .pause }
        touchHeartbeat()
    }
}
