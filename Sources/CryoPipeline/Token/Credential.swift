// One version of a token: immutable, shared by the exchanges that use it.
// Domain: shared

import CryoJSON
import CryoSync

/// Identifies one login; compared for equality only (ledger AS1). Drawn at random for each.
package struct SessionRevision: Sendable, Hashable {
    package var high: UInt64
    package var low: UInt64

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    package static func random() -> SessionRevision {
        var generator = SystemRandomNumberGenerator()
        return SessionRevision(high: generator.next(), low: generator.next())
    }

    /// Lower-case UUID text with the version and variant bits of RFC 9562 §5.4.
    package var text: [UInt8] {
        let high = (self.high & 0xFFFF_FFFF_FFFF_0FFF) | 0x4000
        let low = (self.low & 0x3FFF_FFFF_FFFF_FFFF) | 0x8000_0000_0000_0000
        var text = Hexadecimal.digits(of: high) + Hexadecimal.digits(of: low)
        for border in [20, 16, 12, 8] { text.insert(0x2D, at: border) }
        return text
    }
}

package final class Credential: Sendable {
    package let token: Secret
    package let refreshToken: Secret?
    package let expiresAt: Int64?
    /// From here on a token in use is refreshed in the background.
    package let refreshAt: Int64?
    /// The store could not be written when this version came.
    package let isUnwritten: Bool
    /// Counts the versions of this token, from 1.
    package let version: UInt64
    package let revision: SessionRevision
    /// What requests carry, made once per version: the value of a header, or a pair of a query or cookie.
    package let injectedValue: [UInt8]
    private let used = Atomic<Bool>(false)

    package init(
        token: Secret, refreshToken: Secret?, expiresAt: Int64?, refreshAt: Int64? = nil, version: UInt64, revision: SessionRevision,
        injectedValue: [UInt8], isUnwritten: Bool = false
    ) {
        self.token = token
        self.refreshToken = refreshToken
        self.expiresAt = expiresAt
        self.refreshAt = refreshAt ?? expiresAt
        self.version = version
        self.revision = revision
        self.injectedValue = injectedValue
        self.isUnwritten = isUnwritten
    }

    /// True once an exchange has taken it: a token that nobody uses is not refreshed in the background.
    package var isUsed: Bool { used.load(ordering: .relaxed) }

    /// Called for each exchange; writes once per version, so that the workers do not fight for the cache line.
    package func noteUse() {
        if !used.load(ordering: .relaxed) { used.store(true, ordering: .relaxed) }
    }
}
