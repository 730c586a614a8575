// What the configuration says about the client side: where to listen, which hosts to answer for, and the limits.
// Domain: pure

package struct ListenSettings: Sendable, Equatable {
    package enum Address: Sendable, Equatable {
        /// A literal IPv4 or IPv6 address (without brackets); port 0 lets the system choose.
        case tcp(host: String, port: UInt16)
        case unix(path: String)
    }
    package var address: Address
    /// Hosts a request may name, lower case, without port (design §10: DNS rebinding).
    package var hosts: [String] = ["localhost", "127.0.0.1", "[::1]"]
    /// Peers whose X-Forwarded-* and Forwarded fields are kept and added to; everybody else's are replaced.
    package var trustedProxies: [AddressBlock] = []
    /// What a client that shuts its sending side after a request means by it.
    package enum HalfClose: String, Sendable, CaseIterable {
        /// It has left, as nginx takes it: the exchange is cancelled.
        case gone
        /// It has said everything and waits for the answer.
        case keep
    }
    package var halfClose: HalfClose = .gone
    /// What CONNECT may reach.
    package enum Connect: String, Sendable, CaseIterable {
        case off
        /// The host and port of a configured upstream, as a plain tunnel.
        case upstreams
    }
    package var connect: Connect = .off
    /// `unsafe_listen`: an address that is not loopback was asked for by that word.
    package var allowsRemote = false

    /// Files of TLS towards clients, all PEM.
    package struct TLS: Sendable, Equatable {
        package var certificateFile: String
        package var keyFile: String
        /// Clients must show a certificate of this authority.
        package var clientCAFile: String?

        package init(certificateFile: String, keyFile: String, clientCAFile: String? = nil) {
            self.certificateFile = certificateFile
            self.keyFile = keyFile
            self.clientCAFile = clientCAFile
        }
    }
    package var tls: TLS?
    /// Permissions of a socket file.
    package var mode: UInt32 = 0o600
    /// Users who may connect to a UNIX socket; empty: whoever the mode admits.
    package var peerUIDs: [UInt32] = []

    package init(address: Address) { self.address = address }
}

/// Bounds of the client side. Each has a line in Limits.md.
package struct LimitSettings: Sendable, Equatable {
    package var headBytesMax = 65_536
    /// 0: no bound; bodies are streamed.
    package var bodyBytesMax: UInt64 = 0
    package var headTimeoutMilliseconds: UInt32 = 10_000
    package var bodyTimeoutMilliseconds: UInt32 = 30_000
    package var idleTimeoutMilliseconds: UInt32 = 60_000
    package var writeTimeoutMilliseconds: UInt32 = 30_000
    package var connectionsMax = 10_000
    package var drainTimeoutMilliseconds: UInt32 = 30_000

    package init() {}
}
