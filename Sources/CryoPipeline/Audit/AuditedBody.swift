// The beginning of a body as the audit keeps it, and the length and digest of all of it.
// Domain: worker

/// Takes a body in pieces and ends in its SHA-256. Made by an adapter: the pipeline has no cryptography of its own.
package protocol BodyDigest: AnyObject {
    func update(_ bytes: UnsafeRawBufferPointer)
    func finish() -> [UInt8]
}

struct AuditedBody {
    private(set) var bytes: [UInt8] = []
    private(set) var isCut = false
    private(set) var count: UInt64 = 0
    /// Of bodies that are cut only: the others can be seen whole.
    private var digest: (any BodyDigest)?

    mutating func take(_ more: UnsafeRawBufferPointer, bytesMax: Int, _ makeDigest: () -> (any BodyDigest)?) {
        let room = bytesMax - bytes.count
        count &+= UInt64(more.count)
        if more.count > room {
            if !isCut {
                isCut = true
                digest = makeDigest()
                bytes.withUnsafeBytes { digest?.update($0) }
            }
            digest?.update(more)
        }
        if room > 0 { bytes.append(contentsOf: more.prefix(room)) }
    }

    /// Of the whole body, once.
    mutating func takeDigest() -> [UInt8]? {
        defer { digest = nil }
        return digest?.finish()
    }
}
