// The result of a verification as JSON, for programs.
// Domain: cold

import CryoJSON

extension AuditVerification {
    package var json: String {
        var writer = JSONWriter()
        writer.beginObject()
        writer.field("good", isGood)
        writer.field("records", Int64(clamping: records))
        writer.field("control_records", Int64(clamping: controls))
        writer.field("files", Int64(files))
        writer.field("signatures", Int64(clamping: goodSignatures))
        writer.field("signed_up_to", Int64(clamping: signedUpTo))
        writer.field("closed", isClosed)
        writer.key("head")
        writer.beginObject()
        writer.field("seq", Int64(clamping: head.sequence))
        writer.field("hash", head.hash.text)
        writer.endObject()
        writer.key("findings")
        writer.beginArray()
        for finding in findings { Self.append(finding, &writer) }
        writer.endArray()
        writer.field("further_findings", Int64(clamping: furtherFindings))
        writer.key("notes")
        writer.beginArray()
        for note in notes { writer.string(note) }
        writer.endArray()
        writer.endObject()
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    private static func append(_ finding: AuditFinding, _ writer: inout JSONWriter) {
        writer.beginObject()
        writer.field("kind", finding.kind.rawValue)
        writer.field("file", finding.file)
        writer.field("line", Int64(clamping: finding.line))
        if let sequences = finding.sequences {
            writer.field("first_seq", Int64(clamping: sequences.lowerBound))
            writer.field("last_seq", Int64(clamping: sequences.upperBound))
        } else {
            writer.nullField("first_seq")
            writer.nullField("last_seq")
        }
        if let id = finding.id { writer.field("id", id) } else { writer.nullField("id") }
        writer.field("detail", finding.detail)
        writer.endObject()
    }
}
