// audit grep: finds a leaked secret in whatever spelling, without printing or keeping it.
// Domain: cold

import CryoAudit
import CryoConfig
import CryoIO
import CryoJSON
import CryoPipeline
import CryoRecord
import Glibc

enum AuditGrep {
    static func run(_ arguments: Arguments, _ words: ArraySlice<String>) throws(UsageError) -> Int32 {
        guard arguments.has("--value-stdin") else {
            throw UsageError(message: "grep reads the value from standard input: --value-stdin. On the command line others can see it")
        }
        guard words.isEmpty else { throw UsageError(message: "grep takes no operand: the value comes from standard input") }
        guard !arguments.all("--file").contains("-") else {
            throw UsageError(message: "standard input is the value, it can't be a file too")
        }
        let output = try StandardOutput(arguments)
        guard let input = AuditInput.find(arguments) else { return ExitStatus.failed }
        guard let text = SecretInput.firstLine() else { return ExitStatus.failed }
        let key: RedactionKey?
        switch redactionKey(arguments, input) {
        case .success(let found): key = found
        case .failure(let problem):
            print(error: problem.description)
            return ExitStatus.failed
        }
        let mark = key.map { key in { (value: [UInt8]) in value.withUnsafeBytes { key.mark(of: $0) } } }
        guard let value = LeakedValue(Array(text.utf8), mark: mark) else {
            print(error: "the value is shorter than \(LeakedValue.bytesMin) bytes: it would turn up by chance")
            return ExitStatus.failed
        }
        var found = 0
        var isWhole = true
        for file in input.files {
            var before = 0
            let isJSON = arguments.has("--json")
            isWhole =
                AuditSearch.everyBlock(file) { block in
                    // One after another over a whole block is much faster than all of them over each line.
                    let forms = value.forms.filter { $0.needle.first(in: block) != nil }
                    let start = before
                    _ = AuditSearch.everyLine(block) { line, number in
                        before = start + number + 1
                        guard let hit = hit(forms, line) else { return true }
                        found += 1
                        report(hit.form, at: hit.offset, line, file, before, isJSON, output)
                        return true
                    }
                    return output.failure == nil
                } && isWhole
        }
        output.flush()
        if found == 0, isWhole { printToError("not found in \(input.files.joined(separator: ", "))") }
        return found > 0 && isWhole ? ExitStatus.done : ExitStatus.failed
    }

    private struct KeyProblem: Error { let description: String }

    /// The key that was named, or that of the configuration; nil where the audit makes no marks. One that can't be read is no reason to
    /// look for less and say that nothing is there.
    private static func redactionKey(_ arguments: Arguments, _ input: AuditInput) -> Result<RedactionKey?, KeyProblem> {
        let settings = input.loaded?.configuration.audit?.redaction
        let configured = settings.flatMap { $0.mode == .hmac ? $0.keyFile : nil }
        guard let path = arguments.value("--hmac-key") ?? configured else { return .success(nil) }
        do throws(SystemError) {
            return .success(try RedactionKey(path, makes: false))
        } catch {
            return .failure(KeyProblem(description: "the key of the marks, \(PrintableText.text(path)): \(error)"))
        }
    }

    private static func hit(_ forms: [LeakedValue.Form], _ line: UnsafeRawBufferPointer) -> (form: String, offset: Int)? {
        for form in forms { if let offset = form.needle.first(in: line) { return (form.name, offset) } }
        return nil
    }

    /// Where it is, never what stands around it.
    private static func report(
        _ form: String, at offset: Int, _ line: UnsafeRawBufferPointer, _ file: String, _ number: Int, _ isJSON: Bool,
        _ output: StandardOutput
    ) {
        let record = RecordView(Array(line))
        let member = record?.member(at: offset)
        // The names of the writer's own members only: anything else could be the value.
        let place =
            member.flatMap { name in name.utf8.allSatisfy { $0 == 0x5F || $0 &- 0x61 < 26 } && name.utf8.count < 32 ? name : nil } ?? "-"
        // An id is the gateway's own; what looks otherwise may be what is looked for.
        let id = record.flatMap { $0.id.utf8.count == 26 && place != "id" ? $0.id : nil } ?? "-"
        guard isJSON else {
            output.line("\(PrintableText.text(file)):\(number)  \(PrintableText.text(id))  \(place)  \(form)")
            return
        }
        var writer = JSONWriter()
        writer.beginObject()
        writer.field("file", file)
        writer.field("line", Int64(number))
        writer.field("id", id)
        writer.field("member", place)
        writer.field("form", form)
        writer.endObject()
        output.line(writer.bytes)
    }
}
