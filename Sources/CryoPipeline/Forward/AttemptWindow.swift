// Counts how attempts ended within a sliding stretch of time, in ten parts that drop out one by one.
// Domain: pure

struct AttemptWindow: Sendable {
    private static let partsMax = 10

    private struct Part {
        var good: UInt32 = 0
        var bad: UInt32 = 0
    }

    private var parts = [Part](repeating: Part(), count: Self.partsMax)
    /// The number of the newest part since the clock began.
    private var newest: UInt64 = 0
    private let partNanoseconds: UInt64
    private(set) var bad: UInt64 = 0
    private(set) var total: UInt64 = 0

    init(milliseconds: UInt32) { partNanoseconds = max(1, UInt64(milliseconds) * 1_000_000 / UInt64(Self.partsMax)) }

    /// `now` may lie a little before that of an earlier call: each worker has its own view of the clock.
    mutating func add(isFailure: Bool, at now: UInt64) {
        let number = now / partNanoseconds
        roll(to: number)
        guard newest < number + UInt64(Self.partsMax) else { return }
        let index = Int(number % UInt64(Self.partsMax))
        if isFailure {
            parts[index].bad &+= 1
            bad += 1
        } else {
            parts[index].good &+= 1
        }
        total += 1
    }

    mutating func roll(at now: UInt64) { roll(to: now / partNanoseconds) }

    mutating func reset() {
        parts = [Part](repeating: Part(), count: Self.partsMax)
        (bad, total) = (0, 0)
    }

    private mutating func roll(to number: UInt64) {
        guard number > newest else { return }
        if number - newest >= UInt64(Self.partsMax) {
            reset()
        } else {
            for old in (newest + 1)...number {
                let index = Int(old % UInt64(Self.partsMax))
                bad -= UInt64(parts[index].bad)
                total -= UInt64(parts[index].bad) + UInt64(parts[index].good)
                parts[index] = Part()
            }
        }
        newest = number
    }
}
