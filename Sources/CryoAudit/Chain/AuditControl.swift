// The records an audit file has besides those of exchanges: `{"audit":"opened",…}`. They are part of the chain.
// Domain: cold

import CryoJSON
import CryoPipeline

package enum AuditControl: Sendable {
    package enum Opening: String, Sendable {
        /// The program began, or its configuration changed.
        case start
        /// The file before was complete by the rules of rotation.
        case rotation
        /// Somebody asked, or moved the file away.
        case reopen
    }

    package enum Closing: String, Sendable { case stop, rotation, reopen }

    /// The beginning of a file, or of a process: names the head of what was written before; nil when nothing is known of it.
    case opened(Opening, previous: ChainHead?, tornBytes: Int, key: [UInt8]?)
    /// The proper end of a file. Signed like a checkpoint where there is a key.
    case closed(Closing, ChainHead, signature: [UInt8]?)
    /// Everything up to the head was written by who holds the key.
    case checkpoint(ChainHead, signature: [UInt8])
    /// So many exchanges have no record: it found no place.
    case lost(records: UInt64)

    /// The first bytes of each of them, and of no record of an exchange.
    package static let prefix = Array("{\"audit\":\"".utf8)

    /// One JSON object without a line end.
    func line(unixMicroseconds: Int64) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.field("audit", name)
        writer.field("v", Exchange.auditVersion)
        RFC3339.text(unixMicroseconds: unixMicroseconds).withUnsafeBytes { writer.field("time", bytes: $0) }
        switch self {
        case .opened(let reason, let previous, let tornBytes, let key):
            writer.field("reason", reason.rawValue)
            if let previous {
                writer.key("previous")
                writer.beginObject()
                writer.field("seq", Int64(clamping: previous.sequence))
                writer.field("hash", previous.hash.text)
                writer.endObject()
            } else {
                writer.nullField("previous")
            }
            if tornBytes > 0 { writer.field("torn_bytes", Int64(tornBytes)) }
            if let key { writer.field("key", Hexadecimal.text(key)) }
        case .closed(let reason, let head, let signature):
            writer.field("reason", reason.rawValue)
            Self.append(head, signature, &writer)
        case .checkpoint(let head, let signature): Self.append(head, signature, &writer)
        case .lost(let records): writer.field("records", Int64(clamping: records))
        }
        writer.endObject()
        return writer.bytes
    }

    private var name: StaticString {
        switch self {
        case .opened: "opened"
        case .closed: "closed"
        case .checkpoint: "checkpoint"
        case .lost: "lost"
        }
    }

    private static func append(_ head: ChainHead, _ signature: [UInt8]?, _ writer: inout JSONWriter) {
        writer.field("count", Int64(clamping: head.sequence))
        writer.field("head", head.hash.text)
        if let signature { writer.field("signature", Hexadecimal.text(signature)) }
    }

    /// What is signed: the word, so that a checkpoint can't be passed off as the end of a file, the count and the head.
    package static func signedText(_ word: String, _ head: ChainHead) -> [UInt8] {
        Array("cryonet audit v1\n\(word)\n\(head.sequence)\n\(head.hash.text)\n".utf8)
    }
}
