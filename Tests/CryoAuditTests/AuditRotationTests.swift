import CCoding
import CryoPipeline
import CryoSync
import Glibc
import Testing

@testable import CryoAudit

/// A wall clock in microseconds that a test sets.
final class WallClock: Sendable {
    private let microseconds = Atomic<Int64>(0)

    init(_ seconds: Int64) { set(seconds) }

    func set(_ seconds: Int64) { microseconds.store(seconds * 1_000_000, ordering: .relaxed) }

    var now: Int64 { microseconds.load(ordering: .relaxed) }
}

@Suite struct AuditRotationTests {
    private var chained = Chained()
    /// 2026-11-30T07:00:00Z
    private let clock = WallClock(1_796_022_000)

    init() {
        chained.settings.rotation.isCompressed = false
        let clock = clock
        chained.system.unixMicroseconds = { clock.now }
        chained.system.modifiedUnixSeconds = { _ in nil }
    }

    private func box() throws -> AuditOutputBox {
        AuditOutputBox(try AuditOutput(path: chained.path, settings: chained.settings, system: chained.system, warn: { _ in }))
    }

    private var rotated: [String] { chained.directory.names.filter { $0.hasPrefix("audit-") } }

    private func verifyAll() throws -> AuditVerification {
        try AuditVerifier.verify(AuditVerifier.family(of: chained.path).reversed(), AuditVerifier.Demands())
    }

    @Test("a file that would grow too long is renamed by the time, and the chain goes on in the next") mutating func bySize() throws {
        chained.settings.rotation.fileBytes = 900
        let output = try box()
        for number in 1...12 {
            output.write("{\"id\":\"\(number)\",\"text\":\"\(String(repeating: "x", count: 100))\"}\n")
            clock.set(1_796_022_000 + Int64(number))
        }
        output.end()
        output.waitForSweep()
        #expect(rotated.count >= 3)
        #expect(rotated.allSatisfy { $0.hasPrefix("audit-2026-11-30T07-00-") && $0.hasSuffix(".000.jsonl") })
        #expect(rotated.allSatisfy { (chained.directory.read($0) ?? "").contains("\"reason\":\"rotation\",\"count\"") })
        #expect(chained.lines[0].contains("\"reason\":\"rotation\",\"previous\":{\"seq\":"))
        #expect(chained.directory.mode("audit.jsonl") == 0o600)
        let result = try verifyAll()
        #expect(result.isGood && result.records == 12 && result.isClosed)
        // A file alone is good as well, and says what is not there.
        let alone = try chained.verify()
        #expect(alone.isGood && alone.notes.contains { $0.contains("are in files not given") })
        // Without the one in the middle the gap is named.
        let paths = AuditVerifier.family(of: chained.path)
        let gap = try AuditVerifier.verify([paths[0], paths[2]], AuditVerifier.Demands())
        #expect(gap.findings.map(\.kind) == [.truncated])
    }

    @Test("by count, and by hours and days of UTC") mutating func byCountAndTime() throws {
        chained.settings.rotation.fileRecords = 2
        var output: AuditOutputBox? = try box()
        for number in 1...5 { output?.write("{\"id\":\"\(number)\"}\n") }
        output?.end()
        output = nil
        // Within one millisecond, and yet in order.
        #expect(rotated == ["audit-2026-11-30T07-00-00.000.jsonl", "audit-2026-11-30T07-00-00.001.jsonl"])
        chained.settings.rotation.fileRecords = 0
        chained.settings.rotation.every = .day
        output = try box()
        output?.write("{\"id\":\"6\"}\n")
        clock.set(1_796_022_000 + 61_199)
        output?.write("{\"id\":\"7\"}\n")
        #expect(rotated.count == 2)
        clock.set(1_796_022_000 + 61_200)
        output?.write("{\"id\":\"8\"}\n")
        #expect(rotated.count == 3)
        output?.end()
        output = nil
        // What an earlier process wrote the day before is complete as well.
        let before = clock.now / 1_000_000 - 86_400
        chained.system.modifiedUnixSeconds = { _ in before }
        output = try box()
        output?.write("{\"id\":\"9\"}\n")
        #expect(rotated.count == 4)
        output?.end()
        #expect(try verifyAll().isGood)
    }

