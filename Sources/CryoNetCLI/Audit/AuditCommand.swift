// audit: reads what the gateway wrote. Lists, follows, shows, counts, searches, exports.
// Domain: cold

import CryoIO
import CryoRecord
import Glibc

extension CommandLineInterface {
    /// Words of a filter on one command line.
    private static let filterWordsMax = 64

    static let auditCommand = Command(
        name: "audit", summary: "read the audit file: list, follow, show, count, search and export records",
        operands: "tail [FILTER] | list [FILTER] | show ID | stats [FILTER] | grep --value-stdin | export --har FILE [FILTER]",
        operandsMax: filterWordsMax + 1,
        options: AuditInput.options + [
            Option(name: "--follow", value: nil, help: "tail: wait for more, through rotation"),
            Option(name: "-f", value: nil, help: "the same"),
            Option(name: "--lines", value: "N", help: "tail: how many records to begin with; default 10"),
            Option(name: "-n", value: "N", help: "the same; list: only the first N"),
            Option(name: "--har", value: "FILE", help: "export: the HTTP archive (HAR 1.2) to write, - for standard output"),
            Option(name: "--value-stdin", value: nil, help: "grep: the leaked value is the first line of standard input"),
            Option(name: "--json", value: nil, help: "print the records as they are in the file, one JSON line each"),
            StandardOutput.colourOption,
        ],
        examples: [
            "cryonet audit tail -f 'status>=500'", "cryonet audit list 'route=news status>=500 kind=business \"path~/news\"'",
            "cryonet audit list --all 'time>-2h (refresh=led or attempts>1) !client~10.0.'",
            "cryonet audit list 'duration>1.5s response.content-type~json refund'",
            "cryonet audit show 01JDX0000000000000000000A1", "cryonet audit stats --json 'time>=2026-11-30'",
            "pass show api/token | cryonet audit grep --value-stdin --all", "cryonet audit export --har failures.har 'reason=*'",
        ],
        notes: """
            A filter is made of FIELD=VALUE (* stands for anything, commas for one of several), FIELD~PART, !=, !~, >, >=, <, <=, free words,
            `or`, `not` (also !) and parentheses; what follows one another must all hold. Quote what has spaces.
            Fields: \(RecordFilter.fieldNames.filter { !$0.hasPrefix("steps.") }.joined(separator: " "))
            steps.STEP is the outcome of any step. Times: 2026-11-30T10:15, -15m, now (UTC). Durations: 250 (ms), 1.5s, 2m. Sizes: 64KiB.
            Exit status: 0 done, 1 it did not work (grep: the value is nowhere), 2 called wrongly.
            """
    ) { arguments throws(UsageError) in
        guard let verb = arguments.operands.first else {
            throw UsageError(message: "what is to be done is missing: tail, list, show, stats, grep, export")
        }
        let words = arguments.operands.dropFirst()
        switch verb {
        case "list": return try auditList(arguments, words)
        case "tail": return try auditTail(arguments, words)
        case "show": return try auditShow(arguments, words)
        case "stats": return try auditStats(arguments, words)
        case "grep": return try AuditGrep.run(arguments, words)
        case "export": return try AuditExport.run(arguments, words)
        default: throw UsageError(message: "unknown word \(PrintableText.text(verb)): tail, list, show, stats, grep, export")
        }
    }

    private static func count(_ arguments: Arguments, unlessGiven count: Int) throws(UsageError) -> Int {
        guard let text = arguments.value("--lines") ?? arguments.value("-n") else { return count }
        guard let number = Int(text), (0...1_000_000).contains(number) else { throw UsageError(message: "-n needs a number") }
        return number
    }

