// A second sink beside the audit file: the standard output, or the system's log. On a queue of its own: one that hangs delays nobody.
// Domain: shared (take: one lock, one copy) | cold (everything on the queue)

import CryoPipeline
import CryoSync
import Dispatch
import Glibc

final class AuditCopy: Sendable {
    /// Bytes that may wait for the other sink; lines beyond are dropped there, and said once a minute.
    static let copyBytesMax = 1 << 20
    private static let warningIntervalNanoseconds: UInt64 = 60_000_000_000
    /// How long the end waits for a sink that takes nothing.
    private static let closeMilliseconds = 1_000

    private struct Waiting {
        var bytes: [UInt8] = []
        var dropped: UInt64 = 0
        var isScheduled = false
        var isClosed = false
    }

    private enum Target: Sendable {
        case stdout
        case syslog(path: String)
    }

    private let target: Target
    private let warn: @Sendable (String) -> Void
    private let queue = DispatchQueue(label: "cryonet.audit.copy")
    private let waiting = Mutex(Waiting())
    private let socket = Mutex<Int32>(-1)
    private let warnedAt = Mutex<UInt64?>(nil)

    init?(_ kind: AuditSinkSettings.Copy, syslogPath: String, warn: @escaping @Sendable (String) -> Void) {
        switch kind {
        case .none: return nil
        case .stdout: target = .stdout
        case .syslog: target = .syslog(path: syslogPath)
        }
        self.warn = warn
    }

    deinit {
        let descriptor = socket.withLock { $0 }
        if descriptor >= 0 { Glibc.close(descriptor) }
    }

    /// Whole lines with their ends.
    func take(_ lines: some Collection<UInt8>) {
        if lines.isEmpty { return }
        let wakes = waiting.withLock { waiting -> Bool in
            guard !waiting.isClosed, waiting.bytes.count + lines.count <= Self.copyBytesMax else {
                waiting.dropped += UInt64(lines.count { $0 == 0x0A })
                return false
            }
            waiting.bytes.append(contentsOf: lines)
            defer { waiting.isScheduled = true }
            return !waiting.isScheduled
        }
        if wakes { queue.async { self.drain() } }
    }

    /// Waits a moment for what is left.
    func close() {
        waiting.withLock { $0.isClosed = true }
        let done = DispatchSemaphore(value: 0)
        queue.async { done.signal() }
        _ = done.wait(timeout: .now() + .milliseconds(Self.closeMilliseconds))
    }

    private func drain() {
        let (bytes, dropped) = waiting.withLock { waiting -> ([UInt8], UInt64) in
            defer {
                waiting.bytes = []
                waiting.dropped = 0
                waiting.isScheduled = false
            }
            return (waiting.bytes, waiting.dropped)
        }
        var lost = dropped
        bytes.withUnsafeBytes { bytes in
            switch target {
            case .stdout: if !Self.write(bytes, to: 1) { lost += UInt64(bytes.count { $0 == 0x0A }) }
            case .syslog(let path):
                var rest = bytes
                while let end = rest.firstLineEnd {
                    if !send(UnsafeRawBufferPointer(rebasing: rest[..<end]), to: path) { lost += 1 }
                    rest = UnsafeRawBufferPointer(rebasing: rest[(end + 1)...])
                }
            }
        }
        if lost > 0 { report(lost) }
    }

    private func report(_ lost: UInt64) {
        let now = DispatchTime.now().uptimeNanoseconds
        let isDue = warnedAt.withLock { last -> Bool in
            if let last, now < last &+ Self.warningIntervalNanoseconds { return false }
            last = now
            return true
        }
        if isDue { warn("the audit's second sink: \(lost) records were not taken; they are in the audit file") }
    }

    private static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Bool {
        var rest = bytes
        while !rest.isEmpty {
            let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
        return true
    }

    // MARK: The system's log

    /// RFC 3164 as local daemons take it: facility local0, severity info. One datagram for a record.
    private func send(_ line: UnsafeRawBufferPointer, to path: String) -> Bool {
        var message = Array("<134>cryonet[\(getpid())]: ".utf8)
        message.append(contentsOf: line)
        return socket.withLock { descriptor in
            // Twice: a daemon that was started anew has another socket.
            for _ in 0..<2 {
                if descriptor < 0 { descriptor = Self.connect(to: path) }
                guard descriptor >= 0 else { return false }
                if Glibc.send(descriptor, message, message.count, Int32(MSG_NOSIGNAL)) == message.count { return true }
                Glibc.close(descriptor)
                descriptor = -1
            }
            return false
        }
    }

    private static func connect(to path: String) -> Int32 {
        let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return -1 }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let room = MemoryLayout.size(ofValue: address.sun_path)
        guard path.utf8.count < room else {
            Glibc.close(descriptor)
            return -1
        }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        if result == 0 { return descriptor }
        Glibc.close(descriptor)
        return -1
    }
}
