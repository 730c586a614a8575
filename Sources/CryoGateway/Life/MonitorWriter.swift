// `tracing.events`: what happens inside exchanges as JSON lines in a file or on standard output.
// Domain: cold

import CryoIO
import CryoPipeline
import CryoSync
import Dispatch
import Glibc

/// Reads the ring of events on a queue of its own: a slow disk, or a reader of the output that has stopped, costs events and never
/// traffic. What was lost stands in the file as a line of its own.
final class MonitorWriter: Sendable {
    /// Taken from the ring at once.
    static let batchBytesMax = 262_144
    static let batchRecordsMax = 1_024

    private static let closeTimeout = DispatchTimeInterval.seconds(1)

    let path: String
    private let feed: ExchangeFeed
    private let log: Log
    private let queue = DispatchQueue(label: "cryonet.events")
    private let state: Mutex<State>

    private struct State {
        var descriptor: Int32
        var next: UInt64
        var watcher: RecordRing.Watcher?
        var isFailing = false
    }

    /// `path` `-` is standard output.
    init(path: String, feed: ExchangeFeed, log: Log) throws(GatewayError) {
        self.path = path
        self.feed = feed
        self.log = log
        state = Mutex(State(descriptor: try Self.open(path), next: feed.events.kept.upperBound))
        guard let watcher = feed.events.watch({ [weak self] in self?.wake() }) else {
            throw GatewayError("tracing.events: too many read the events already")
        }
        state.withLock { $0.watcher = watcher }
    }

    private static func open(_ path: String) throws(GatewayError) -> Int32 {
        let descriptor = path == "-" ? dup(1) : Glibc.open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw GatewayError("can't open tracing.events \(path): \(String(cString: strerror(errno)))") }
        return descriptor
    }

    /// Writes what there is and lets go.
    func close() {
        if let watcher = state.withLock({ $0.watcher }) { feed.events.unwatch(watcher) }
        let written = DispatchSemaphore(value: 0)
        queue.async { @Sendable [self] in
            write()
            written.signal()
        }
        // An output that nobody reads any more must not hold up the end; its descriptor stays with the write that hangs in it.
        guard written.wait(timeout: .now() + Self.closeTimeout) == .success else { return }
        state.withLock { state in
            Glibc.close(state.descriptor)
            state.descriptor = -1
            state.watcher = nil
        }
    }

    private func wake() { queue.async { @Sendable [weak self] in self?.write() } }

    /// Only the queue changes the place and the descriptor; the lock is not held while it writes.
    private func write() {
        let (descriptor, watcher) = state.withLock { ($0.descriptor, $0.watcher) }
        guard descriptor >= 0 else { return }
        while true {
            watcher?.rest()
            let page = feed.events.read(
                from: state.withLock { $0.next }, countMax: Self.batchRecordsMax, bytesMax: Self.batchBytesMax)
            var batch: [UInt8] = []
            if page.dropped > 0 {
                feed.eventsDropped.add(page.dropped, ordering: .relaxed)
                batch += Array("{\"event\":\"dropped\",\"count\":\(page.dropped)}\n".utf8)
            }
            for line in page.lines { batch += line + [0x0A] }
            state.withLock { $0.next = page.next }
            if batch.isEmpty { return }
            note(batch.withUnsafeBytes { Self.writeAll(descriptor, $0) }, lines: page.lines.count)
        }
    }

    private static func writeAll(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> SystemError? {
        var rest = bytes
        while !rest.isEmpty {
            let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
            if count < 0, errno == EINTR { continue }
            if count < 0 { return SystemError("write") }
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
        return nil
    }

    /// Told when it begins, not for each batch.
    private func note(_ failure: SystemError?, lines: Int) {
        if failure != nil { feed.eventsDropped.add(UInt64(lines), ordering: .relaxed) }
        let isNews = state.withLock { state in
            defer { state.isFailing = failure != nil }
            return failure != nil && !state.isFailing
        }
        if isNews, let failure { log.warning("tracing.events \(path): \(failure); events are lost, traffic goes on") }
    }
}
