// Finds live secrets in what is written, by their values and in all their spellings.
// Domain: shared (immutable; the live values come from the credential stores)

import CryoHTTP

extension Redactor {
    // MARK: Spellings

    /// Shorter values are not searched for: they would turn up by chance everywhere.
    package static let secretBytesMin = 6

    /// The spellings in which secrets are looked for.
    package static func needles(of secrets: [Secret]) -> NeedleSet {
        NeedleSet(secrets.flatMap { secret in secret.withBytes { spellings(of: $0) } })
    }

    private static func spellings(of raw: [UInt8]) -> [[UInt8]] {
        guard raw.count >= secretBytesMin else { return [] }
        var spellings = [raw]
        let encoded = percentEncoded(raw)
        if encoded != raw {
            spellings.append(encoded)
            // Some write the digits small.
            let small = lowercasedEscapes(encoded)
            if small != encoded { spellings.append(small) }
        }
        // The last group depends on what follows in a longer text; without it the rest still matches.
        let base64 = raw.withUnsafeBytes { Base64.encode($0) }
        spellings.append(Array(base64.prefix(raw.count / 3 * 4)))
        var escaped: [UInt8] = []
        for byte in raw {
            if byte == 0x22 || byte == 0x5C { escaped.append(0x5C) }
            escaped.append(byte)
        }
        if escaped != raw { spellings.append(escaped) }
        return spellings
    }

    // MARK: Whole secrets

    /// Whether a live secret is in the bytes, in any of its spellings.
    func holdsSecret(_ bytes: UnsafeRawBufferPointer) -> Bool {
        // None is shorter.
        guard bytes.count >= Self.secretBytesMin else { return false }
        if fixedNeedles.isFound(in: bytes) { return true }
        for store in credentials where store.needles().isFound(in: bytes) { return true }
        return false
    }

    /// Replaces every live secret in `bytes`, raw, percent-encoded, base64-encoded or JSON-escaped, by `***`.
    package func scrub(_ bytes: inout [UInt8]) {
        fixedNeedles.replace(in: &bytes) { mark(of: $0) }
        for store in credentials { store.needles().replace(in: &bytes) { mark(of: $0) } }
    }

    // MARK: Beginnings

    /// As `scrub`, for bytes that may have been cut off: the beginning of a secret at their end is replaced too.
    package func scrubCut(_ bytes: inout [UInt8]) {
        scrub(&bytes)
        let longest = bytes.withUnsafeBytes { beginningOfSecret(in: $0) }
        // Of a part no mark would tell anything, and fewer bytes of a secret tell nothing.
        if longest >= Self.cutBytesMin { bytes.replaceSubrange((bytes.count - longest)..., with: Self.mask.rawBytes) }
    }

    private static let cutBytesMin = 4

    /// How many bytes at the end may be the beginning of a secret that goes on in what follows.
    func beginningOfSecret(in bytes: UnsafeRawBufferPointer) -> Int {
        credentials.reduce(fixedNeedles.beginning(in: bytes)) { max($0, $1.needles().beginning(in: bytes)) }
    }

    /// One byte less than the longest spelling of a secret: so much of the end of a piece may be the beginning of one.
    var overlap: Int { max(0, credentials.reduce(fixedNeedles.longest) { max($0, $1.needles().longest) } - 1) }
}
