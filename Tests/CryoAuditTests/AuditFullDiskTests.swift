import CryoIO
import CryoPipeline
import CryoSync
import Glibc
import Testing

@testable import CryoAudit

@Suite struct AuditFullDiskTests {
    private let directory = TemporaryDirectory()
    private var path: String { directory.file("audit.jsonl") }

    @Test("on a full device lines are dropped and counted, with one warning a minute") func fullDevice() throws {
        let warnings = Warnings()
        let clock = Clockwork()
        let writer = try AuditWriter(
            path: "/dev/full", warn: { warnings.add($0) }, system: AuditSystem(), monotonic: { clock.now })
        for _ in 0..<10 {
            #expect(append("{}", to: writer) == .written)
            writer.flush()
        }
        #expect(writer.written == 0 && writer.dropped == 10)
        #expect(warnings.all.count == 1)
        #expect(warnings.all.first?.contains("no space left on device; 1 lines dropped") == true)
        clock.advance(seconds: 60)
        _ = append("{}", to: writer)
        writer.flush()
        #expect(warnings.all.count == 2)
        #expect(warnings.all.last?.contains("10 lines dropped, 11 in all") == true)
        _ = append("{}", to: writer)
        writer.close()
        #expect(warnings.all.last?.contains("1 more lines were dropped, 12 in all") == true)
    }

    @Test("a line that fits only in part is taken back, and the next one is whole") func partialLine() throws {
        let disk = Disk(room: 12)
        let writer = try AuditWriter(path: path, warn: { _ in }, system: disk.system, monotonic: { 0 })
        for number in 1...3 { _ = append("{\"n\":\(number)}", to: writer) }
        writer.flush()
        #expect(directory.read("audit.jsonl") == "{\"n\":1}\n")
        #expect(writer.written == 1 && writer.dropped == 2)
        disk.makeRoom(1000)
        _ = append("{\"n\":4}", to: writer)
        writer.close()
        #expect(directory.read("audit.jsonl") == "{\"n\":1}\n{\"n\":4}\n")
    }

    @Test("where it can't be taken back, the next line begins on its own line") func tornLine() throws {
        let disk = Disk(room: 12, canTruncate: false)
        let writer = try AuditWriter(path: path, warn: { _ in }, system: disk.system, monotonic: { 0 })
        for number in 1...3 { _ = append("{\"n\":\(number)}", to: writer) }
        writer.flush()
        _ = append("{\"n\":4}", to: writer)
        writer.flush()
        disk.makeRoom(1000)
        _ = append("{\"n\":5}", to: writer)
        writer.close()
        #expect(directory.read("audit.jsonl") == "{\"n\":1}\n{\"n\"\n{\"n\":5}\n")
        #expect(writer.written == 2 && writer.dropped == 3)
    }

    @Test("a file that ends in half a line goes on with a line of its own") func tornAtStart() throws {
        directory.write("audit.jsonl", "{\"n\":1}\n{\"n\":")
        let writer = try AuditWriter(path: path, warn: { _ in })
        _ = append("{\"n\":2}", to: writer)
        writer.close()
        #expect(directory.read("audit.jsonl") == "{\"n\":1}\n{\"n\":\n{\"n\":2}\n")
        var reader = try AuditReader(path: path)
        #expect(try reader.line() == .record(Array("{\"n\":1}".utf8)))
        #expect(try reader.line() == .torn(Array("{\"n\":".utf8)))
        #expect(try reader.line() == .record(Array("{\"n\":2}".utf8)))
        #expect(try reader.line() == nil)
    }

    @Test("4 MiB may wait for a disk that hangs; one byte more is dropped, and nothing waits for it") func bound() throws {
        let gate = Gate()
        var system = AuditSystem()
        let real = system.write
        system.write = { descriptor, bytes in
            gate.pass()
            return real(descriptor, bytes)
        }
        let warnings = Warnings()
        let writer = try AuditWriter(path: path, warn: { warnings.add($0) }, system: system, monotonic: { 0 })
        _ = append("{}", to: writer)
        gate.waitUntilReached()
        let line = String(repeating: "x", count: 65_535)
        for _ in 0..<64 { #expect(append(line, to: writer) == .written) }
        #expect(append("", to: writer) == .dropped)
        #expect(append("{}", to: writer) == .dropped)
        gate.open()
        writer.flush()
        #expect(append("{}", to: writer) == .written)
        writer.close()
        #expect(writer.written == 66 && writer.dropped == 2)
        #expect(warnings.all.count == 1)
        #expect(warnings.all.first?.contains("2 lines dropped") == true)
    }
}
