// audit verify, audit key: whether audit files are what the gateway wrote, told offline.
// Domain: cold

import CryoAudit
import CryoConfig
import CryoRecord
import Glibc

/// Exit status 0: nothing is wrong. 1: something is. 2: it could not be found out.
enum AuditVerifyCommand {
    /// Files of one verification on a command line.
    static let filesMax = 65_536

    /// Whether a verb's words are files, not a filter.
    static func takesFiles(_ verb: String) -> Bool { ["verify", "key", "mark"].contains(verb) }

    static let options = [
        Option(name: "--public-key", value: "FILE", help: "verify: PEM of the key that must have signed the checkpoints"),
        Option(name: "--head", value: "N:HASH", help: "verify: a head noted earlier, which the chain must have"),
        Option(name: "--closed", value: nil, help: "verify: the last record must say that the file was closed"),
    ]

    static func verify(_ arguments: Arguments) throws(UsageError) -> Int32 {
        var files = Array(arguments.operands.dropFirst())
        if files.isEmpty { throw UsageError(message: "the file is missing") }
        if arguments.has("--all") { files = files.flatMap { AuditVerifier.family(of: $0) } }
        var demands = AuditVerifier.Demands()
        demands.mustBeClosed = arguments.has("--closed")
        if let text = arguments.value("--head") {
            guard let head = ChainHead(text) else { throw UsageError(message: "--head needs N:HASH, with 64 hexadecimal digits") }
            demands.head = head
        }
        do {
            if let path = arguments.value("--public-key") { demands.key = try CheckpointVerifier(file: path) }
            let result = try AuditVerifier.verify(files, demands)
            if arguments.has("--json") { print(result.json) } else { report(result) }
            return result.isGood ? ExitStatus.done : ExitStatus.failed
        } catch {
            print(error: "\(error)")
            return ExitStatus.usage
        }
    }

    static func showKey(_ arguments: Arguments) throws(UsageError) -> Int32 {
        guard arguments.operands.count == 2 else { throw UsageError(message: "one key file is wanted") }
        do {
            print(try CheckpointKey.read(arguments.operands[1]).publicPEM, terminator: "")
            return ExitStatus.done
        } catch {
            print(error: "\(error)")
            return ExitStatus.usage
        }
    }

    /// The value comes by standard input: on a command line others could see it. Line ends at its end are not part of it.
    static func mark(_ arguments: Arguments) throws(UsageError) -> Int32 {
        guard arguments.operands.count == 2 else { throw UsageError(message: "one key file is wanted") }
        do {
            let key = try RedactionKey(arguments.operands[1], makes: false)
            var value = [UInt8](repeating: 0, count: valueBytesMax + 1)
            var count = 0
            while count < value.count {
                let start = count
                let more = value.withUnsafeMutableBytes { read(0, $0.baseAddress.map { $0 + start }, $0.count - start) }
                if more < 0, errno == EINTR { continue }
                guard more > 0 else { break }
                count += more
            }
            guard count <= valueBytesMax else { throw UsageError(message: "the value is longer than \(valueBytesMax) bytes") }
            var kept = value[..<count]
            while kept.last == 0x0A || kept.last == 0x0D { kept.removeLast() }
            print(kept.withUnsafeBytes { String(decoding: key.mark(of: $0), as: UTF8.self) })
            return ExitStatus.done
        } catch let error as UsageError {
            throw error
        } catch {
            print(error: "\(arguments.operands[1]): \(error)")
            return ExitStatus.usage
        }
    }

    private static let valueBytesMax = 65_536

    private static func report(_ result: AuditVerification) {
        for finding in result.findings { print(PrintableText.text(finding.text)) }
        if result.furtherFindings > 0 { print("and \(result.furtherFindings) more") }
        for note in result.notes { print("note: \(PrintableText.text(note))") }
        let count = UInt64(result.findings.count) + result.furtherFindings
        let verdict = result.isGood ? "good" : "\(count) finding\(count == 1 ? "" : "s")"
        print(
            "\(verdict): \(result.records) records and \(result.controls) of the audit itself in \(result.files) "
                + "file\(result.files == 1 ? "" : "s"), \(result.goodSignatures) signatures")
        print("head \(result.head.sequence):\(result.head.hash.text)")
    }
}
