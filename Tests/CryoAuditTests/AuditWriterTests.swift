import CryoIO
import CryoPipeline
import CryoSync
import Dispatch
import Glibc
import Testing

@testable import CryoAudit

@Suite struct AuditWriterTests {
    private let directory = TemporaryDirectory()
    private var path: String { directory.file("audit.jsonl") }

    @Test("lines are in the file, 0600, in order, each with its line end") func writes() throws {
        let mask = umask(0)
        defer { umask(mask) }
        let writer = try AuditWriter(path: path, warn: { _ in })
        #expect(append("{\"n\":1}", to: writer) == .written)
        #expect(append("{\"n\":2}", to: writer) == .written)
        writer.flush()
        #expect(directory.read("audit.jsonl") == "{\"n\":1}\n{\"n\":2}\n")
        #expect(directory.mode("audit.jsonl") == 0o600)
        #expect(writer.written == 2 && writer.dropped == 0)
        writer.close()
        writer.close()
        #expect(append("{\"n\":3}", to: writer) == .dropped)
        #expect(writer.dropped == 1)
    }

    @Test("a line comes to the file by itself") func unflushed() async throws {
        let path = path
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            let waiting = Mutex<CheckedContinuation<Void, Never>?>(continuation)
            var system = AuditSystem()
            let real = system.write
            system.write = { descriptor, bytes in
                let count = real(descriptor, bytes)
                waiting.withLock { $0.take() }?.resume()
                return count
            }
            let writer = try? AuditWriter(path: path, warn: { _ in }, system: system, monotonic: { 0 })
            if let writer { _ = append("{}", to: writer) }
        }
        #expect(directory.read("audit.jsonl") == "{}\n")
    }

    @Test("lines appended from many threads are all there, whole, each thread's in order") func concurrent() throws {
        let writer = try AuditWriter(path: path, warn: { _ in })
        DispatchQueue.concurrentPerform(iterations: 8) { thread in
            for number in 0..<2000 { _ = append("{\"t\":\(thread),\"n\":\(number)}", to: writer) }
        }
        writer.close()
        let lines = (directory.read("audit.jsonl") ?? "").split(separator: "\n")
        #expect(lines.count == 16_000)
        for thread in 0..<8 {
            let own = lines.filter { $0.hasPrefix("{\"t\":\(thread),") }
            #expect(own == (0..<2000).map { "{\"t\":\(thread),\"n\":\($0)}" })
        }
        #expect(writer.written == 16_000 && writer.dropped == 0)
    }

    @Test("after a rename and reopen the waiting lines are in the old file, later ones in a new one, none lost") func reopens() throws {
        let writer = try AuditWriter(path: path, warn: { _ in })
        _ = append("{\"n\":1}", to: writer)
        rename(path, directory.file("audit.1"))
        writer.reopen()
        _ = append("{\"n\":2}", to: writer)
        writer.close()
        #expect(directory.read("audit.1") == "{\"n\":1}\n")
        #expect(directory.read("audit.jsonl") == "{\"n\":2}\n")
        #expect(directory.mode("audit.jsonl") == 0o600)
    }

    @Test("reopening under load loses, tears and doubles nothing") func reopensUnderLoad() throws {
        let writer = try AuditWriter(path: path, warn: { _ in })
        let directory = directory
        DispatchQueue.concurrentPerform(iterations: 4) { thread in
            for number in 0..<1000 {
                _ = append("{\"id\":\"\(thread)-\(number)\"}", to: writer)
                if thread == 0, number % 250 == 125 {
                    rename(directory.file("audit.jsonl"), directory.file("audit.\(number)"))
                    writer.reopen()
                }
            }
        }
        writer.close()
        let lines = directory.names.flatMap { (directory.read($0) ?? "").split(separator: "\n").map(String.init) }
        #expect(directory.names.count == 5)
        #expect(lines.count == 4000 && Set(lines).count == 4000)
    }

    @Test("a file that was moved away or removed without a word is noticed after a second") func noticesMove() throws {
        let clock = Clockwork()
        let writer = try AuditWriter(path: path, warn: { _ in }, system: AuditSystem(), monotonic: { clock.now })
        rename(path, directory.file("audit.1"))
        _ = append("{\"n\":1}", to: writer)
        writer.flush()
        #expect(directory.read("audit.1") == "{\"n\":1}\n")
        clock.advance(seconds: 1)
        _ = append("{\"n\":2}", to: writer)
        writer.flush()
        #expect(directory.read("audit.jsonl") == "{\"n\":2}\n")
        unlink(path)
        clock.advance(seconds: 1)
        _ = append("{\"n\":3}", to: writer)
        writer.close()
        #expect(directory.read("audit.jsonl") == "{\"n\":3}\n")
    }

    @Test("when the new file can't be opened the old one is kept, and it is said") func reopenFails() throws {
        let warnings = Warnings()
        mkdir(directory.file("log"), 0o700)
        let writer = try AuditWriter(path: directory.file("log/audit.jsonl"), warn: { warnings.add($0) })
        rename(directory.file("log"), directory.file("moved"))
        writer.reopen()
        _ = append("{\"n\":1}", to: writer)
        writer.close()
        #expect(warnings.all.count == 1)
        #expect(warnings.all.first?.contains("can't be opened anew") == true)
        #expect(directory.read("moved/audit.jsonl") == "{\"n\":1}\n")
        unlink(directory.file("moved/audit.jsonl"))
        rmdir(directory.file("moved"))
    }

    @Test("a directory that is not there, and one in the place of the file, are told at the start") func cannotStart() {
        #expect(throws: AuditError.self) { _ = try AuditWriter(path: directory.file("none/audit.jsonl"), warn: { _ in }) }
        #expect(throws: AuditError.self) { _ = try AuditWriter(path: directory.path, warn: { _ in }) }
    }
}