    private static func auditList(_ arguments: Arguments, _ words: ArraySlice<String>) throws(UsageError) -> Int32 {
        let filter = try AuditInput.filter(words)
        let most = try count(arguments, unlessGiven: .max)
        let printer = AuditPrinter(output: try StandardOutput(arguments), isJSON: arguments.has("--json"))
        guard let input = AuditInput.find(arguments) else { return ExitStatus.failed }
        var left = most
        let isWhole = AuditSearch(filter).run(input.files) { line in
            guard left > 0 else { return false }
            printer.print(line)
            left -= 1
            return left > 0 && printer.output.failure == nil
        }
        return printer.output.end(isWhole)
    }

    private static func auditTail(_ arguments: Arguments, _ words: ArraySlice<String>) throws(UsageError) -> Int32 {
        let search = AuditSearch(try AuditInput.filter(words))
        let number = try count(arguments, unlessGiven: 10)
        let isFollowing = arguments.has("--follow") || arguments.has("-f")
        let printer = AuditPrinter(output: try StandardOutput(arguments), isJSON: arguments.has("--json"))
        guard let input = AuditInput.find(arguments), let file = input.files.last else { return ExitStatus.failed }
        if isFollowing {
            guard file != "-" else { throw UsageError(message: "standard input can't be followed") }
            guard input.files.count == 1 || arguments.has("--all") else { throw UsageError(message: "only one file can be followed") }
            var follower = AuditFollower(path: file)
            do throws(SystemError) {
                var last = try follower.begin(search, last: number)
                if last.count < number, input.files.count > 1 {
                    last = lastLines(search, input.files.dropLast(), number - last.count).lines + last
                }
                for line in last { line.withUnsafeBytes { printer.print($0) } }
            } catch {
                print(error: "\(error)")
                return ExitStatus.failed
            }
            follower.follow(search) { line in
                printer.print(line)
                return printer.output.failure == nil
            } idle: {
                printer.output.flush()
            }
            return printer.output.end(false)
        }
        let last = lastLines(search, input.files[...], number)
        for line in last.lines { line.withUnsafeBytes { printer.print($0) } }
        return printer.output.end(last.isWhole)
    }

    /// From the newest file back, as far as there are too few.
    private static func lastLines(
        _ search: AuditSearch, _ files: ArraySlice<String>, _ count: Int
    ) -> (lines: [[UInt8]], isWhole: Bool) {
        var lines: [[UInt8]] = []
        var isWhole = true
        for file in files.reversed() where lines.count < count {
            var ring: [[UInt8]] = []
            var next = 0
            let wanted = count - lines.count
            isWhole =
                search.run([file]) { line in
                    if ring.count < wanted { ring.append(Array(line)) } else { ring[next] = Array(line) }
                    next = (next + 1) % wanted
                    return true
                } && isWhole
            lines = Array((ring.count < wanted ? ring[...] : ring[next...] + ring[..<next])) + lines
        }
        return (lines, isWhole)
    }

    private static func auditShow(_ arguments: Arguments, _ words: ArraySlice<String>) throws(UsageError) -> Int32 {
        guard let id = words.first, words.count == 1 else { throw UsageError(message: "show needs one id") }
        let printer = AuditPrinter(output: try StandardOutput(arguments), isJSON: arguments.has("--json"))
        guard let input = AuditInput.find(arguments), let record = input.record(id) else { return ExitStatus.failed }
        if printer.isJSON { record.line.withUnsafeBytes { printer.print($0) } } else { printer.printWhole(record) }
        return printer.output.end(true)
    }

    private static func auditStats(_ arguments: Arguments, _ words: ArraySlice<String>) throws(UsageError) -> Int32 {
        let filter = try AuditInput.filter(words)
        let output = try StandardOutput(arguments)
        guard let input = AuditInput.find(arguments) else { return ExitStatus.failed }
        let statistics = AuditStatistics()
        let isWhole = AuditSearch(filter).run(input.files) { line in
            statistics.add(line)
            return true
        }
        if arguments.has("--json") { output.line(statistics.json()) } else { statistics.print(output) }
        return output.end(isWhole)
    }
}
