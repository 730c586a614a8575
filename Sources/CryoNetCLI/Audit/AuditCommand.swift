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
        case "list": return try AuditReading.list(arguments, words)
        case "tail": return try AuditReading.tail(arguments, words)
        case "show": return try AuditReading.show(arguments, words)
        case "stats": return try AuditReading.stats(arguments, words)
        case "grep": return try AuditGrep.run(arguments, words)
        case "export": return try AuditExport.run(arguments, words)
        default: throw UsageError(message: "unknown word \(PrintableText.text(verb)): tail, list, show, stats, grep, export")
        }
    }
}
