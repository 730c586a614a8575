import CryoPipeline
import CryoSync
import Dispatch
import Testing

@testable import CryoAudit

/// What is promised to those who may lose no record.
@Suite struct AuditCertaintyTests {
    private var chained = Chained()

    private func confirmation(_ writer: AuditWriter) -> Bool? {
        let answer = Mutex<Bool?>(nil)
        let done = DispatchSemaphore(value: 0)
        writer.confirm { isWritten in
            answer.withLock { $0 = isWritten }
            done.signal()
        }
        _ = done.wait(timeout: .now() + .seconds(10))
        return answer.withLock { $0 }
    }

    @Test("a record is confirmed when it is in the file, at once") func confirms() throws {
        let writer = try chained.writer()
        _ = append("{\"id\":\"1\"}", to: writer)
        #expect(confirmation(writer) == true)
        #expect(chained.lines.count == 2)
        writer.close()
        #expect(confirmation(writer) == false)
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
        _ = append("{\"id\":\"\(String(repeating: "x", count: 500))\"}", to: writer)
        #expect(confirmation(writer) == false)
        #expect(!writer.isWritable && writer.dropped == 1)
        disk.makeRoom(100_000)
        _ = append("{\"id\":\"2\"}", to: writer)
        #expect(confirmation(writer) == true)
        #expect(writer.isWritable)
        syncs.store(false, ordering: .relaxed)
        _ = append("{\"id\":\"3\"}", to: writer)
        #expect(confirmation(writer) == false)
        #expect(!writer.isWritable)
        writer.close()
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
