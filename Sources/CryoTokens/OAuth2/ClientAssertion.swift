// The JWT by which a client proves itself at a token endpoint (RFC 7523 §2.2 and §3).
// Domain: cold

import CryoJSON
import CryoPipeline

struct ClientAssertion {
    static let type = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
    /// Long enough for a slow call and two clocks that differ a little, short enough to be of no use to a thief.
    private static let lifetimeSeconds: Int64 = 120

    var clientID: String
    var audience: String
    var keyID: String?

    /// The compact form, signed with RS256 or ES256 as the key is.
    func signed(with pem: Secret, now: Int64) throws(SourceTrouble) -> [UInt8] {
        let key = try SigningKey(pem)
        var text = Base64URL.encode(header(key.algorithm))
        text.append(0x2E)
        text.append(contentsOf: Base64URL.encode(claims(now)))
        let signature = try key.sign(text)
        text.append(0x2E)
        text.append(contentsOf: Base64URL.encode(signature))
        return text
    }

    private func header(_ algorithm: String) -> [UInt8] {
        Self.object(keyID.map { [("alg", algorithm), ("typ", "JWT"), ("kid", $0)] } ?? [("alg", algorithm), ("typ", "JWT")])
    }

    private func claims(_ now: Int64) -> [UInt8] {
        // Each assertion has a name of its own: endpoints refuse one that they have seen (RFC 7523 §3).
        let name = String(decoding: SessionRevision.random().text, as: UTF8.self)
        return Self.object([("iss", clientID), ("sub", clientID), ("aud", audience), ("jti", name)]) { writer in
            for (claim, moment) in [("iat", now), ("exp", now + Self.lifetimeSeconds)] {
                writer.key(claim)
                Array("\(moment)".utf8).withUnsafeBytes { writer.raw($0) }
            }
        }
    }

    private static func object(_ members: [(String, String)], _ more: (inout JSONWriter) -> Void = { _ in }) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        for (name, value) in members {
            writer.key(name)
            Array(value.utf8).withUnsafeBytes { writer.string(bytes: $0) }
        }
        more(&writer)
        writer.endObject()
        return writer.bytes
    }
}
