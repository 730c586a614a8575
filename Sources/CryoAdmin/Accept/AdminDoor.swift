// Who may ask the admin side (design §10): by Host, by Origin, and by the admin key where more than the health is asked for.
// Domain: pure

package import CryoHTTP
package import CryoPipeline

/// Immutable; a reload brings another one.
package struct AdminDoor: Sendable {
    private let hosts: [[UInt8]]
    private let key: Secret

    package init(hosts: [String], key: Secret) {
        self.hosts = hosts.map { Array($0.lowercased().utf8) }
        self.key = key
    }

    package enum Verdict {
        case open
        case refused(FailureReason, StaticString)
    }

    /// A page of another site gets nothing at all: it could neither read an answer nor carry the key, and its attempt is told as what
    /// it is. Probes name whatever address they found the gateway at, and learn nothing: `isProbe` leaves the Host alone.
    package func judgeSite(_ head: RequestHead, isProbe: Bool) -> Verdict {
        let host = host(of: head)
        if !isProbe {
            guard host.withUnsafeBytes({ SiteRule.isOwnHost($0, hosts) }) else {
                return .refused(.hostDenied, "host is not in the allow-list")
            }
        }
        if let index = head.fields.firstIndex(of: "origin") {
            let isOwn = head.fields.withValue(at: index) { origin in host.withUnsafeBytes { SiteRule.isSameOrigin(origin, host: $0) } }
            if !isOwn { return .refused(.originDenied, "cross-site request to the admin side") }
        } else if SiteRule.isCrossSite(head.fields) {
            return .refused(.originDenied, "cross-site request to the admin side")
        }
        return .open
    }

    package func judgeKey(_ head: RequestHead) -> Verdict {
        ClientKeyRule.authorizes(head.fields, key) ? .open : .refused(.adminKeyMissing, "admin key is missing or wrong")
    }

    /// An absolute target names the host by itself (RFC 9112 §3.2.2).
    private func host(of head: RequestHead) -> [UInt8] {
        if case .absolute(_, let authority, _, _) = head.targetForm { return Array(head.fields.bytes[authority]) }
        return head.fields.value(of: "host") ?? []
    }
}
