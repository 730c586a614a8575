// What the configuration says about one upstream.
// Domain: pure

package struct UpstreamSettings: Sendable {
    package var name: String
    package var url: UpstreamURL
    /// Set on a request that does not carry the field itself.
    package var headers: [(name: String, value: String)] = []
    package var timeouts = UpstreamTimeouts()
    package var tls = UpstreamTLS()
    package var usesHTTP2 = true
    /// nil: none.
    package var breaker: BreakerSettings?
    /// nil: requests are not signed.
    package var sign: SignSettings?

    package init(name: String, url: UpstreamURL) {
        self.name = name
        self.url = url
    }
}

/// An origin (RFC 6454 §4) and a path in front of every request's path.
package struct UpstreamURL: Sendable, Equatable {
    package var isTLS: Bool
    /// Lower case, IPv6 literals in brackets.
    package var host: String
    package var port: UInt16
    /// "" or "/prefix" without a final slash.
    package var basePath: String

    package init(isTLS: Bool, host: String, port: UInt16, basePath: String = "") {
        self.isTLS = isTLS
        self.host = host
        self.port = port
        self.basePath = basePath
    }

    package var scheme: String { isTLS ? "https" : "http" }
    package var hasDefaultPort: Bool { port == (isTLS ? 443 : 80) }
    /// The value of `Host`: the port only where it is not the scheme's own.
    package var authority: String { hasDefaultPort ? host : "\(host):\(port)" }
    package var origin: String { "\(scheme)://\(authority)" }
}

package struct UpstreamTimeouts: Sendable, Equatable {
    package var connectMilliseconds: UInt32 = 5_000
    /// From the start of an attempt to the response head.
    package var responseMilliseconds: UInt32 = 30_000
    /// Between two reads of a response body.
    package var idleMilliseconds: UInt32 = 30_000
    /// The whole exchange with refresh, retries and waits; streams are exempt once their head is sent. 0: none.
    package var totalMilliseconds: UInt32 = 60_000
    /// Without a byte in either direction of an upgraded connection.
    package var tunnelIdleMilliseconds: UInt32 = 3_600_000

    package init() {}
}

package struct UpstreamTLS: Sendable, Equatable {
    /// `sha256/BASE64` of the subject public key info.
    package var pins: [String] = []
    package var caFile: String?
    package var clientCertificateFile: String?
    package var clientKeyFile: String?
    /// `unsafe_skip_verify`
    package var skipsVerification = false

    package init() {}
}
