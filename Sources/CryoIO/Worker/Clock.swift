// Reads the two clocks the gateway uses.
// Domain: worker

// Its header may own `timespec`, by the order in which modules are loaded.
import CEpoll
import Glibc

package enum Clock {
    /// CLOCK_MONOTONIC in nanoseconds.
    package static func monotonicNanoseconds() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
    }

    /// CLOCK_REALTIME in microseconds since 1970.
    package static func unixMicroseconds() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) &* 1_000_000 &+ Int64(time.tv_nsec / 1000)
    }

    package static func unixSeconds() -> Int64 { unixMicroseconds() / 1_000_000 }
}
