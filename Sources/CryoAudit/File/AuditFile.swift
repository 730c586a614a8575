// Owns the descriptor of the audit file: whole lines only, also on a disk that fills up and after a file was moved away.
// Domain: cold (the writer's queue)

import CryoIO
import Glibc

struct AuditFile: ~Copyable {
    /// How one batch went.
    struct Written {
        var lines = 0
        /// The bytes of those lines.
        var count = 0
        var failure: SystemError?
    }

    private let path: String
    private let system: AuditSystem
    private var descriptor: Int32
    /// The file ends in the middle of a line: the next bytes begin with a line end.
    private var isTorn: Bool
    /// What is in the file, as far as this process knows.
    private(set) var size: UInt64
    /// Nothing can be said about the past of a pipe or a device, and they are not rotated.
    private(set) var isRegular: Bool

    init(path: String, system: AuditSystem) throws(SystemError) {
        self.path = path
        self.system = system
        descriptor = try Self.open(path)
        isTorn = Self.endsTorn(path)
        (size, isRegular) = Self.measure(descriptor)
    }

    deinit {
        // A child between fork and exec shares the open file, and would keep its lock beyond the end of this one.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    /// So much is written at once; then a worker on the same CPU gets its turn.
    private static let turnBytes = 32 << 10

    /// Writes so many whole lines, each with its line end.
    mutating func write(_ batch: UnsafeRawBufferPointer, lines: Int) -> Written {
        var result = Written()
        if isTorn {
            let lineEnd: [UInt8] = [0x0A]
            guard lineEnd.withUnsafeBytes({ system.write(descriptor, $0) }) == 1 else {
                result.failure = SystemError("write")
                return result
            }
            isTorn = false
        }
        var offset = 0
        while offset < batch.count {
            if offset > 0 { sched_yield() }
            let turn = batch[offset..<min(batch.count, offset + Self.turnBytes)]
            let count = system.write(descriptor, UnsafeRawBufferPointer(rebasing: turn))
            if count < 0, errno == EINTR { continue }
            if count <= 0 {
                result.failure = count < 0 ? SystemError("write") : SystemError("write", code: EIO)
                break
            }
            offset += count
        }
        if offset == batch.count {
            size &+= UInt64(offset)
            return Written(lines: lines, count: offset)
        }
        let whole = batch[..<offset].lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
        var rest = batch[..<whole]
        while let found = UnsafeRawBufferPointer(rebasing: rest).firstLineEnd {
            result.lines += 1
            rest = rest.dropFirst(found + 1)
        }
        result.count = whole
        size &+= UInt64(whole)
        if whole < offset { isTorn = !cutTail(offset - whole, batch[whole..<offset]) }
        return result
    }

    /// Takes back the beginning of a line whose end did not fit. Only if the file ends with just these bytes: another
    /// process may be writing to it as well.
    private func cutTail(_ length: Int, _ tail: Slice<UnsafeRawBufferPointer>) -> Bool {
        let reader = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard reader >= 0 else { return false }
        defer { close(reader) }
        guard let ours = Self.identity(of: descriptor), let named = Self.identity(of: reader), ours == named, ours.isRegular else {
            return false
        }
        var found = [UInt8](repeating: 0, count: length)
        let start = ours.size - length
        guard start >= 0, pread(reader, &found, length, start) == length, found.elementsEqual(tail) else { return false }
        return system.truncate(descriptor, start) == 0
    }

    /// Opens the path anew; the old file is kept when that fails.
    mutating func reopen() throws(SystemError) {
        let fresh = try Self.open(path)
        close(descriptor)
        descriptor = fresh
        isTorn = Self.endsTorn(path)
        (size, isRegular) = Self.measure(descriptor)
    }

    /// Makes sure that what was written survives the loss of power.
    func sync() throws(SystemError) {
        guard isRegular, system.sync(descriptor) != 0 else { return }
        throw SystemError("fdatasync")
    }

    var modifiedUnixSeconds: Int64? { system.modifiedUnixSeconds(descriptor) }

    var freeBytes: UInt64? { isRegular ? system.freeBytes(descriptor) : nil }

    /// Two writers would break each other's chain. False when another process, or another part of this one, has the file.
    func lock() -> Bool { !isRegular || flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK }

    /// The path names another file, or none, though nobody said so.
    var wasMovedAway: Bool {
        guard let ours = Self.identity(of: descriptor), ours.isRegular else { return false }
        var status = stat()
        guard stat(path, &status) == 0 else { return errno == ENOENT }
        return UInt64(status.st_dev) != ours.device || UInt64(status.st_ino) != ours.inode
    }

    // MARK: Parts

    private struct Identity: Equatable {
        var device: UInt64
        var inode: UInt64
        var isRegular: Bool
        var size: Int
    }

    private static func measure(_ descriptor: Int32) -> (size: UInt64, isRegular: Bool) {
        guard let identity = identity(of: descriptor) else { return (0, false) }
        return (UInt64(identity.size), identity.isRegular)
    }

    private static func identity(of descriptor: Int32) -> Identity? {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        return Identity(
            device: UInt64(status.st_dev), inode: UInt64(status.st_ino), isRegular: status.st_mode & S_IFMT == S_IFREG,
            size: Int(status.st_size))
    }

    /// Without O_NONBLOCK a pipe nobody reads would hold up the start; afterwards writes may wait on the writer's queue.
    private static func open(_ path: String) throws(SystemError) -> Int32 {
        let descriptor = Glibc.open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0o600)
        guard descriptor >= 0 else { throw SystemError("open") }
        _ = fcntl(descriptor, F_SETFL, O_APPEND)
        return descriptor
    }

    /// A process that was killed, or a disk that was full, may have left half a line.
    private static func endsTorn(_ path: String) -> Bool {
        let reader = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard reader >= 0 else { return false }
        defer { close(reader) }
        guard let file = identity(of: reader), file.isRegular, file.size > 0 else { return false }
        var last: UInt8 = 0x0A
        return pread(reader, &last, 1, file.size - 1) == 1 && last != 0x0A
    }
}
