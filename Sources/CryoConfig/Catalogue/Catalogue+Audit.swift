// Owns the catalogue of the section `audit`.
// Domain: pure

import CryoPipeline

extension Catalogue {
    private static let redaction = Section([
        CatalogueKey("headers", .list(.text(.header)), standard: "[]", example: "[x-session]", "header names, added to the built-in ones"),
        CatalogueKey(
            "json", .list(.text(.any)), standard: "[]", example: "[phone, user.address]",
            "JSON members by name, or by path (user.phone), added to the built-in ones"),
        CatalogueKey("query", .list(.text(.any)), standard: "[]", example: "[phone]", "query names, added to the built-in ones"),
        CatalogueKey("form", .list(.text(.any)), standard: "[]", example: "[pin]", "form fields, besides those of json and query"),
        CatalogueKey(
            "cookies", .list(.text(.any)), standard: "[]", example: "[sid]",
            "only these cookies' values are hidden; empty: Cookie and Set-Cookie are hidden whole"),
        CatalogueKey(
            "mode", .choice(RedactionSettings.Mode.allCases.map(\.rawValue)), standard: RedactionSettings.Mode.mask.rawValue,
            "mask: ***; hmac: the same mark for the same value, by HMAC-SHA256 with hmac_key"),
        CatalogueKey(
            "hmac_key", .text(.file), example: "/var/lib/cryonet/redact.key", "32 random bytes, made (0600) when it is not there"),
    ])

    private static let auditStandards = AuditSettings(file: "")
    static let audit = Section(
        [
            CatalogueKey("file", .text(.file), required: true, example: "/var/log/cryonet/audit.jsonl", "reopened on HUP, mode 0600"),
            CatalogueKey(
                "level", .choice(AuditSettings.Level.allCases.map(\.rawValue)), standard: auditStandards.level.rawValue,
                "off: nothing is written; basic: no headers; headers: of every exchange; bodies: as bodies says"),
            CatalogueKey(
                "bodies", .choice(AuditSettings.Bodies.allCases.map(\.rawValue)), standard: auditStandards.bodies.rawValue,
                "at the level bodies, whose headers and bodies are kept: off, failures or all"),
            CatalogueKey(
                "max_body_bytes", .integer(0...1_048_576), standard: "\(auditStandards.bodyBytesMax)", units: "bytes",
                "a longer body is cut here"),
        ] + files + [
            CatalogueKey("redact", .section(redaction), "values replaced by ***; live secrets always are")
        ])

    static let secrets = Section([
        CatalogueKey(
            "echo", .choice(EchoMode.allCases.map(\.rawValue)), standard: EchoMode.off.rawValue,
            "report: an answer that carries a token, key or password of the gateway is counted, audited and told; block: and stopped")
    ])

    private static let rotation = Section([
        CatalogueKey(
            "max_bytes", .integer(0...1_099_511_627_776), standard: "\(sink.rotation.fileBytes)", units: "bytes",
            "a longer file is complete, and renamed as NAME-2026-11-30T07-00-00.123.jsonl; 0: no bound"),
        CatalogueKey(
            "max_records", .integer(0...1_000_000_000), standard: "\(sink.rotation.fileRecords)",
            "a file with so many records is complete; 0: no bound"),
        CatalogueKey(
            "every", .choice(AuditSinkSettings.Rotation.Period.allCases.map(\.rawValue)), standard: sink.rotation.every.rawValue,
            "never, hour or day: a file is complete when the hour or day (UTC) is over and another record comes"),
        CatalogueKey("keep", .integer(0...100_000), standard: "\(sink.rotation.keepFiles)", "so many older files are kept; 0: all"),
        CatalogueKey(
            "keep_days", .integer(0...36_500), standard: "\(sink.rotation.keepDays)", units: "days", "older files are removed; 0: never"),
        CatalogueKey("gzip", .boolean, standard: "\(sink.rotation.isCompressed)", "older files are compressed"),
    ])

    private static let sink = AuditSinkSettings()
    private static let files: [CatalogueKey] = [
        CatalogueKey(
            "chain", .choice(["on", "off"]), standard: sink.chain.isOn ? "on" : "off",
            "each record is tied to the one before it, so that cryonet audit verify finds what was changed"),
        CatalogueKey(
            "signing_key", .text(.file), example: "/var/lib/cryonet/audit.key",
            "PEM of an Ed25519 key, made (0600) when it is not there; signs checkpoints of the chain; absent: none"),
        CatalogueKey(
            "checkpoint_records", .integer(1...1_000_000), standard: "\(sink.chain.checkpointRecords)",
            "a checkpoint after so many records"),
        CatalogueKey(
            "checkpoint_s", .integer(1...86_400), standard: "\(sink.chain.checkpointSeconds)", units: "seconds",
            "and so long after the last one, if there were records"),
        CatalogueKey("rotate", .section(rotation), "when a file is complete and another begins"),
        CatalogueKey(
            "on_full", .choice(AuditSinkSettings.Full.allCases.map(\.rawValue)), standard: sink.onFull.rawValue,
            "when no record can be written: drop it and count; block: exchanges wait; refuse: no reply is complete without its record"),
        CatalogueKey(
            "patience_ms", .integer(milliseconds), standard: "\(sink.blockMilliseconds)", units: "milliseconds",
            "how long an exchange waits for the audit, with block and refuse, before it fails with 503"),
        CatalogueKey(
            "sync", .choice(AuditSinkSettings.Sync.allCases.map(\.rawValue)), standard: sink.sync.rawValue,
            "when records are forced to the disk: never, interval (once a second) or always (with every batch)"),
        CatalogueKey(
            "min_free_bytes", .integer(0...1_099_511_627_776), standard: "\(sink.freeBytesMin)", units: "bytes",
            "with less room the disk counts as full, which leaves the rest to others"),
        CatalogueKey(
            "also", .choice(AuditSinkSettings.Copy.allCases.map(\.rawValue)), standard: sink.copy.rawValue,
            "none, stdout or syslog: where records go besides the file"),
        CatalogueKey(
            "syslog_socket", .text(.file), standard: sink.syslogPath, "with also: syslog, the datagram socket of the system's log"),
    ]
}
