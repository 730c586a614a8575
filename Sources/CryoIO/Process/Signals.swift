// Signals as events on a queue.
// Domain: cold

package import Dispatch
import Glibc

/// Delivers signals to handlers on one queue, instead of to the default action, until `stop`.
package final class Signals {
    private let queue: DispatchQueue
    private var sources: [any DispatchSourceSignal] = []

    package init(queue: DispatchQueue) {
        self.queue = queue
        // A client that is gone must cost its own exchange only.
        signal(SIGPIPE, SIG_IGN)
    }

    package nonisolated func on(_ number: Int32, _ handler: @escaping @Sendable () -> Void) {
        signal(number, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
        source.setEventHandler { @Sendable in handler() }
        source.activate()
        sources.append(source)
    }

    /// Lets go of the handlers; none runs afterwards. The signals stay ignored. Not to be called from a handler.
    package func stop() {
        for source in sources { source.cancel() }
        sources.removeAll()
        queue.sync {}
    }
}
