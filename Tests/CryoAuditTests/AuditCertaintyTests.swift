import CryoPipeline
import CryoSync
import Dispatch
import Glibc
import Testing

@testable import CryoAudit

/// What is promised to those who may lose no record.
@Suite struct AuditCertaintyTests {
    private var chained = Chained()

    /// What the writer says of a line it took. nil: it took it not, or says nothing.
    private func confirmation(of line: String, _ writer: AuditWriter) -> Bool? {
        let answer = Mutex<Bool?>(nil)
        let done = DispatchSemaphore(value: 0)
        let outcome = append(line, to: writer) { isWritten in
            answer.withLock { $0 = isWritten }
            done.signal()
        }
        guard outcome == .written else { return nil }
        _ = done.wait(timeout: .now() + .seconds(10))
        return answer.withLock { $0 }
    }

    @Test("a record is confirmed when it is in the file, at once") func confirms() throws {
        let writer = try chained.writer()
        #expect(confirmation(of: "{\"id\":\"1\"}", writer) == true)
        #expect(chained.lines.count == 2)
        writer.close()
        #expect(confirmation(of: "{\"id\":\"2\"}", writer) == nil)
        #expect(!writer.isWritable)
    }

    @Test("what a full disk or a failed sync did not make sure is not confirmed") mutating func denies() throws {
        let disk = Disk(room: 500)
        chained.system = disk.system
        let syncs = Atomic<Bool>(true)
        chained.system.sync = { _ in syncs.load(ordering: .relaxed) ? 0 : -1 }
        chained.settings.sync = .always
        chained.settings.onFull = .refuse
        let writer = try chained.writer()
        #expect(confirmation(of: "{\"id\":\"\(String(repeating: "x", count: 500))\"}", writer) == false)
        #expect(!writer.isWritable && writer.dropped == 1)
        disk.makeRoom(100_000)
        #expect(confirmation(of: "{\"id\":\"2\"}", writer) == true)
        #expect(writer.isWritable)
        syncs.store(false, ordering: .relaxed)
        #expect(confirmation(of: "{\"id\":\"3\"}", writer) == false)
        #expect(!writer.isWritable)
        writer.close()
    }

    @Test("a line is confirmed by its own batch: not by the next one, which is written, nor by the one before, which is lost")
    mutating func confirmsOnlyItsOwn() throws {
        let gate = Gate()
        let isFull = Atomic<Bool>(false)
        let real = chained.system.write
        chained.system.write = { descriptor, bytes in
            guard !isFull.exchange(false, ordering: .relaxed) else {
                gate.pass()
                errno = ENOSPC
                return -1
            }
            return real(descriptor, bytes)
        }
        chained.settings.onFull = .refuse
        let writer = try chained.writer()
        let answers = Mutex<[String]>([])
        let done = DispatchSemaphore(value: 0)
        func append(_ id: String) {
            _ = CryoAuditTests.append("{\"id\":\"\(id)\"}", to: writer) { isWritten in
                answers.withLock { $0.append("\(id) \(isWritten)") }
                done.signal()
            }
        }
        isFull.store(true, ordering: .relaxed)
        append("1")
        gate.waitUntilReached()
        append("2")
        gate.open()
        for _ in 0..<2 { #expect(done.wait(timeout: .now() + .seconds(10)) == .success) }
        #expect(answers.withLock { $0 } == ["1 false", "2 true"])
        writer.close()
        let written = chained.lines.compactMap { line in Array(line.utf8).withUnsafeBytes { AuditVerifier.id(in: $0) } }
        #expect(written.suffix(1) == ["2"] && !written.contains("1"))
    }

    @Test("with block what the disk did not take is kept, in order, and written when there is room") mutating func retains() throws {
        let disk = Disk(room: 700)
        chained.system = disk.system
        chained.settings.onFull = .block
        let writer = try chained.writer()
        for number in 1...9 { _ = append("{\"id\":\"\(number)\"}", to: writer) }
        writer.flush()
        #expect(!writer.isWritable && writer.written < 9 && writer.dropped == 0)
        _ = append("{\"id\":\"10\"}", to: writer)
        disk.makeRoom(100_000)
        writer.flush()
        #expect(writer.isWritable && writer.written == 10 && writer.dropped == 0)
        writer.close()
        let result = try chained.verify()
        #expect(result.isGood && result.records == 10 && result.notes.allSatisfy { !$0.contains("no record") })
        let numbers = chained.lines.compactMap { line in
            Array(line.utf8).withUnsafeBytes { AuditVerifier.id(in: $0) }
        }
        #expect(numbers == (1...10).map(String.init))
    }
}
