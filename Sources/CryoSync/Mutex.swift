// The mutex of this package: the standard one, and under the thread sanitizer one that the sanitizer understands.
// Domain: shared

#if CRYONET_TSAN
    import Glibc
    @_exported public import struct Synchronization.Atomic

    /// The interface of `Synchronization.Mutex` on a pthread mutex.
    ///
    /// The standard mutex hands over a contended lock inside the runtime library, which is not instrumented: the sanitizer would
    /// call every such hand-over a race. It watches pthread mutexes by itself.
    // SAFETY: `value` is reached between lock and unlock only.
    package struct Mutex<Value: ~Copyable>: ~Copyable, @unchecked Sendable {
        private let lock: UnsafeMutablePointer<pthread_mutex_t>
        private let value: UnsafeMutablePointer<Value>

        package init(_ initialValue: consuming sending Value) {
            lock = .allocate(capacity: 1)
            pthread_mutex_init(lock, nil)
            value = .allocate(capacity: 1)
            value.initialize(to: initialValue)
        }

        deinit {
            value.deinitialize(count: 1)
            value.deallocate()
            pthread_mutex_destroy(lock)
            lock.deallocate()
        }

        package borrowing func withLock<Result: ~Copyable, Failure: Error>(
            _ body: (inout sending Value) throws(Failure) -> sending Result
        ) throws(Failure) -> sending Result {
            pthread_mutex_lock(lock)
            defer { pthread_mutex_unlock(lock) }
            return try body(&value.pointee)
        }
    }
#else
    @_exported public import Synchronization

    package typealias Mutex = Synchronization.Mutex
#endif
