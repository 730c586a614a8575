// What the configuration says about signing the requests to an upstream (RFC 9421), and the key at work.
// Domain: pure

package struct SignSettings: Sendable {
    package enum Algorithm: String, Sendable, CaseIterable { case hmacSHA256 = "hmac-sha256" }
    package enum KeyEncoding: String, Sendable, CaseIterable { case text, base64 }

    /// What can be covered besides fields (RFC 9421 §2.2).
    package static let derived = ["@method", "@target-uri", "@authority", "@scheme", "@request-target", "@path", "@query"]

    package var algorithm = Algorithm.hmacSHA256
    package var key: SecretReference
    package var keyEncoding = KeyEncoding.text
    /// Tells the upstream which key it is; nil: not told.
    package var keyID: String?
    package var label = "cryonet"
    /// Derived components, and fields in lower case; a field that the request does not have is left out.
    package var components = ["@method", "@authority", "@path", "@query"]
    /// The body too, by its Content-Digest (RFC 9530).
    package var coversBody = false
    /// How long the signature holds; 0: not told.
    package var expiresSeconds: UInt32 = 0
    package var hasNonce = false
    package var tellsAlgorithm = false
    package var tag: String?

    package init(key: SecretReference) { self.key = key }
}

/// A body's SHA-256 while the body comes in.
package struct DigestStream {
    package let update: (UnsafeRawBufferPointer) -> Void
    package let finish: () -> [UInt8]?

    package init(update: @escaping (UnsafeRawBufferPointer) -> Void, finish: @escaping () -> [UInt8]?) {
        self.update = update
        self.finish = finish
    }
}

/// Signs for one upstream. Holds no key itself: that is within `authenticate`, so that nothing here can print it.
package struct RequestSigner: Sendable {
    package let settings: SignSettings
    /// nil when the library fails.
    let authenticate: @Sendable (_ base: [UInt8]) -> [UInt8]?
    let beginDigest: @Sendable () -> DigestStream

    package init(
        _ settings: SignSettings, authenticate: @escaping @Sendable ([UInt8]) -> [UInt8]?,
        beginDigest: @escaping @Sendable () -> DigestStream
    ) {
        self.settings = settings
        self.authenticate = authenticate
        self.beginDigest = beginDigest
    }
}
