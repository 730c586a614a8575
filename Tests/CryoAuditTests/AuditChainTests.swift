import CryoJSON
import CryoPipeline
import Glibc
import Testing

@testable import CryoAudit

/// Files with a chain, and what a verification says of them.
struct Chained {
    let directory = TemporaryDirectory()
    var settings = AuditSinkSettings()
    var system = AuditSystem()

    var path: String { directory.file("audit.jsonl") }
    var keyPath: String { directory.file("audit.key") }

    func writer(_ warnings: Warnings = Warnings()) throws -> AuditWriter {
        try AuditWriter(path: path, settings: settings, warn: { warnings.add($0) }, system: system)
    }

    /// A process from its start to its end.
    func run(_ numbers: ClosedRange<Int>) throws {
        let writer = try writer()
        for number in numbers { _ = append("{\"v\":1,\"id\":\"id\(number)\",\"n\":\(number)}", to: writer) }
        writer.close()
    }

    var lines: [String] { (directory.read("audit.jsonl") ?? "").split(separator: "\n").map(String.init) }

    func write(_ lines: [String]) { directory.write("audit.jsonl", lines.map { $0 + "\n" }.joined()) }

    func verify(_ demands: AuditVerifier.Demands = AuditVerifier.Demands()) throws -> AuditVerification {
        try AuditVerifier.verify([path], demands)
    }

    var signed: AuditVerifier.Demands {
        get throws {
            var demands = AuditVerifier.Demands()
            demands.key = try CheckpointVerifier(file: keyPath)
            return demands
        }
    }

    /// What somebody writes who knows the format but has no key.
    func forge(_ texts: [String]) throws {
        let hasher = try #require(ChainHasher())
        var chain = AuditChain(after: ChainHead(), hasher: hasher)
        var output = TextBuffer()
        for text in texts {
            let bare = text.range(of: ",\"chain\":").map { text[..<$0.lowerBound] + "}" } ?? text[...]
            Array(bare.utf8).withUnsafeBytes { chain.seal($0, into: &output) }
        }
        directory.write("audit.jsonl", String(decoding: output.bytes, as: UTF8.self))
    }
}

extension String {
    fileprivate func range(of text: String) -> Range<Index>? {
        indices.first { self[$0...].hasPrefix(text) }.map { $0..<index($0, offsetBy: text.count) }
    }

    func replacing(_ text: String, _ other: String) -> String {
        range(of: text).map { self[..<$0.lowerBound] + other + self[$0.upperBound...] } ?? self
    }
}

@Suite struct AuditChainTests {
    private var chained = Chained()

