// Signals as events on a queue.
// Domain: cold

package import Dispatch
import Glibc

/// Delivers signals to handlers on one queue, instead of to the default action, until `stop`.
package final class Signals {
    /// Registration takes microseconds; waiting for it must not hang a start.
    private static let registrationTimeout = DispatchTimeInterval.seconds(1)

    private let queue: DispatchQueue
    private var sources: [any DispatchSourceSignal] = []

    package init(queue: DispatchQueue) {
        self.queue = queue
        // A client that is gone must cost its own exchange only.
        signal(SIGPIPE, SIG_IGN)
        // Nor may a bound on file sizes end the process: a write says EFBIG, and whoever writes knows what to do.
        signal(SIGXFSZ, SIG_IGN)
    }

    package nonisolated func on(_ number: Int32, _ handler: @escaping @Sendable () -> Void) {
        signal(number, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
        source.setEventHandler { @Sendable in handler() }
        // Until the source is registered the signal is ignored: a script that sends HUP as soon as the gateway is ready must be heard.
        let isRegistered = DispatchSemaphore(value: 0)
        source.setRegistrationHandler { @Sendable in isRegistered.signal() }
        source.activate()
        _ = isRegistered.wait(timeout: .now() + Self.registrationTimeout)
        sources.append(source)
    }

    /// Lets go of the handlers; none runs afterwards. The signals stay ignored. Not to be called from a handler.
    package func stop() {
        for source in sources { source.cancel() }
        sources.removeAll()
        queue.sync {}
    }
}
