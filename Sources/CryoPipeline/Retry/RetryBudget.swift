// Keeps retries a small part of an upstream's traffic, so that an upstream in trouble is not asked three times as often.
// Domain: shared (two counters)

import CryoSync

/// Counts the exchanges of the routes that may retry, and those of them that are retrying. One per upstream, for all workers.
package final class RetryBudget: Sendable {
    private let open = Atomic<Int>(0)
    private let retrying = Atomic<Int>(0)

    package init() {}

    package func begin() { open.wrappingAdd(1, ordering: .relaxed) }

    /// Takes a place among those that retry, unless they would be more than `percent` of the open exchanges and more than `leastMax`.
    package func take(percent: UInt32, leastMax: UInt32) -> Bool {
        let places = max(Int(leastMax), open.load(ordering: .relaxed) * Int(percent) / 100)
        let taken = retrying.wrappingAdd(1, ordering: .relaxed).newValue
        if taken <= places { return true }
        retrying.wrappingSubtract(1, ordering: .relaxed)
        return false
    }

    package func end(isRetrying: Bool) {
        open.wrappingSubtract(1, ordering: .relaxed)
        if isRetrying { retrying.wrappingSubtract(1, ordering: .relaxed) }
    }

    package var counts: (open: Int, retrying: Int) { (open.load(ordering: .relaxed), retrying.load(ordering: .relaxed)) }
}
