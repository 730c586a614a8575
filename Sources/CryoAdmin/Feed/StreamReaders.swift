// How many read the stream of exchanges at a time.
// Domain: shared

import CryoSync

final class StreamReaders: Sendable {
    static let readersMax = 16
    private let count = Atomic<Int>(0)

    var now: Int { count.load(ordering: .relaxed) }

    /// False when there are as many as there may be. Called on the admin queue only: nobody else enters meanwhile.
    func enter() -> Bool {
        guard now < Self.readersMax else { return false }
        count.add(1, ordering: .relaxed)
        return true
    }

    func leave() { count.subtract(1, ordering: .relaxed) }
}