    @Test("a clock that jumps back changes neither the order of names nor the chain") mutating func clockJumpsBack() throws {
        chained.settings.rotation.fileRecords = 1
        chained.settings.rotation.every = .hour
        let output = try box()
        for number in 1...6 {
            clock.set(1_796_022_000 - Int64(number) * 10_000)
            output.write("{\"id\":\"\(number)\"}\n")
        }
        output.end()
        #expect(rotated.count == 5 && rotated == rotated.sorted())
        let texts = rotated.map { chained.directory.read($0) ?? "" }
        for (index, text) in texts.enumerated() { #expect(text.contains("\"id\":\"\(index + 1)\"")) }
        #expect(try verifyAll().isGood)
    }

    @Test("rotated files are compressed, only so many and so old ones are kept") mutating func keeps() throws {
        chained.settings.rotation.fileRecords = 1
        chained.settings.rotation.keepFiles = 3
        chained.settings.rotation.isCompressed = true
        chained.directory.write("audit-2026-01-01T00-00-00.000.jsonl.gz.new", "half")
        chained.directory.write("audit-2020-01-01T00-00-00.000.jsonl", "old")
        chained.directory.write("audit-other.jsonl", "not ours")
        chained.directory.write("audit-2020-01-01T00-00-00.000.log", "not ours")
        let output = try box()
        for number in 1...6 {
            clock.set(1_796_022_000 + Int64(number))
            output.write("{\"id\":\"\(number)\"}\n")
            output.waitForSweep()
        }
        output.end()
        output.waitForSweep()
        #expect(
            rotated == [
                "audit-2020-01-01T00-00-00.000.log", "audit-2026-11-30T07-00-04.000.jsonl.gz", "audit-2026-11-30T07-00-05.000.jsonl.gz",
                "audit-2026-11-30T07-00-06.000.jsonl.gz", "audit-other.jsonl",
            ])
        #expect(chained.directory.mode("audit-2026-11-30T07-00-04.000.jsonl.gz") == 0o600)
        let result = try verifyAll()
        #expect(result.isGood && result.records == 4)
        // An end between the compression and the removal of what was compressed.
        chained.directory.write("audit-2026-11-30T07-00-04.000.jsonl", "the same, uncompressed")
        #expect(try verifyAll().isGood)
        unlink(chained.directory.file("audit-2026-11-30T07-00-04.000.jsonl"))
        // The head is found in a compressed file when the live one is gone.
        unlink(chained.path)
        let again = try box()
        again.write("{\"id\":\"7\"}\n")
        again.end()
        let later = try verifyAll()
        #expect(later.findings.map(\.kind) == [])
        #expect(later.records == 4)
    }

    @Test("what is compressed in several pieces is read again byte for byte", arguments: [0, 1, 262_143, 262_144, 262_145, 3_000_000])
    func compressed(count: Int) throws {
        let directory = chained.directory
        var text: [UInt8] = []
        text.reserveCapacity(count + 128)
        // Half of it alike, half of it by chance, as records are.
        while text.count < count { text += Array("{\"id\":\"\(UInt64.random(in: 0 ... .max))\",\"status\":200,\"reason\":null}\n".utf8) }
        text.removeLast(text.count - count)
        let plain = open(directory.file("plain"), O_RDWR | O_CREAT, 0o600)
        let target = open(directory.file("plain.gz"), O_RDWR | O_CREAT, 0o600)
        #expect(write(plain, text, count) == count && lseek(plain, 0, SEEK_SET) == 0)
        try GzipFile.copy(plain, compressedTo: target)
        close(plain)
        close(target)
        let file = try #require(gzopen(directory.file("plain.gz"), "rb"))
        var read = [UInt8](repeating: 0, count: count + 1)
        #expect(gzdirect(file) == 0 && gzread(file, &read, UInt32(count + 1)) == Int32(count) && gzclose(file) == Z_OK)
        #expect(read.dropLast() == text[...])
    }

