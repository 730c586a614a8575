// Makes sure that Dispatch can keep time when no descriptor is left.
// Domain: cold

import Dispatch

package enum DispatchTimers {
    /// Dispatch opens the descriptor its timers share with the first of them. Under exhaustion it can't, and says so to nobody: what was to
    /// happen later, the listener's next look or a drain's deadline, would never happen. It is kept once it is there.
    package static func prepare() {
        let fired = DispatchSemaphore(value: 0)
        DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(1)) { @Sendable in fired.signal() }
        _ = fired.wait(timeout: .now() + patience)
    }

    private static let patience = DispatchTimeInterval.seconds(1)
}
