// What an exchange remembers of its attempts, for the audit, the breaker and the statistics.
// Domain: worker

/// What the audit tells about one attempt.
struct AttemptRecord {
    var startedAt: UInt64
    var endedAt: UInt64 = 0
    /// Of the bodies, as they went to the upstream and came from it.
    var requestBytes: UInt64 = 0
    var responseBytes: UInt64 = 0
    var status: UInt16 = 0
    var outcome: StaticString = "responded"
    var tokenVersion: UInt64 = 0
    var isTokenUnwritten = false
    var isSigned = false
    /// What told that the token is refused, where that made a difference: `status` or `business_code`.
    var refusedBy: StaticString?
    var timing = AttemptTiming()
}

/// All attempts of an exchange, the present one last. Most exchanges make one, which lies in place.
struct AttemptRecords: RandomAccessCollection {
    private var earlier: [AttemptRecord] = []
    private(set) var count = 0
    /// The present attempt's, or the last one's. Means nothing before the first.
    var current = AttemptRecord(startedAt: 0)

    mutating func begin(_ record: AttemptRecord) {
        if count > 0 { earlier.append(current) }
        current = record
        count += 1
    }

    var startIndex: Int { 0 }
    var endIndex: Int { count }
    var last: AttemptRecord? { count > 0 ? current : nil }

    /// Without an iterator, which would copy all of them.
    func forEach(_ body: (AttemptRecord) -> Void) {
        for record in earlier { body(record) }
        if count > 0 { body(current) }
    }

    subscript(index: Int) -> AttemptRecord { index == count - 1 ? current : earlier[index] }
}
