// What a verification finds, and how it is told.
// Domain: cold

package struct AuditFinding: Sendable, Equatable {
    package enum Kind: String, Sendable, CaseIterable {
        /// The text or the chain of a record is not what was written.
        case edited
        /// Records between two others are gone.
        case removed
        /// A record, or a line, that the chain has no place for.
        case inserted
        /// A record stands behind one that was written after it.
        case reordered
        /// Records at the end of a file, or of all, are gone.
        case truncated
        /// Records at the beginning of a file are gone.
        case beheaded
        /// A chain begins anew in the middle: what was before can't be told to be complete.
        case restarted
        /// A signature does not fit: what it covers was written by somebody without the key.
        case forged
        /// There is no signature of the key that was asked for.
        case unsigned
        /// There is no chain.
        case unchained
    }

    package var kind: Kind
    package var file: String
    /// Counted from 1; 0: the file as a whole.
    package var line: UInt64
    package var sequences: ClosedRange<UInt64>?
    package var id: String?
    package var detail: String

    /// `audit.jsonl:17: removed: record 12 (id …): detail`
    package var text: String {
        var text = line > 0 ? "\(file):\(line): " : "\(file): "
        text += kind.rawValue
        if let sequences {
            text +=
                sequences.count == 1 ? ": record \(sequences.lowerBound)" : ": records \(sequences.lowerBound) to \(sequences.upperBound)"
        }
        if let id { text += " (id \(id))" }
        return text + ": \(detail)"
    }
}

package struct AuditVerification: Sendable {
    /// Findings told one by one; more are only counted.
    package static let findingsMax = 1000

    /// Records of exchanges.
    package var records: UInt64 = 0
    /// Records of the audit itself: openings, checkpoints.
    package var controls: UInt64 = 0
    package var files = 0
    package var goodSignatures: UInt64 = 0
    /// The last record a good signature covers.
    package var signedUpTo: UInt64 = 0
    package var head = ChainHead()
    package var isClosed = false
    package var findings: [AuditFinding] = []
    package var furtherFindings: UInt64 = 0
    package var notes: [String] = []

    package var isGood: Bool { findings.isEmpty && furtherFindings == 0 }
}
