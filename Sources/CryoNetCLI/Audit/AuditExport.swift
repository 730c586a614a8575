// audit export: writes matching records as an HTTP archive.
// Domain: cold

import CryoConfig
import CryoIO
import CryoRecord
import Glibc

enum AuditExport {
    static func run(_ arguments: Arguments, _ words: ArraySlice<String>) throws(UsageError) -> Int32 {
        guard let path = arguments.value("--har"), !path.isEmpty else { throw UsageError(message: "export needs --har FILE") }
        let filter = try AuditInput.filter(words)
        guard let input = AuditInput.find(arguments) else { return ExitStatus.failed }
        let base = input.loaded.flatMap { GatewayAddress($0.configuration.listen)?.base } ?? "http://127.0.0.1:8080"
        do throws(SystemError) {
            let file = try ArchiveFile(path)
            let export = HARExport(base: base)
            file.write(export.begin(version: CommandLineInterface.version))
            var count = 0
            let isWhole = AuditSearch(filter).run(input.files) { line in
                guard let record = RecordView(Array(line)) else { return true }
                if count > 0 { file.write([0x2C]) }
                file.write([0x0A] + export.entry(record))
                count += 1
                return file.failure == nil
            }
            file.write(export.end())
            try file.finish()
            printToError("\(count) record\(count == 1 ? "" : "s")\(path == "-" ? "" : " in \(path)")")
            return isWhole ? ExitStatus.done : ExitStatus.failed
        } catch {
            print(error: "\(error)")
            return ExitStatus.failed
        }
    }
}

/// Written aside with 0600 and renamed when it is whole: bodies are nobody else's to read, and half an archive is none.
private final class ArchiveFile {
    private let path: String
    private let aside: String?
    private let descriptor: Int32
    private var buffer: [UInt8] = []
    private(set) var failure: SystemError?

    init(_ path: String) throws(SystemError) {
        self.path = path
        if path == "-" {
            aside = nil
            descriptor = 1
            return
        }
        let aside = "\(path).\(getpid())"
        self.aside = aside
        descriptor = open(aside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw SystemError("can't write \(aside)") }
    }

    func write(_ bytes: [UInt8]) {
        buffer += bytes
        if buffer.count >= 1 << 20 { flush() }
    }

    private func flush() {
        var start = 0
        while start < buffer.count, failure == nil {
            let count = buffer.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress?.advanced(by: start), $0.count - start) }
            if count < 0, errno == EINTR { continue }
            if count <= 0 { failure = SystemError("can't write \(path)") } else { start += count }
        }
        buffer.removeAll(keepingCapacity: true)
    }

    func finish() throws(SystemError) {
        flush()
        guard let aside else {
            if let failure { throw failure }
            return
        }
        if close(descriptor) != 0, failure == nil { failure = SystemError("can't write \(path)") }
        if failure == nil, rename(aside, path) != 0 { failure = SystemError("can't write \(path)") }
        if let failure {
            unlink(aside)
            throw failure
        }
    }
}