    @Test("records are numbered from the opening on and tied together; the file says that it was closed") func seals() throws {
        try chained.run(1...3)
        let lines = chained.lines
        #expect(lines.count == 5)
        #expect(
            lines[0].hasPrefix("{\"audit\":\"opened\",\"v\":1,\"time\":\"") && lines[0].contains("\"reason\":\"start\",\"previous\":null"))
        #expect(lines[1].hasPrefix("{\"v\":1,\"id\":\"id1\",\"n\":1,\"chain\":{\"seq\":2,\"hash\":\""))
        #expect(lines[4].hasPrefix("{\"audit\":\"closed\"") && lines[4].contains("\"reason\":\"stop\",\"count\":4"))
        let result = try chained.verify()
        #expect(result.isGood && result.isClosed && result.records == 3 && result.controls == 2 && result.head.sequence == 5)
    }

    @Test("the hash of a record is SHA-256 of the hash before and its text, as the command line finds it too") func known() throws {
        let hasher = try #require(ChainHasher())
        var chain = AuditChain(after: ChainHead(), hasher: hasher)
        var output = TextBuffer()
        Array("{\"a\":1}".utf8).withUnsafeBytes { chain.seal($0, into: &output) }
        // head -c 32 /dev/zero | cat - <(printf '%s' '{"a":1,"chain":{"seq":1') | sha256sum
        let hash = "fda43f92928f02fec4c788b5249d64fa4b1430d339fb8c3d59314302649d2732"
        #expect(String(decoding: output.bytes, as: UTF8.self) == "{\"a\":1,\"chain\":{\"seq\":1,\"hash\":\"\(hash)\"}}\n")
    }

    @Test("a new process goes on with the chain it finds") func restarts() throws {
        for start in [1, 4, 7] { try chained.run(start...(start + 2)) }
        let result = try chained.verify()
        #expect(result.isGood && result.records == 9 && result.head.sequence == 15)
        #expect(chained.lines[5].contains("\"previous\":{\"seq\":5,"))
    }

    @Test("half a line of a process that was killed gets an end, and the next record tells of it") func torn() throws {
        try chained.run(1...3)
        let whole = chained.lines
        let half = String(whole[3].dropLast(20))
        chained.directory.write("audit.jsonl", (whole[..<3] + [half]).joined(separator: "\n"))
        #expect(try chained.verify().notes.contains { $0.contains("the last line has no end") })
        try chained.run(4...5)
        #expect(chained.lines[4].contains("\"torn_bytes\":\(half.utf8.count)"))
        let result = try chained.verify()
        #expect(result.isGood && result.records == 4)
        #expect(result.notes.contains { $0.contains("half a line, of a process that was killed") })
    }

    @Test("a line without a chain does not end it") func foreignLine() throws {
        try chained.run(1...2)
        chained.write(chained.lines + ["hello"])
        try chained.run(3...4)
        let result = try chained.verify()
        #expect(result.head.sequence == 8)
        #expect(result.findings.map(\.kind) == [.inserted] && result.findings[0].line == 5)
    }

    @Test("a second writer of the same file is refused") func lock() throws {
        let writer = try chained.writer()
        #expect(throws: AuditError.self) { _ = try chained.writer() }
        writer.close()
        try chained.run(1...1)
    }

    @Test("what a full disk does not take is taken back, counted in a record, and the chain is whole") func fullDisk() throws {
        var chained = chained
        let disk = Disk(room: 700)
        chained.system = disk.system
        let writer = try chained.writer()
        for number in 1...20 { _ = append("{\"id\":\"\(number)\"}", to: writer) }
        writer.flush()
        let written = writer.written
        #expect(written > 0 && written < 20 && writer.dropped == 20 - written)
        disk.makeRoom(100_000)
        _ = append("{\"id\":\"21\"}", to: writer)
        writer.close()
        let result = try chained.verify()
        #expect(result.isGood && result.records == written + 1)
        #expect(chained.lines.contains { $0.hasPrefix("{\"audit\":\"lost\"") && $0.contains("\"records\":\(20 - written),") })
        #expect(result.notes.contains { $0.contains("\(20 - written) exchanges before have no record") })
    }

    @Test("checkpoints are signed with the key of the file, made 0600, every so many records and at the end") func signs() throws {
        var chained = chained
        chained.settings.chain.keyFile = chained.keyPath
        chained.settings.chain.checkpointRecords = 2
        let writer = try chained.writer()
        for number in 1...6 {
            _ = append("{\"id\":\"\(number)\"}", to: writer)
            writer.flush()
        }
        writer.close()
        #expect(chained.directory.mode("audit.key") == 0o600)
        #expect(chained.lines.filter { $0.hasPrefix("{\"audit\":\"checkpoint\"") }.count == 3)
        let result = try chained.verify(try chained.signed)
        #expect(result.isGood && result.goodSignatures == 4 && result.signedUpTo == 10)
        // With the key the file names, and with another one.
        #expect(try chained.verify().goodSignatures == 4)
        var other = AuditVerifier.Demands()
        other.key = CheckpointVerifier(publicKey: try CheckpointKey.open(chained.directory.file("other.key")).publicKey)
        #expect(try chained.verify(other).findings.map(\.kind) == [.forged, .forged, .forged, .forged, .unsigned])
    }

    @Test("a checkpoint comes also by time, without another record") func checkpointByTime() throws {
        var chained = chained
        let clock = Clockwork()
        chained.system.monotonic = { clock.now }
        chained.settings.chain.keyFile = chained.keyPath
        let output = AuditOutputBox(try AuditOutput(path: chained.path, settings: chained.settings, system: chained.system, warn: { _ in }))
        output.write("{\"id\":\"1\"}\n")
        output.tick()
        #expect(chained.lines.count == 2 && output.awaitsTick)
        clock.advance(seconds: 60)
        output.tick()
        #expect(chained.lines.count == 3 && !output.awaitsTick)
    }

    @Test("a child that is being started does not keep the file locked") func inheritedDescriptor() throws {
        let writer = try chained.writer()
        var file = stat()
        try #require(stat(chained.path, &file) == 0)
        // What a fork leaves to the child until it runs something: the same open file.
        let inherited = (3..<1024).filter { descriptor in
            var other = stat()
            return fstat(descriptor, &other) == 0 && other.st_dev == file.st_dev && other.st_ino == file.st_ino
        }.map { dup($0) }
        defer { for descriptor in inherited { close(descriptor) } }
        try #require(!inherited.isEmpty)
        writer.close()
        try chained.writer().close()
    }

    @Test("a key file that holds something else is told at the start") func unusableKey() {
        var chained = chained
        chained.settings.chain.keyFile = chained.keyPath
        chained.directory.write("audit.key", "-----BEGIN NOTHING-----\n")
        #expect(throws: AuditError.self) { _ = try chained.writer() }
    }
}

/// Holds an output that can't be copied for a test.
final class AuditOutputBox {
    private var output: AuditOutput

    init(_ output: consuming AuditOutput) { self.output = output }

    func write(_ text: String) {
        let lines = text.utf8.count { $0 == 0x0A }
        _ = Array(text.utf8).withUnsafeBytes { output.write($0, lines: lines, lost: 0) }
    }

    func tick() { output.tick() }
    func end() { output.end() }
    func waitForSweep() { output.waitForSweep() }
    var awaitsTick: Bool { output.awaitsTick }
}
