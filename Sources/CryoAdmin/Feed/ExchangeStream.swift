// /api/exchanges/stream: each finished exchange as a server-sent event, and on request what happens inside the running ones.
// Domain: cold

import CryoPipeline
import CryoSync

/// Reads the rings at its own pace; what it comes too late for is counted and told.
// SAFETY: everything that changes is touched on the admin queue only, where all calls come.
final class ExchangeStream: AdminStream, @unchecked Sendable {
    /// Records looked at, and bytes taken, for one piece.
    static let pieceRecordsMax = 256
    static let pieceBytesMax = 65_536
    /// Looks without a match before the queue serves somebody else.
    static let roundsMax = 16

    let heartbeat = ServerSentEvent.heartbeat
    private let feed: ExchangeFeed
    private let run: String
    private let isWanted: @Sendable ([UInt8]) -> Bool
    private let ended: @Sendable () -> Void
    private var exchanges: Cursor
    private var events: Cursor?
    private var wake: (@Sendable () -> Void)?
    private var isGreeted = false

    /// A place in one ring.
    private struct Cursor {
        var next: UInt64
        var watcher: RecordRing.Watcher?
    }

    /// `run` tells this process's numbers from those of another run; `lastEventID` is where the client had got to.
    init(
        _ feed: ExchangeFeed, run: String, lastEventID: String?, includesEvents: Bool, isWanted: @escaping @Sendable ([UInt8]) -> Bool,
        ended: @escaping @Sendable () -> Void
    ) {
        self.feed = feed
        self.run = run
        self.isWanted = isWanted
        self.ended = ended
        let end = feed.exchanges.kept.upperBound
        exchanges = Cursor(next: Self.place(lastEventID, run: run).map { min($0, end) } ?? end)
        if includesEvents { events = Cursor(next: feed.events.kept.upperBound) }
    }

    /// The record after the one named; nil for a name of another run.
    private static func place(_ id: String?, run: String) -> UInt64? {
        let parts = id?.split(separator: ".") ?? []
        guard parts.count == 2, parts[0] == run, let number = UInt64(parts[1]), number < .max else { return nil }
        return number + 1
    }

    func begin(wake: @escaping @Sendable () -> Void) {
        self.wake = wake
        exchanges.watcher = feed.exchanges.watch(wake)
        if events != nil {
            // From here on the exchanges tell.
            events?.watcher = feed.events.watch(wake)
            events?.next = feed.events.kept.upperBound
        }
    }

    func end() {
        if let watcher = exchanges.watcher { feed.exchanges.unwatch(watcher) }
        if let watcher = events?.watcher { feed.events.unwatch(watcher) }
        wake = nil
        ended()
    }

    func next() -> AdminStreamStep {
        exchanges.watcher?.rest()
        events?.watcher?.rest()
        var bytes: [UInt8] = []
        if !isGreeted {
            isGreeted = true
            bytes.append(contentsOf: "retry: 2000\n\n".utf8)
        }
        var isBehind = true
        var isClosed = false
        var rounds = 0
        while isBehind, bytes.isEmpty, rounds < Self.roundsMax {
            rounds += 1
            let told = appendEvents(to: &bytes)
            let shown = appendExchanges(to: &bytes)
            isBehind = told.isBehind || shown.isBehind
            isClosed = shown.isClosed
        }
        if !bytes.isEmpty { return .bytes(bytes) }
        if isClosed, !isBehind { return .end }
        // What was looked at matched nothing, and there is more.
        if isBehind { wake?() }
        return .nothing
    }

    private func appendExchanges(to bytes: inout [UInt8]) -> (isBehind: Bool, isClosed: Bool) {
        let page = feed.exchanges.read(from: exchanges.next, countMax: Self.pieceRecordsMax, bytesMax: Self.pieceBytesMax)
        appendDropped(page.dropped, of: "exchange", feed.exchangesDropped, to: &bytes)
        for (index, line) in page.lines.enumerated() where isWanted(line) {
            ServerSentEvent.append("exchange", id: Array("\(run).\(page.first + UInt64(index))".utf8), data: line, to: &bytes)
        }
        exchanges.next = page.next
        return (!page.lines.isEmpty, page.isClosed)
    }

    private func appendEvents(to bytes: inout [UInt8]) -> (isBehind: Bool, isClosed: Bool) {
        guard let cursor = events else { return (false, false) }
        let page = feed.events.read(from: cursor.next, countMax: Self.pieceRecordsMax, bytesMax: Self.pieceBytesMax)
        appendDropped(page.dropped, of: "monitor", feed.eventsDropped, to: &bytes)
        for line in page.lines { ServerSentEvent.append("monitor", data: line, to: &bytes) }
        events?.next = page.next
        return (!page.lines.isEmpty, page.isClosed)
    }

    private func appendDropped(_ count: UInt64, of event: String, _ total: borrowing Atomic<UInt64>, to bytes: inout [UInt8]) {
        guard count > 0 else { return }
        total.add(count, ordering: .relaxed)
        ServerSentEvent.append("dropped", data: Array(#"{"count":\#(count),"of":"\#(event)"}"#.utf8), to: &bytes)
    }
}
