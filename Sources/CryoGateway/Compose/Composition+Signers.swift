// The keys that sign requests, read once for each configuration, and OpenSSL behind them.
// Domain: cold (signing itself: worker)

import CryoIO
import CryoPipeline
import CryoTokens

extension Composition {
    /// What signs for each upstream, by name, and the keys, so that they are never told.
    static func signers(
        _ upstreams: [UpstreamSettings], _ log: Log
    ) throws(GatewayError) -> (signers: [String: RequestSigner], secrets: [Secret]) {
        var signers: [String: RequestSigner] = [:]
        var secrets: [Secret] = []
        for upstream in upstreams {
            guard let settings = upstream.sign else { continue }
            let place = "upstreams.\(upstream.name).sign.key"
            let written = try resolve(settings.key, at: place)
            let key = try decoded(written, settings.keyEncoding, at: place)
            if key.count < signingKeyBytesMin { log.warning("\(place): shorter than \(signingKeyBytesMin) bytes is easy to guess") }
            secrets += [written, key]
            signers[upstream.name] = RequestSigner(
                settings, authenticate: { base in key.withBytes { HMACSHA256.code(of: base, key: $0) } },
                beginDigest: {
                    let digest = SHA256Stream()
                    return DigestStream(update: { digest.update($0) }, finish: { digest.finish() })
                })
        }
        return (signers, secrets)
    }

    /// RFC 2104 §3: a shorter key than the code is discouraged; half of it is where guessing begins.
    private static let signingKeyBytesMin = 16

    private static func resolve(_ reference: SecretReference, at place: String) throws(GatewayError) -> Secret {
        switch SecretResolver.resolve(reference) {
        case .success(let key): return key
        case .failure(let problem): throw GatewayError("\(place): \(problem)")
        }
    }

    private static func decoded(_ key: Secret, _ encoding: SignSettings.KeyEncoding, at place: String) throws(GatewayError) -> Secret {
        guard encoding == .base64 else { return key }
        guard let bytes = key.withBytes({ Base64Text.decoded($0) }), !bytes.isEmpty else { throw GatewayError("\(place): not base64") }
        return Secret(bytes)
    }
}
