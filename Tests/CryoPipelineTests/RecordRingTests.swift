// The ring of recent records: what it keeps, what it gives up, and what readers of every speed are told.
// Domain: cold

import CryoSync
import Testing

@testable import CryoPipeline

@Suite("The ring of recent records")
struct RecordRingTests {
    private func append(_ ring: RecordRing, _ text: String, id: String = "") {
        Array(text.utf8).withUnsafeBytes { ring.append($0, id: Array(id.utf8)) }
    }

    private func texts(_ page: RecordRing.Page) -> [String] { page.lines.map { String(decoding: $0, as: UTF8.self) } }

    private func all(_ ring: RecordRing) -> [String] { texts(ring.read(from: 0, countMax: .max, bytesMax: .max)) }

    @Test("keeps as many records as it may, and the newest ones")
    func count() {
        let ring = RecordRing(countMax: 3, bytesMax: 1_000)
        #expect(all(ring) == [] && ring.kept == 0..<0)
        for index in 0..<3 { append(ring, "r\(index)") }
        #expect(all(ring) == ["r0", "r1", "r2"])
        append(ring, "r3")
        #expect(all(ring) == ["r1", "r2", "r3"] && ring.kept == 1..<4)
    }

    @Test("keeps no more bytes than it may, whatever the lengths, and never a damaged record")
    func bytes() {
        let ring = RecordRing(countMax: 100, bytesMax: 80)
        var written: [String] = []
        var seed: UInt64 = 7
        for index in 0..<2_000 {
            seed = seed &* 6_364_136_223_846_793_005 &+ 1
            let text = String(repeating: Character(UnicodeScalar(UInt8(0x61 + index % 26))), count: 1 + Int(seed >> 60) % 10)
            append(ring, text)
            written.append(text)
            let kept = all(ring)
            #expect(kept == Array(written.suffix(kept.count)), "after \(index + 1)")
            #expect(kept.joined().utf8.count <= 80)
            // What does not fit before the end of the memory goes to its beginning: less than one record is wasted.
            if index > 100 { #expect(kept.joined().utf8.count >= 80 - 2 * 10) }
        }
    }

    @Test("a record longer than an eighth of the memory is left out and counted")
    func tooLarge() {
        let ring = RecordRing(countMax: 10, bytesMax: 80)
        append(ring, String(repeating: "a", count: 10))
        append(ring, String(repeating: "b", count: 11))
        #expect(ring.kept == 0..<1 && ring.skipped == 1)
        append(ring, "")
        #expect(ring.kept == 0..<1 && ring.skipped == 1)
    }

    @Test("a reader gets bounded pages without a gap, and hears how many records it has missed")
    func pages() {
        let ring = RecordRing(countMax: 4, bytesMax: 1_000)
        for index in 0..<4 { append(ring, "record\(index)") }
        let first = ring.read(from: 0, countMax: 2, bytesMax: 1_000)
        #expect(texts(first) == ["record0", "record1"] && first.next == 2 && first.dropped == 0)
        let short = ring.read(from: 2, countMax: 10, bytesMax: 1)
        #expect(texts(short) == ["record2"] && short.next == 3)
        for index in 4..<9 { append(ring, "record\(index)") }
        let late = ring.read(from: first.next, countMax: 10, bytesMax: 1_000)
        #expect(texts(late) == ["record5", "record6", "record7", "record8"] && late.dropped == 3 && late.next == 9)
        let ahead = ring.read(from: 99, countMax: 10, bytesMax: 1_000)
        #expect(ahead.lines.isEmpty && ahead.next == 9 && ahead.dropped == 0)
    }

    @Test("a record is found by its name while it is kept")
    func names() {
        let ring = RecordRing(countMax: 2, bytesMax: 1_000)
        for name in ["a", "b", "c"] { append(ring, "record \(name)", id: name) }
        #expect(ring.find(id: Array("a".utf8)) == nil)
        #expect(ring.find(id: Array("c".utf8)).map { $0.line } == Array("record c".utf8))
        #expect(ring.find(id: Array("b".utf8))?.sequence == 1)
    }

    @Test("a watcher is woken once for all that comes until it looks, and not after it has gone")
    func watching() throws {
        let ring = RecordRing(countMax: 10, bytesMax: 1_000)
        let count = Counter()
        #expect(!ring.isWatched)
        let watcher = try #require(ring.watch { count.value.add(1, ordering: .relaxed) })
        #expect(ring.isWatched)
        append(ring, "1")
        append(ring, "2")
        #expect(count.now == 1)
        watcher.rest()
        append(ring, "3")
        #expect(count.now == 2)
        watcher.rest()
        ring.unwatch(watcher)
        append(ring, "4")
        #expect(count.now == 2 && !ring.isWatched)
    }

    @Test("there are so many watchers and no more")
    func watchersMax() {
        let ring = RecordRing(countMax: 1, bytesMax: 8)
        let watchers = (0..<RecordRing.watchersMax).compactMap { _ in ring.watch {} }
        #expect(watchers.count == RecordRing.watchersMax && ring.watch {} == nil)
        ring.unwatch(watchers[0])
        #expect(ring.watch {} != nil)
    }

    @Test("a closed ring takes nothing more, gives what it has and wakes whoever waits")
    func closing() throws {
        let ring = RecordRing(countMax: 10, bytesMax: 1_000)
        let count = Counter()
        _ = try #require(ring.watch { count.value.add(1, ordering: .relaxed) })
        ring.close()
        append(ring, "late")
        let page = ring.read(from: 0, countMax: 10, bytesMax: 10)
        #expect(count.now == 1 && page.lines.isEmpty && page.isClosed)
    }

    private final class Counter: Sendable {
        let value = Atomic<Int>(0)
        var now: Int { value.load(ordering: .relaxed) }
    }
}
