// audit: reads what the gateway wrote. Lists, follows, shows, counts, searches, exports, and verifies it.
// Domain: cold

import CryoIO
import CryoRecord
import Glibc

extension CommandLineInterface {
    /// Words of a filter on one command line.
    private static let filterWordsMax = 64
    private static let verbs = "tail, list, show, stats, grep, export, verify, key, mark"

    static let auditCommand = Command(
        name: "audit", summary: "read the audit file: list, follow, show, count, search and export records; verify it",
        operands: "tail [FILTER] | list [FILTER] | show ID | stats [FILTER] | grep --value-stdin | export --har FILE [FILTER] | "
            + "verify FILE... | key FILE | mark FILE",
        operandsMax: AuditVerifyCommand.filesMax + 1,
        options: AuditInput.options + AuditVerifyCommand.options + [
            Option(name: "--follow", value: nil, help: "tail: wait for more, through rotation"),
            Option(name: "-f", value: nil, help: "the same"),
            Option(name: "--lines", value: "N", help: "tail: how many records to begin with; default 10"),
            Option(name: "-n", value: "N", help: "the same; list: only the first N"),
            Option(name: "--har", value: "FILE", help: "export: the HTTP archive (HAR 1.2) to write, - for standard output"),
            Option(name: "--value-stdin", value: nil, help: "grep: the leaked value is the first line of standard input"),
            Option(
                name: "--hmac-key", value: "FILE",
                help: "grep: also find the marks that hide the value; default audit.redact.hmac_key of the configuration"),
            Option(
                name: "--json", value: nil, help: "print the records as they are in the file, one JSON line each; verify: one JSON object"),
            StandardOutput.colourOption,
        ],
        examples: [
            "cryonet audit tail -f 'status>=500'", "cryonet audit list 'route=news status>=500 kind=business \"path~/news\"'",
            "cryonet audit list --all 'time>-2h (refresh=led or attempts>1) !client~10.0.'",
            "cryonet audit list 'duration>1.5s response.content-type~json refund'",
            "cryonet audit show 01JDX0000000000000000000A1", "cryonet audit stats --json 'time>=2026-11-30'",
            "pass show api/token | cryonet audit grep --value-stdin --all", "cryonet audit export --har failures.har 'reason=*'",
            "cryonet audit verify --all --public-key audit.pub audit.jsonl", "cryonet audit key audit.key > audit.pub",
            "printf %s \"$VALUE\" | cryonet audit mark redact.key",
        ],
        notes: """
            A filter is made of FIELD=VALUE (* stands for anything, commas for one of several), FIELD~PART, !=, !~, >, >=, <, <=, free words,
            `or`, `not` (also !) and parentheses; what follows one another must all hold. Quote what has spaces.
            Fields: \(RecordFilter.fieldNames.filter { !$0.hasPrefix("steps.") }.joined(separator: " "))
            steps.STEP is the outcome of any step. Times: 2026-11-30T10:15, -15m, now (UTC). Durations: 250 (ms), 1.5s, 2m. Sizes: 64KiB.
            verify works offline: it names what was edited, removed, inserted, put elsewhere or cut off. key shows the public half of a signing
            key, mark how a value on standard input looks under `redact: { mode: hmac }`.
            Exit status: 0 done, 1 it did not work (grep: the value is nowhere; verify: something is wrong), 2 called wrongly or unreadable.
            """
    ) { arguments throws(UsageError) in
        guard let verb = arguments.operands.first else {
            throw UsageError(message: "what is to be done is missing: \(verbs)")
        }
        let words = arguments.operands.dropFirst()
        if !AuditVerifyCommand.takesFiles(verb), words.count > filterWordsMax {
            throw UsageError(message: "unexpected argument \(PrintableText.text(words[words.startIndex + filterWordsMax]))")
        }
        switch verb {
        case "list": return try AuditReading.list(arguments, words)
        case "tail": return try AuditReading.tail(arguments, words)
        case "show": return try AuditReading.show(arguments, words)
        case "stats": return try AuditReading.stats(arguments, words)
        case "grep": return try AuditGrep.run(arguments, words)
        case "export": return try AuditExport.run(arguments, words)
        case "verify": return try AuditVerifyCommand.verify(arguments)
        case "key": return try AuditVerifyCommand.showKey(arguments)
        case "mark": return try AuditVerifyCommand.mark(arguments)
        default: throw UsageError(message: "unknown word \(PrintableText.text(verb)): \(verbs)")
        }
    }
}