    @Test("where the directory takes no new name the file goes on, and it is said") mutating func readOnlyDirectory() throws {
        chained.settings.rotation.fileRecords = 1
        let target = chained.directory.file("gone")
        mkdir(target, 0o700)
        let path = "\(target)/audit.jsonl"
        let warnings = Warnings()
        let writer = try AuditWriter(path: path, settings: chained.settings, warn: { warnings.add($0) }, system: chained.system)
        // As if nothing could be renamed there any more.
        rename(target, chained.directory.file("moved"))
        for number in 1...3 {
            _ = append("{\"id\":\"\(number)\"}", to: writer)
            writer.flush()
        }
        writer.close()
        let moved = chained.directory.read("moved/audit.jsonl") ?? ""
        #expect(moved.split(separator: "\n").filter { $0.contains("\"id\"") }.count == 3)
        #expect(writer.written == 3 && writer.dropped == 0)
        #expect(warnings.all.count == 1)
        unlink(chained.directory.file("moved/audit.jsonl"))
        rmdir(chained.directory.file("moved"))
    }

    @Test("a file removed underneath is followed by one that names the head of what is gone") mutating func removedUnderneath() throws {
        let monotonic = Clockwork()
        chained.system.monotonic = { monotonic.now }
        let output = try box()
        output.write("{\"id\":\"1\"}\n")
        unlink(chained.path)
        monotonic.advance(seconds: 1)
        output.write("{\"id\":\"2\"}\n")
        output.end()
        #expect(chained.lines[0].contains("\"reason\":\"reopen\",\"previous\":{\"seq\":3"))
        let result = try chained.verify()
        #expect(result.isGood && result.records == 1)
    }

    @Test("other settings take over in the same file") mutating func replaces() throws {
        let writer = try chained.writer()
        _ = append("{\"id\":\"1\"}", to: writer)
        chained.settings.chain.keyFile = chained.keyPath
        try writer.replaceSettings(chained.settings)
        _ = append("{\"id\":\"2\"}", to: writer)
        writer.close()
        let result = try chained.verify(chained.signed)
        #expect(result.isGood && result.records == 2 && result.goodSignatures == 1)
    }

    @Test("below the low-water mark records are dropped and told as if the disk were full") mutating func lowSpace() throws {
        let free = Atomic<UInt64>(2000)
        let monotonic = Clockwork()
        chained.settings.freeBytesMin = 1000
        chained.system.freeBytes = { _ in free.load(ordering: .relaxed) }
        chained.system.monotonic = { monotonic.now }
        let warnings = Warnings()
        let writer = try chained.writer(warnings)
        let steps: [(room: UInt64, written: UInt64)] = [(2000, 1), (999, 1), (999, 1), (1000, 2)]
        for step in steps {
            free.store(step.room, ordering: .relaxed)
            monotonic.advance(seconds: 1)
            _ = append("{\"id\":\"x\"}", to: writer)
            writer.flush()
            #expect(writer.written == step.written)
        }
        #expect(!warnings.all.isEmpty && warnings.all[0].contains("no space left on device"))
        writer.close()
        let result = try chained.verify()
        #expect(result.isGood && result.notes.contains { $0.contains("2 exchanges before have no record") })
    }

    @Test("each policy of syncing does what it says") mutating func syncs() throws {
        let monotonic = Clockwork()
        let count = Atomic<Int>(0)
        chained.system.monotonic = { monotonic.now }
        chained.system.sync = { _ in
            count.add(1, ordering: .relaxed)
            return 0
        }
        for (policy, expected) in [(AuditSinkSettings.Sync.never, 0), (.interval, 2), (.always, 4)] {
            chained.settings.sync = policy
            count.store(0, ordering: .relaxed)
            let output = try box()
            for _ in 0..<3 { output.write("{\"id\":\"1\"}\n") }
            if policy == .interval {
                #expect(output.awaitsTick)
                monotonic.advance(seconds: 1)
                output.tick()
                #expect(!output.awaitsTick)
            }
            output.end()
            #expect(count.load(ordering: .relaxed) == expected)
        }
    }
}
