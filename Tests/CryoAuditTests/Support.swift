// What the audit tests share: temporary directories, a clock, a disk that fills up, a disk that hangs.

import CryoPipeline
import CryoSync
import Dispatch
import Glibc

@testable import CryoAudit

final class TemporaryDirectory: Sendable {
    let path: String

    init() {
        var template = Array("/tmp/cryonet-test-XXXXXX".utf8CString)
        path = mkdtemp(&template).map { String(cString: $0) } ?? "/nonexistent"
    }

    deinit {
        for name in names { unlink("\(path)/\(name)") }
        rmdir(path)
    }

    func file(_ name: String) -> String { "\(path)/\(name)" }

    func write(_ name: String, _ text: String) {
        guard let stream = fopen(file(name), "w") else { return }
        fputs(text, stream)
        fclose(stream)
    }

    func read(_ name: String) -> String? {
        guard let stream = fopen(file(name), "r") else { return nil }
        defer { fclose(stream) }
        var bytes = [UInt8](repeating: 0, count: 8 << 20)
        let count = fread(&bytes, 1, bytes.count, stream)
        return String(decoding: bytes[..<count], as: UTF8.self)
    }

    func mode(_ name: String) -> UInt32 {
        var status = stat()
        return stat(file(name), &status) == 0 ? UInt32(status.st_mode & 0o7777) : 0
    }

    var names: [String] {
        guard let directory = opendir(path) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }
}

extension AuditWriter {
    /// Without a chain and without rotation: what is in the file is what was appended.
    convenience init(
        path: String, warn: @escaping @Sendable (String) -> Void, system: AuditSystem = AuditSystem(),
        monotonic: (@Sendable () -> UInt64)? = nil
    ) throws {
        var system = system
        if let monotonic { system.monotonic = monotonic }
        try self.init(path: path, settings: .plain, warn: warn, system: system)
    }
}

func append(_ line: String, to writer: AuditWriter, confirm: (@Sendable (Bool) -> Void)? = nil) -> AuditOutcome {
    Array(line.utf8).withUnsafeBytes { writer.append($0, confirm: confirm) }
}

final class Warnings: Sendable {
    private let list = Mutex<[String]>([])

    var all: [String] { list.withLock { $0 } }

    func add(_ text: String) { list.withLock { $0.append(text) } }
}

final class Clockwork: Sendable {
    private let nanoseconds = Atomic<UInt64>(1)

    var now: UInt64 { nanoseconds.load(ordering: .relaxed) }

    func advance(seconds: UInt64) { nanoseconds.add(seconds * 1_000_000_000, ordering: .relaxed) }
}

/// Takes so many bytes, then says ENOSPC, as a file system does: a write that does not fit is cut.
final class Disk: Sendable {
    private let room: Mutex<Int>
    private let canTruncate: Bool

    init(room: Int, canTruncate: Bool = true) {
        self.room = Mutex(room)
        self.canTruncate = canTruncate
    }

    func makeRoom(_ bytes: Int) { room.withLock { $0 = bytes } }

    var system: AuditSystem {
        var system = AuditSystem()
        let real = system.write
        system.write = { [self] descriptor, bytes in
            let count = room.withLock { room in
                let count = min(room, bytes.count)
                room -= count
                return count
            }
            guard count > 0 else {
                errno = ENOSPC
                return -1
            }
            return real(descriptor, UnsafeRawBufferPointer(rebasing: bytes[..<count]))
        }
        if !canTruncate {
            system.truncate = { _, _ in
                errno = EIO
                return -1
            }
        }
        return system
    }
}

/// Holds up the first who comes until it is opened.
final class Gate: Sendable {
    private let reached = DispatchSemaphore(value: 0)
    private let opened = DispatchSemaphore(value: 0)
    private let isOpen = Mutex(false)

    func pass() {
        if isOpen.withLock({ $0 }) { return }
        reached.signal()
        opened.wait()
    }

    func waitUntilReached() { reached.wait() }

    func open() {
        isOpen.withLock { $0 = true }
        opened.signal()
    }
}
