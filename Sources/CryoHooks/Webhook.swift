// A hook that is an HTTP call: POST of the event's JSON, signed so that the receiver knows who sent it, and when.
// Domain: cold

import COpenSSL
import CryoJSON
package import CryoPipeline
import CryoUpstream

package struct Webhook: Sendable {
    let settings: HookSettings.Webhook
    let secret: Secret?
    let timeoutMilliseconds: UInt32

    package init(_ settings: HookSettings.Webhook, secret: Secret?, timeoutMilliseconds: UInt32) {
        self.settings = settings
        self.secret = secret
        self.timeoutMilliseconds = timeoutMilliseconds
    }

    /// Any 2xx is success; redirects are not followed.
    package func deliver(_ event: HookEvent, unixSeconds: Int64, id: String) -> HookFailure? {
        let answer = BlockingHTTPClient.perform(
            method: "POST", url: settings.url, headers: headers(event, unixSeconds: unixSeconds, id: id), body: event.body,
            timeoutMilliseconds: timeoutMilliseconds, caFile: settings.caFile)
        switch answer {
        case .failure(let failure): return HookFailure(failure.detail)
        case .success(let answer):
            return 200..<300 ~= answer.status ? nil : HookFailure("the webhook answered \(answer.status)")
        }
    }

    func headers(_ event: HookEvent, unixSeconds: Int64, id: String) -> [(name: String, value: String)] {
        var headers = [
            (name: "Content-Type", value: event.kind == .failure ? "application/problem+json" : "application/json"),
            (name: "User-Agent", value: "cryonet"), (name: "CryoNet-Event", value: event.kind.rawValue),
            (name: "CryoNet-Delivery", value: id),
        ]
        if let secret {
            let signature = Self.signature(of: event.body, unixSeconds: unixSeconds, secret: secret)
            headers.append((name: "CryoNet-Signature", value: "t=\(unixSeconds),v1=\(signature)"))
        }
        let own = settings.headers
        headers.removeAll { header in own.contains { $0.name.lowercased() == header.name.lowercased() } }
        return headers + own
    }

    /// HMAC-SHA256 in lower-case hexadecimal over: the timestamp in decimal, a full stop, the body's bytes as sent.
    package static func signature(of body: [UInt8], unixSeconds: Int64, secret: Secret) -> String {
        let signed = Array("\(unixSeconds).".utf8) + body
        var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var count: UInt32 = 0
        secret.withBytes { key in
            _ = HMAC(EVP_sha256(), key, Int32(clamping: key.count), signed, signed.count, &digest, &count)
        }
        return Hexadecimal.text(digest.prefix(Int(count)))
    }
}
