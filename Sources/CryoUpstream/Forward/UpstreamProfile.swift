// What all transfers to one upstream have in common: the options set once per easy handle, and the handles waiting for reuse.
// Domain: worker

import CCurl
import CryoPipeline

/// A handle belongs to one profile for life, so no option of one upstream can reach a transfer to another. libcurl compares
/// host, port, scheme and the TLS options (verification, CA, client certificate, pins) before it shares a connection.
final class UpstreamProfile {
    /// Idle in the pool longer than this: not used again. Shorter than the idle limit of common servers (60 to 75 s).
    static let connectionIdleSecondsMax = 55
    /// Addresses are leases: no connection outlives this, so that a moved name is noticed.
    static let connectionAgeSecondsMax = 300
    static let connectionIdleNanosecondsMax = UInt64(connectionIdleSecondsMax) * 1_000_000_000
    static let connectionAgeNanosecondsMax = UInt64(connectionAgeSecondsMax) * 1_000_000_000
    static let receiveBytes = 65_536
    /// Read at once from a connection of our own: a body of 64 KiB comes with its head.
    static let ownReceiveBytes = 131_072

    private let settings: UpstreamSettings
    /// The plan seen last, which needs no comparison when it comes again.
    private var plan: UpstreamPlan?
    /// Attempts may still begin on it.
    var isCurrent = true
    var idle: [CurlTransfer] = []
    /// Of the lane, longest idle first.
    var idleConnections: [LaneConnection] = []
    /// Until then the upstream is known to speak HTTP/1.1 only, as it did when it was offered HTTP/2.
    private var refusesHTTP2Until: UInt64 = 0

    init(_ settings: UpstreamSettings) { self.settings = settings }

    var isTLS: Bool { settings.url.isTLS }

    /// HTTP/1.1 is what would be spoken anyway. HTTP/2 stays with libcurl's transfers, and so does finding out whether it is spoken.
    func takesLane(at nanoseconds: UInt64) -> Bool { !isTLS || !settings.usesHTTP2 || nanoseconds < refusesHTTP2Until }

    /// A transfer was answered in HTTP/1. Believed as long as a connection lives.
    func noteHTTP1(at nanoseconds: UInt64) { refusesHTTP2Until = nanoseconds &+ Self.connectionAgeNanosecondsMax }

    /// True when attempts of that plan may use these connections.
    func serves(_ plan: UpstreamPlan) -> Bool {
        if plan === self.plan { return true }
        guard matches(plan.settings) else { return false }
        self.plan = plan
        return true
    }

    private func matches(_ other: UpstreamSettings) -> Bool {
        settings.url == other.url && settings.usesHTTP2 == other.usesHTTP2 && settings.tls == other.tls
            && settings.timeouts.connectMilliseconds == other.timeouts.connectMilliseconds
    }

    /// Sets what never changes during the life of a handle.
    func configure(_ options: inout EasyOptions) {
        options.set(CURLOPT_URL, settings.url.origin + "/")
        options.set(CURLOPT_PROTOCOLS_STR, "http,https")
        // An environment's proxy must never see a token.
        options.set(CURLOPT_PROXY, "")
        options.set(CURLOPT_NOPROXY, "*")
        // Every coding libcurl knows; whether it decodes is said per request, and Accept-Encoding is ours to send.
        options.set(CURLOPT_NOSIGNAL, 1)
        options.set(CURLOPT_NOPROGRESS, 1)
        options.set(CURLOPT_PATH_AS_IS, 1)
        options.set(CURLOPT_FOLLOWLOCATION, 0)
        options.set(CURLOPT_HTTP09_ALLOWED, 0)
        options.set(CURLOPT_TCP_NODELAY, 1)
        options.set(CURLOPT_TCP_KEEPALIVE, 1)
        options.set(CURLOPT_BUFFERSIZE, Self.receiveBytes)
        options.set(CURLOPT_MAXAGE_CONN, Self.connectionIdleSecondsMax)
        options.set(CURLOPT_MAXLIFETIME_CONN, Self.connectionAgeSecondsMax)
        if settings.timeouts.connectMilliseconds > 0 {
            options.set(CURLOPT_CONNECTTIMEOUT_MS, Int(settings.timeouts.connectMilliseconds))
        }
        let usesHTTP2 = settings.url.isTLS && settings.usesHTTP2
        options.set(CURLOPT_HTTP_VERSION, Int(usesHTTP2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1))
        if settings.url.isTLS { configureTLS(&options) }
    }

    private func configureTLS(_ options: inout EasyOptions) {
        let tls = settings.tls
        options.set(CURLOPT_SSL_VERIFYPEER, tls.skipsVerification ? 0 : 1)
        options.set(CURLOPT_SSL_VERIFYHOST, tls.skipsVerification ? 0 : 2)
        if let file = tls.caFile {
            options.set(CURLOPT_CAINFO, file)
            // Otherwise the system's directory would be trusted beside the named file.
            options.unset(CURLOPT_CAPATH)
        }
        if let file = tls.clientCertificateFile {
            options.set(CURLOPT_SSLCERT, file)
            options.set(CURLOPT_SSLKEY, tls.clientKeyFile ?? file)
        }
        guard !tls.pins.isEmpty else { return }
        options.set(CURLOPT_PINNEDPUBLICKEY, tls.pins.map(Self.libcurlForm).joined(separator: ";"))
    }

    /// libcurl writes `sha256//…` where the configuration and RFC 7469 users write `sha256/…`. The digest itself may begin with a slash.
    static func libcurlForm(ofPin pin: String) -> String { "sha256//" + pin.dropFirst("sha256/".utf8.count) }
}
