// Which audit files a command reads, and the filter it was given.
// Domain: cold

import CryoConfig
import CryoIO
import CryoJSON
import CryoPipeline
import CryoRecord
import Glibc

struct AuditInput {
    static let options = [
        Option(name: "--file", value: "FILE", help: "an audit file, plain or gzip, - for standard input; may be repeated"),
        Option(name: "--config", value: "FILE", help: "read the audit file of this configuration; default cryonet.yaml"),
        Option(name: "-c", value: "FILE", help: "the same"),
        Option(name: "--all", value: nil, help: "also the rotated files beside it, oldest first"),
    ]

    let files: [String]
    /// The configuration, where one was read.
    let loaded: LoadedConfiguration?

    static func configurationFile(_ arguments: Arguments) -> String? { arguments.value("--config") ?? arguments.value("-c") }

    /// nil after it was told why there is none.
    static func find(_ arguments: Arguments) -> AuditInput? {
        var named = arguments.all("--file")
        let isAll = arguments.has("--all")
        if !named.isEmpty {
            if isAll { named = named.flatMap { rotated(beside: $0) + [$0] } }
            return AuditInput(files: named, loaded: nil)
        }
        guard let loaded = configuration(arguments) else { return nil }
        guard let file = loaded.configuration.audit?.file else {
            print(error: "\(loaded.fileName) has no audit.file: name one by --file")
            return nil
        }
        return AuditInput(files: isAll ? rotated(beside: file) + [file] : [file], loaded: loaded)
    }

    /// The configuration that was named, or cryonet.yaml; nil after it was told what is wrong.
    static func configuration(_ arguments: Arguments) -> LoadedConfiguration? {
        let file = configurationFile(arguments) ?? "cryonet.yaml"
        if configurationFile(arguments) == nil, access(file, F_OK) != 0 {
            print(error: "there is no cryonet.yaml here: name the audit file by --file, or the configuration by --config")
            return nil
        }
        return ConfigurationFile.load(file, overrides: [], showsWarnings: false)
    }

    /// `audit-2026-11-30T07-00-00.123.jsonl`, with `.gz` or without, beside `audit.jsonl`; also `audit.jsonl.1` and the like of logrotate.
    static func rotated(beside path: String) -> [String] {
        let slash = path.lastIndex(of: "/")
        let folder = slash.map { String(path[...$0]) } ?? ""
        let name = slash.map { String(path[path.index(after: $0)...]) } ?? path
        let dot = name.lastIndex(of: ".") ?? name.endIndex
        let (stem, suffix) = (name[..<dot], name[dot...])
        guard let directory = opendir(folder.isEmpty ? "." : folder) else { return [] }
        defer { closedir(directory) }
        var stamped: [String] = []
        var numbered: [(number: Int, name: String)] = []
        while let entry = readdir(directory) {
            let found = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            let bare = found.hasSuffix(".gz") ? found.dropLast(3) : found[...]
            if bare.hasPrefix("\(stem)-"), bare.hasSuffix(suffix), isStamp(bare.dropFirst(stem.count + 1).dropLast(suffix.count)) {
                stamped.append(found)
            } else if bare.hasPrefix("\(name)."), let number = Int(bare.dropFirst(name.count + 1)), number >= 0 {
                numbered.append((number, found))
            }
        }
        // The higher the number, the older.
        return (numbered.sorted { $0.number > $1.number }.map(\.name) + stamped.sorted()).map { folder + $0 }
    }

    private static func isStamp(_ text: Substring) -> Bool {
        text.utf8.count >= 10 && text.utf8.first.map { $0 &- 0x30 < 10 } ?? false
            && text.utf8.allSatisfy { $0 &- 0x30 < 10 || "T-.:Z".utf8.contains($0) }
    }

    /// The words of the command line as one filter.
    static func filter(_ words: some Sequence<String>) throws(UsageError) -> RecordFilter {
        let text = words.joined(separator: " ")
        do throws(FilterError) {
            return try RecordFilter(text, nowUnixMicroseconds: Clock.unixMicroseconds())
        } catch {
            let mark = String(repeating: " ", count: max(0, error.column - 1)) + "^"
            throw UsageError(message: "filter, \(PrintableText.text(error.description))\n  \(PrintableText.text(text))\n  \(mark)")
        }
    }

    /// The only record with that id, or with an id that ends so; nil after it was told that there is none.
    func record(_ id: String) -> RecordView? {
        var found: [RecordView] = []
        var isShort = false
        let filter: RecordFilter
        do throws(UsageError) {
            guard id.utf8.count >= 4, id.utf8.allSatisfy({ ($0 | 0x20) &- 0x61 < 26 || $0 &- 0x30 < 10 || $0 == 0x2D || $0 == 0x5F }) else {
                print(error: "\(PrintableText.text(id)) is no id: at least 4 letters and digits of its end are needed")
                return nil
            }
            filter = try Self.filter(["id=*\(id) or request_id=\(id)"])
        } catch { return nil }
        let needle = ByteNeedle(Array(id.utf8))
        let search = AuditSearch(filter)
        func take(_ line: UnsafeRawBufferPointer) -> Bool {
            guard search.matcher.matches(padded: line), let record = RecordView(Array(line)) else { return true }
            if record.id == id {
                found = [record]
                isShort = false
                return false
            }
            found.append(record)
            isShort = found.count > 1
            return found.count < 4
        }
        var goesOn = true
        for file in files where goesOn {
            _ = AuditSearch.everyBlock(file) { block in
                if needle.first(in: block) != nil { goesOn = AuditSearch.everyLine(block) { line, _ in take(line) } }
                return goesOn
            }
        }
        if isShort {
            print(error: "several records end so: \(found.map { PrintableText.text($0.id) }.joined(separator: ", "))")
            return nil
        }
        if found.isEmpty {
            print(error: "there is no record \(PrintableText.text(id)) in \(files.joined(separator: ", ")); --all also reads rotated files")
        }
        return found.first
    }
}
