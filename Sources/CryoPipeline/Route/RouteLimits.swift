// How many exchanges of a route there may be at a time, and how many may begin: nobody waits, who is too many is told when to come again.
// Domain: shared (a counter, one short lock)

import CryoSync

/// What the configuration says. 0 is no bound.
///
/// There is no queue: a client that waits holds its connection while its own timeout runs, and learns nothing; told to come again it can
/// do something else, and HTTP has the words for it.
package struct RouteLimitSettings: Sendable, Equatable {
    package var concurrent: UInt32 = 0
    package var requestsPerSecond: Double = 0
    /// So many may begin at once after a quiet time; 0: as many as in a second, at least one.
    package var burst: UInt32 = 0

    package init() {}

    package var isOn: Bool { concurrent > 0 || requestsPerSecond > 0 }
    /// The size of the bucket.
    var capacity: UInt64 { burst > 0 ? UInt64(burst) : max(1, UInt64(requestsPerSecond)) }
    /// Between two requests of a steady stream.
    var spacingNanoseconds: UInt64 { UInt64(1_000_000_000 / min(max(requestsPerSecond, 0.001), 1_000_000_000)) }
    /// How long an empty bucket takes to fill.
    var refillSeconds: UInt64 { max(1, (capacity * spacingNanoseconds + 999_999_999) / 1_000_000_000) }
}

/// What a route carries at the moment, for all workers. It outlives a reload, so that limits hold across it.
package final class RouteLoad: Sendable {
    package enum Refusal: Sendable, Equatable {
        case concurrency
        case rate(waitNanoseconds: UInt64)
    }

    private let open = Atomic<Int>(0)
    private let bucket = Mutex(Bucket())

    private struct Bucket {
        /// When it will be full again (the "theoretical arrival time" of the generic cell rate algorithm, ITU-T I.371).
        var fullAt: UInt64 = 0
        /// Workers look at the clock at different moments; the bucket's time goes forward only.
        var latest: UInt64 = 0
    }

    package init() {}

    package var count: Int { open.load(ordering: .relaxed) }

    /// nil: it may go on, and calls `leave` at its end. A request that is one too many at a time costs no part of the rate.
    package func enter(_ settings: RouteLimitSettings, at now: UInt64) -> Refusal? {
        let count = open.wrappingAdd(1, ordering: .relaxed).newValue
        if settings.concurrent > 0, count > Int(settings.concurrent) {
            leave()
            return .concurrency
        }
        guard settings.requestsPerSecond > 0, let wait = take(settings, at: now) else { return nil }
        leave()
        return .rate(waitNanoseconds: wait)
    }

    package func leave() { open.wrappingSubtract(1, ordering: .relaxed) }

    /// nil: taken; else how long until there is something to take.
    private func take(_ settings: RouteLimitSettings, at now: UInt64) -> UInt64? {
        let spacing = settings.spacingNanoseconds
        let tolerance = (settings.capacity - 1) * spacing
        return bucket.withLock { bucket in
            bucket.latest = max(bucket.latest, now)
            let now = bucket.latest
            // A reload may have made it smaller, or faster.
            let owed = min(max(bucket.fullAt, now), now + settings.capacity * spacing)
            guard owed <= now + tolerance else { return owed - tolerance - now }
            bucket.fullAt = owed + spacing
            return nil
        }
    }
}
