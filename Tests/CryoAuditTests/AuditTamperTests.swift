import CryoJSON
import CryoPipeline
import Testing

@testable import CryoAudit

/// Ten records between an opening (line 1) and a closing (line 12): the record of exchange n is line n + 1 and number n + 1.
@Suite struct AuditTamperTests {
    private let chained = Chained()
    private let original: [String]

    init() throws {
        try chained.run(1...10)
        original = chained.lines
        try #require(original.count == 12)
    }

    private func findings(_ lines: [String], _ demands: AuditVerifier.Demands = AuditVerifier.Demands()) throws -> [AuditFinding] {
        chained.write(lines)
        return try chained.verify(demands).findings
    }

    private func expect(
        _ findings: [AuditFinding], _ kind: AuditFinding.Kind, line: UInt64, _ sequences: ClosedRange<UInt64>?, id: String?,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(findings.count == 1, sourceLocation: sourceLocation)
        guard let finding = findings.first else { return }
        #expect(finding.kind == kind && finding.line == line && finding.file == chained.path, sourceLocation: sourceLocation)
        #expect(finding.sequences == sequences && finding.id == id, sourceLocation: sourceLocation)
    }

    @Test("nothing is found where nothing was changed") func untouched() throws { #expect(try findings(original).isEmpty) }

    @Test("a changed text is named") func edited() throws {
        var lines = original
        lines[4] = lines[4].replacing("\"n\":4", "\"n\":5")
        expect(try findings(lines), .edited, line: 5, 5...5, id: "id4")
    }

    @Test("a changed text with a hash made to fit is found at the next record") func editedAndRehashed() throws {
        var lines = original
        let hasher = try #require(ChainHasher())
        let before = try #require(Array(lines[3].utf8).withUnsafeBytes { ChainLine($0) })
        var chain = AuditChain(after: before.head, hasher: hasher)
        var output = TextBuffer()
        Array("{\"v\":1,\"id\":\"id4\",\"n\":5}".utf8).withUnsafeBytes { chain.seal($0, into: &output) }
        lines[4] = String(decoding: output.bytes.dropLast(), as: UTF8.self)
        expect(try findings(lines), .edited, line: 6, 6...6, id: "id5")
    }

    @Test("a record whose chain was taken off is named") func unchained() throws {
        var lines = original
        lines[4] = "{\"v\":1,\"id\":\"id4\",\"n\":4}"
        expect(try findings(lines), .edited, line: 5, 5...5, id: "id4")
    }

    @Test("removed records are named by their numbers") func removed() throws {
        expect(try findings(original[..<4] + original[6...] + []), .removed, line: 5, 5...6, id: nil)
    }

    @Test("a line, a copy of a record and a forged record are found where they were put in") func inserted() throws {
        expect(try findings(original[..<4] + ["{\"id\":\"x\"}"] + original[4...]), .inserted, line: 5, nil, id: "x")
        expect(try findings(original[..<6] + [original[2]] + original[6...]), .inserted, line: 7, 3...3, id: "id2")
        let before = try #require(Array(original[3].utf8).withUnsafeBytes { ChainLine($0) })
        var chain = AuditChain(after: before.head, hasher: try #require(ChainHasher()))
        var output = TextBuffer()
        Array("{\"v\":1,\"id\":\"forged\"}".utf8).withUnsafeBytes { chain.seal($0, into: &output) }
        let forged = String(decoding: output.bytes.dropLast(), as: UTF8.self)
        expect(try findings(original[..<4] + [forged] + original[4...]), .inserted, line: 5, 5...5, id: "forged")
    }

    @Test("of two records that changed places the one behind is named") func reordered() throws {
        var lines = original
        lines.swapAt(4, 5)
        expect(try findings(lines), .reordered, line: 6, 5...5, id: "id4")
        lines = original
        lines.insert(lines.remove(at: 2), at: 8)
        expect(try findings(lines), .reordered, line: 9, 3...3, id: "id2")
    }

    @Test("a cut-off end is found by the missing closing, by a known head, and by the file that follows") func truncated() throws {
        var demands = AuditVerifier.Demands()
        #expect(try findings(Array(original[..<9])).isEmpty)
        demands.mustBeClosed = true
        expect(try findings(Array(original[..<9]), demands), .truncated, line: 9, nil, id: "id8")
        demands.mustBeClosed = false
        demands.head = Array(original[11].utf8).withUnsafeBytes { ChainLine($0)?.head }
        expect(try findings(Array(original[..<9]), demands), .truncated, line: 9, 10...12, id: "id8")
        #expect(try findings(original, demands).isEmpty)
        try chained.run(11...12)
        let later = chained.lines[12...]
        expect(try findings(Array(original[..<9]) + later), .truncated, line: 9, 10...12, id: nil)
    }

    @Test("a file without its beginning is named") func beheaded() throws {
        expect(try findings(Array(original[3...])), .beheaded, line: 1, 1...3, id: "id3")
    }

    @Test("a chain that begins anew in the middle is told") func restarted() throws {
        try chained.forge(["{\"audit\":\"opened\",\"previous\":null}", "{\"id\":\"y\"}"])
        expect(try findings(original + chained.lines), .restarted, line: 13, 1...1, id: nil)
    }

    @Test("a file without a chain is not good") func plain() throws {
        #expect(try findings(["{\"id\":\"1\"}", "{\"id\":\"2\"}"]).map(\.kind) == [.unchained])
        #expect(try findings([]).map(\.kind) == [.unchained])
    }

    @Test("everything written anew without the key is found by the signatures, or by their absence") func rewritten() throws {
        var signed = Chained()
        signed.settings.chain.keyFile = signed.keyPath
        try signed.run(1...10)
        let lines = signed.lines
        #expect(try signed.verify(signed.signed).isGood)
        try signed.forge(lines.map { $0.replacing("\"n\":4", "\"n\":5") })
        #expect(try signed.verify(signed.signed).findings.first?.kind == .forged)
        // Without the key, a head that was noted is enough.
        var demands = AuditVerifier.Demands()
        demands.head = Array(lines[6].utf8).withUnsafeBytes { ChainLine($0)?.head }
        try signed.forge(lines.filter { !$0.contains("closed") }.map { $0.replacing("\"n\":4", "\"n\":5") })
        #expect(try signed.verify(signed.signed).findings.map(\.kind) == [.unsigned])
        #expect(try signed.verify(demands).findings.map(\.kind) == [.forged])
    }

    @Test("hostile lines are findings, never a crash") func noise() throws {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<200 {
            var bytes = Array(original.joined(separator: "\n").utf8)
            for _ in 0..<5 { bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 1...255, using: &random) }
            chained.directory.write("audit.jsonl", String(decoding: bytes, as: UTF8.self))
            _ = try chained.verify()
        }
    }
}
