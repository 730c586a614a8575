// How many may do something at a time: read the stream of exchanges, replay one.
// Domain: shared

import CryoSync

final class Places: Sendable {
    static let readersMax = 16
    static let replaysMax = 8
    private let most: Int
    private let count = Atomic<Int>(0)

    init(_ most: Int) { self.most = most }

    var now: Int { count.load(ordering: .relaxed) }

    /// False when there are as many as there may be. Called on the admin queue only: nobody else enters meanwhile.
    func enter() -> Bool {
        guard now < most else { return false }
        count.add(1, ordering: .relaxed)
        return true
    }

    func leave() { count.subtract(1, ordering: .relaxed) }
}
