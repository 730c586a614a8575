// Looks for the gateway's secrets in bytes that pass in pieces, and in what their content coding hides.
// Domain: worker

import CryoHTTP

/// Finds a secret wherever the pieces are cut.
struct SecretSearch {
    private let redactor: Redactor
    /// The end of what has passed, as long as a secret may be cut there.
    private var tail: [UInt8] = []
    private(set) var hasFound = false

    init(_ redactor: Redactor) { self.redactor = redactor }

    /// The end of what has passed may be the beginning of a secret.
    var mayGoOn: Bool { tail.withUnsafeBytes { redactor.beginningOfSecret(in: $0) } > 0 }

    mutating func look(_ bytes: UnsafeRawBufferPointer) {
        guard !hasFound else { return }
        hasFound = redactor.holdsSecret(bytes)
        let overlap = redactor.overlap
        guard !hasFound, overlap > 0 else { return }
        if !tail.isEmpty {
            tail.append(contentsOf: bytes.prefix(overlap))
            hasFound = tail.withUnsafeBytes { redactor.holdsSecret($0) }
        }
        if bytes.count >= overlap {
            tail = Array(bytes.suffix(overlap))
        } else {
            if tail.isEmpty { tail.append(contentsOf: bytes) }
            tail.removeFirst(max(0, tail.count - overlap))
        }
    }
}

/// Makes a reader for the codings that a `Content-Encoding` names.
typealias ContentReaderMaker = (UnsafeRawBufferPointer) -> (any ContentReading)?

/// An answer's content behind its coding. What cannot be read is looked at as it is, where a secret is only found by chance: an unknown
/// coding, bytes that are not what it says, a piece that stands for more than the reader's bound.
final class CodedContent {
    private let reader: any ContentReading
    private var search: SecretSearch

    /// nil: the content has no coding, or none that can be read.
    init?(_ fields: FieldSection, _ redactor: Redactor, _ makeReader: ContentReaderMaker) {
        guard fields.contains("content-encoding") else { return nil }
        // Several lines are one list (RFC 9110 §5.3).
        var codings: [UInt8] = []
        for index in fields.indices(of: "content-encoding") {
            fields.withValue(at: index) { codings += Array($0) + [UInt8(ascii: ",")] }
        }
        guard let reader = codings.withUnsafeBytes(makeReader) else { return nil }
        self.reader = reader
        search = SecretSearch(redactor)
    }

    var hasFound: Bool { search.hasFound }
    var mayGoOn: Bool { search.mayGoOn }

    /// False: nothing more can be read.
    func look(_ bytes: UnsafeRawBufferPointer) -> Bool { reader.take(bytes) { search.look($0) } }
}
