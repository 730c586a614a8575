// What a store file holds after a logout: that there was one, and of which `initial` pair, so that a restart does not log in with it
// again. Holds no secret.
// Domain: cold

import COpenSSL
import CryoPipeline

/// The pair that the configuration hands out for a first start.
struct InitialPair: Sendable {
    var token: Secret?
    var refreshToken: Secret?
}

package struct LogoutMark: Sendable, Equatable {
    static let saltBytes = 16
    static let digestBytes = 32

    let salt: [UInt8]
    /// HMAC-SHA-256 of the pair under the salt, which is drawn anew each time.
    let digest: [UInt8]

    init(of pair: InitialPair) {
        salt = (0..<Self.saltBytes).map { _ in UInt8.random(in: .min ... .max) }
        digest = Self.digest(of: pair, salt)
    }

    /// From the text of a file; nil when it is none.
    init?(salt: String, digest: String) {
        guard let salt = Self.bytes(salt), let digest = Self.bytes(digest), salt.count == Self.saltBytes, digest.count == Self.digestBytes
        else { return nil }
        self.salt = salt
        self.digest = digest
    }

    /// Whether the logout was one of this pair. Another pair begins a new login.
    func isOf(_ pair: InitialPair) -> Bool { Self.digest(of: pair, salt) == digest }

    var saltText: String { Self.text(salt) }
    var digestText: String { Self.text(digest) }

    private static func digest(of pair: InitialPair, _ salt: [UInt8]) -> [UInt8] {
        // Lengths first, so that no two pairs read the same.
        var input: [UInt8] = []
        for secret in [pair.token, pair.refreshToken] {
            input += Array("\(secret?.count ?? -1):".utf8)
            secret?.withBytes { input += $0 }
        }
        var digest = [UInt8](repeating: 0, count: digestBytes)
        var count = UInt32(digestBytes)
        _ = HMAC(EVP_sha256(), salt, Int32(clamping: salt.count), input, input.count, &digest, &count)
        return digest
    }

    private static func text(_ bytes: [UInt8]) -> String {
        bytes.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
    }

    private static func bytes(_ text: String) -> [UInt8]? {
        let digits = Array(text.utf8)
        guard digits.count % 2 == 0 else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let byte = UInt8(String(decoding: digits[index...(index + 1)], as: UTF8.self), radix: 16) else { return nil }
            bytes.append(byte)
        }
        return bytes
    }
}

/// What a store file holds.
enum StoredLogin: Sendable {
    case nothing
    case pair(NewCredential)
    case loggedOut(LogoutMark)

    func isSame(as other: StoredLogin) -> Bool {
        switch (self, other) {
        case (.nothing, .nothing): true
        case (.loggedOut(let mark), .loggedOut(let otherMark)): mark == otherMark
        case (.pair(let pair), .pair(let otherPair)):
            pair.token.matches(otherPair.token) && Self.areSame(pair.refreshToken, otherPair.refreshToken)
        default: false
        }
    }

    private static func areSame(_ one: Secret?, _ other: Secret?) -> Bool {
        guard let one, let other else { return one == nil && other == nil }
        return one.matches(other)
    }
}
