// audit: what is done with audit files, without a running gateway.
// Domain: cold

extension CommandLineInterface {
    static let auditCommand = Command(
        name: "audit", summary: "verify audit files, show the key that signs them, and the mark of a value",
        operands: "verify FILE... | key FILE | mark FILE", operandsMax: 1 << 16, options: AuditVerifyCommand.options,
        examples: [
            "cryonet audit verify audit.jsonl",
            "cryonet audit verify --all --public-key audit.pub audit.jsonl",
            "cryonet audit key audit.key > audit.pub",
            "printf %s \"$TOKEN\" | cryonet audit mark redact.key", "cryonet audit verify --head 1200:9f86d0… --json audit*.jsonl*",
        ]
    ) { arguments throws(UsageError) in
        guard let verb = arguments.operands.first else { throw UsageError(message: "the verb is missing") }
        switch verb {
        case "verify": return try AuditVerifyCommand.verify(arguments)
        case "mark": return try AuditVerifyCommand.mark(arguments)
        case "key": return try AuditVerifyCommand.showKey(arguments)
        default: throw UsageError(message: "unknown verb \(verb)")
        }
    }
}
