// The system calls of the audit that may fail in ways a test has to bring about.
// Domain: cold

import CryoIO
import Glibc

struct AuditSystem: Sendable {
    var write: @Sendable (Int32, UnsafeRawBufferPointer) -> Int = { Glibc.write($0, $1.baseAddress, $1.count) }
    var truncate: @Sendable (Int32, Int) -> Int32 = { ftruncate($0, $1) }
    var sync: @Sendable (Int32) -> Int32 = { fdatasync($0) }
    /// Bytes that the file's system still takes from such as us; nil when it does not say.
    var freeBytes: @Sendable (Int32) -> UInt64? = { descriptor in
        var status = statvfs()
        guard fstatvfs(descriptor, &status) == 0 else { return nil }
        return UInt64(status.f_bavail) &* UInt64(status.f_frsize)
    }
    /// When the file was last written to; nil when it can't be told.
    var modifiedUnixSeconds: @Sendable (Int32) -> Int64? = { descriptor in
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_size > 0 else { return nil }
        // Its first member. Which module owns the names of `timespec` depends on the order in which modules are loaded.
        return withUnsafeBytes(of: status.st_mtim) { Int64($0.loadUnaligned(as: time_t.self)) }
    }
    var patienceMilliseconds = AuditWriter.patienceMilliseconds
    var monotonic: @Sendable () -> UInt64 = { Clock.monotonicNanoseconds() }
    var unixMicroseconds: @Sendable () -> Int64 = { Clock.unixMicroseconds() }
}
