// Counts of one worker's exchanges.
// Domain: worker (read elsewhere through atomics)

package import CryoSync

/// Only its worker writes, so a load and a store do.
package final class ExchangeCounters: Sendable {
    package let begun = Atomic<Int>(0)
    package let ended = Atomic<Int>(0)

    package init() {}

    package var open: Int { begun.load(ordering: .relaxed) - ended.load(ordering: .relaxed) }

    func begin() { begun.store(begun.load(ordering: .relaxed) &+ 1, ordering: .relaxed) }

    func end() { ended.store(ended.load(ordering: .relaxed) &+ 1, ordering: .relaxed) }
}
