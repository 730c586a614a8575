// The lock of a store file: a file beside it, there while a pair is being refreshed, locked by whoever does so.
// Domain: cold
//
// The store file itself can't carry the lock: each write replaces it by another one. The lock file is removed by its holder while it
// still holds it, so whoever gets a lock looks whether its file is still the one at the path. `flock` locks belong to the open file:
// they end with the process, and hold between two stores of one process too, as a reload may make them.

import CryoIO
import CryoSync
import Glibc

final class StoreLock: Sendable {
    enum Attempt {
        case taken(StoreLock)
        case held
        /// The lock file can't be made.
        case failed(SystemError)
        /// This file system knows no locks.
        case unsupported(SystemError)
    }

    /// The file may be replaced while it is being taken; then another one is tried, so often.
    private static let roundsMax = 16

    /// Whoever held it before did not end properly, or left a pair that is not on disk.
    let foundMark: Bool
    private let path: String
    private let descriptor: Mutex<Int32?>

    private init(_ descriptor: Int32, path: String, foundMark: Bool) {
        self.path = path
        self.foundMark = foundMark
        self.descriptor = Mutex(descriptor)
    }

    /// Never waits. Without `creates` a lock file that is not there is a failure.
    static func take(_ path: String, creates: Bool = true) -> Attempt {
        for _ in 0..<roundsMax {
            let descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | (creates ? O_CREAT : 0), 0o600)
            guard descriptor >= 0 else { return .failed(SystemError("open the lock")) }
            if flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
                let error = SystemError("flock")
                let isHeld = errno == EWOULDBLOCK
                close(descriptor)
                return isHeld ? .held : .unsupported(error)
            }
            var ours = stat()
            var there = stat()
            if fstat(descriptor, &ours) == 0, lstat(path, &there) == 0, ours.st_dev == there.st_dev, ours.st_ino == there.st_ino {
                // The file is empty until a holder says who it is.
                let foundMark = ours.st_size > 0
                if !foundMark { mark(descriptor) }
                return .taken(StoreLock(descriptor, path: path, foundMark: foundMark))
            }
            close(descriptor)
        }
        return .held
    }

    private static func mark(_ descriptor: Int32) {
        let text = Array("\(getpid())\n".utf8)
        // A full disk leaves no mark: the lock holds all the same.
        _ = text.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
    }

    /// With `leavesMark` the next one to take it learns that the pair on disk is not the latest.
    func release(leavesMark: Bool) {
        let open = descriptor.withLock { descriptor -> Int32? in
            defer { descriptor = nil }
            return descriptor
        }
        guard let open else { return }
        if !leavesMark { unlink(path) }
        // A child between fork and exec holds the same open file.
        flock(open, LOCK_UN)
        close(open)
    }

    deinit { release(leavesMark: true) }
}

extension TokenStoreFile {
    private var lockPath: String { path + ".refreshing" }

    func lock() -> StoreLock.Attempt { StoreLock.take(lockPath) }

    /// Takes away the mark of a process that ended while it refreshed. True when there was one; a lock that is held is none.
    func clearMark() -> Bool {
        guard case .taken(let lock) = StoreLock.take(lockPath, creates: false) else { return false }
        defer { lock.release(leavesMark: false) }
        return lock.foundMark
    }
}
