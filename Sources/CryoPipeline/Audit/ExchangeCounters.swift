// Counts of one worker's exchanges.
// Domain: worker (read elsewhere through atomics)

package import CryoSync

package final class ExchangeCounters: Sendable {
    package let begun = Atomic<Int>(0)
    package let ended = Atomic<Int>(0)

    package init() {}

    package var open: Int { begun.load(ordering: .relaxed) - ended.load(ordering: .relaxed) }

    func begin() { begun.add(1, ordering: .relaxed) }

    func end() { ended.add(1, ordering: .relaxed) }
}
