// One hook and what it is still to be told: a bounded queue with a thread of its own.
// Domain: cold (its own serial queue; `add` may be called from workers)

package import CryoPipeline
import CryoSync
import Dispatch

package struct HookEvent: Sendable {
    package let kind: HookSettings.Event
    /// One JSON object, without secrets.
    package let body: [UInt8]
    /// The login that ended, where one did.
    package let revision: SessionRevision?

    package init(kind: HookSettings.Event, body: [UInt8], revision: SessionRevision? = nil) {
        self.kind = kind
        self.body = body
        self.revision = revision
    }
}

/// Why an event did not get through. Holds no secret.
package struct HookFailure: Error, Equatable {
    package let detail: String
    package init(_ detail: String) { self.detail = detail }
}

package final class HookQueue: Sendable {
    package struct Counts: Sendable, Equatable {
        package var sent: UInt64 = 0
        package var failed: UInt64 = 0
        package var dropped: UInt64 = 0
    }

    private struct State {
        var waiting: [HookEvent] = []
        var waitingBytes = 0
        var isRunning = false
        var isClosed = false
        /// The logins whose end was told last: two tokens that share one may each be told of it by a code, at the same time.
        var ended: [SessionRevision] = []
        var counts = Counts()
        /// Failures and drops since the last success, to say so less and less often.
        var failuresInARow: UInt64 = 0
        var dropsInARow: UInt64 = 0
    }

    /// One more event is dropped and counted.
    package static let waitingMax = 256
    package static let waitingBytesMax = 4 << 20
    private static let endedMax = 8

    package let name: String
    package let events: Set<HookSettings.Event>
    /// Tells whether a reload asks for the same hook; then its queue lives on.
    package let fingerprint: String
    private let deliver: @Sendable (HookEvent) -> HookFailure?
    private let warn: @Sendable (String) -> Void
    private let queue: DispatchQueue
    private let state = Mutex(State())

    package init(
        name: String, events: [HookSettings.Event], fingerprint: String = "", warn: @escaping @Sendable (String) -> Void,
        deliver: @escaping @Sendable (HookEvent) -> HookFailure?
    ) {
        self.name = name
        self.events = Set(events)
        self.fingerprint = fingerprint
        self.warn = warn
        self.deliver = deliver
        queue = DispatchQueue(label: "cryonet.hook.\(name)")
    }

    package var counts: Counts { state.withLock { $0.counts } }

    /// Takes an event, or drops it where too many wait already; the end of one login only once. Never waits.
    package func add(_ event: HookEvent) {
        let (starts, drops) = state.withLock { state -> (Bool, UInt64) in
            if let revision = event.revision {
                if state.ended.contains(revision) { return (false, 0) }
                state.ended.append(revision)
                state.ended.removeFirst(max(0, state.ended.count - Self.endedMax))
            }
            let isFull = state.waiting.count >= Self.waitingMax || state.waitingBytes + event.body.count > Self.waitingBytesMax
            if isFull || state.isClosed {
                state.counts.dropped += 1
                state.dropsInARow += 1
                return (false, state.dropsInARow)
            }
            state.dropsInARow = 0
            state.waiting.append(event)
            state.waitingBytes += event.body.count
            let starts = !state.isRunning
            state.isRunning = true
            return (starts, 0)
        }
        if starts { queue.async { [self] in run() } }
        if Self.isWorthSaying(drops) { say("too many events wait: dropped", drops) }
    }

    /// Takes nothing more; what waits is still told.
    package func close() { state.withLock { $0.isClosed = true } }

    /// At the end of the process. What waits longer is dropped.
    package func waitUntilEmpty(_ milliseconds: Int) {
        let isDone = DispatchSemaphore(value: 0)
        queue.async { isDone.signal() }
        guard isDone.wait(timeout: .now() + .milliseconds(milliseconds)) == .timedOut else { return }
        let left = state.withLock { state in
            let left = UInt64(state.waiting.count)
            state.counts.dropped += left
            state.waiting = []
            state.waitingBytes = 0
            return left
        }
        if left > 0 { say("dropped at the end", left) }
    }

    private func run() {
        while let event = next() {
            let failure = deliver(event)
            let failures = state.withLock { state -> UInt64 in
                if failure == nil {
                    state.counts.sent += 1
                    state.failuresInARow = 0
                } else {
                    state.counts.failed += 1
                    state.failuresInARow += 1
                }
                return state.failuresInARow
            }
            if let failure, Self.isWorthSaying(failures) { say("\(failure.detail): failed", failures) }
        }
    }

    private func next() -> HookEvent? {
        state.withLock { state in
            guard !state.waiting.isEmpty else {
                state.isRunning = false
                return nil
            }
            let event = state.waiting.removeFirst()
            state.waitingBytes -= event.body.count
            return event
        }
    }

    /// The first, the second, the fourth, … of a row: a hook that is down for long does not fill the log.
    private static func isWorthSaying(_ count: UInt64) -> Bool { count > 0 && count & (count - 1) == 0 }

    private func say(_ what: String, _ count: UInt64) { warn("hook of \(name): \(what) (\(count) in a row)") }
}
