// A disk that neither takes nor refuses anything holds up nobody who configures or ends the gateway.
// Domain: cold

import CryoPipeline
import Glibc
import Testing

@testable import CryoAudit

@Suite("A disk that hangs")
struct AuditHungDiskTests {
    private let directory = TemporaryDirectory()
    private let warnings = Warnings()
    private let gate = Gate()
    private var path: String { directory.file("audit.jsonl") }

    /// A writer whose first write hangs until the gate opens.
    private func hungWriter() throws -> AuditWriter {
        var system = AuditSystem()
        system.patienceMilliseconds = 1
        let (real, gate, warnings) = (system.write, gate, warnings)
        system.write = { descriptor, bytes in
            gate.pass()
            return real(descriptor, bytes)
        }
        let writer = try AuditWriter(path: path, warn: { warnings.add($0) }, system: system)
        _ = append("{\"n\":1}", to: writer)
        gate.waitUntilReached()
        return writer
    }

    @Test("opening anew is done once it goes on, and said") func reopens() throws {
        let writer = try hungWriter()
        rename(path, directory.file("audit.1"))
        writer.reopen()
        #expect(warnings.all.count == 1 && warnings.all.first?.contains("its disk hangs; it is opened anew once") == true)
        gate.open()
        writer.flush()
        _ = append("{\"n\":2}", to: writer)
        writer.close()
        #expect(directory.read("audit.1") == "{\"n\":1}\n" && directory.read("audit.jsonl") == "{\"n\":2}\n")
        #expect(warnings.all.count == 1)
    }

    @Test("new settings are taken once it goes on, and said") func takesSettings() throws {
        let writer = try hungWriter()
        var settings = AuditSinkSettings.plain
        settings.rotation.fileBytes = 1
        settings.rotation.isCompressed = false
        try writer.replaceSettings(settings)
        #expect(warnings.all.count == 1 && warnings.all.first?.contains("its disk hangs; the new settings are taken once") == true)
        gate.open()
        writer.flush()
        _ = append("{\"n\":2}", to: writer)
        writer.close()
        #expect(directory.names.count == 2 && directory.read("audit.jsonl") == "{\"n\":2}\n")
        #expect(warnings.all.count == 1)
    }

    @Test("settings that cannot be followed then are said, and the old ones hold on") func failsLate() throws {
        let writer = try hungWriter()
        var settings = AuditSinkSettings.plain
        settings.chain.isOn = true
        settings.chain.keyFile = directory.file("none/key.pem")
        try writer.replaceSettings(settings)
        gate.open()
        writer.flush()
        #expect(warnings.all.count == 2 && warnings.all.last?.contains("the old settings hold on") == true)
        _ = append("{\"n\":2}", to: writer)
        writer.close()
        #expect(directory.read("audit.jsonl") == "{\"n\":1}\n{\"n\":2}\n")
    }

    @Test("closing gives up, and says what that may cost") func closes() throws {
        let writer = try hungWriter()
        writer.close(patienceMilliseconds: 1)
        #expect(warnings.all.count == 1 && warnings.all.first?.contains("its disk hangs; what waits for it is lost") == true)
        #expect(append("{\"n\":2}", to: writer) == .dropped)
        gate.open()
        writer.flush()
        #expect(directory.read("audit.jsonl") == "{\"n\":1}\n")
    }
}
