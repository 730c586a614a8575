// libcurl's process-wide state.
// Domain: cold

import CCurl
import Glibc

package enum CurlGlobal {
    /// Must have returned before the first worker or token source starts: `curl_global_init` is not safe beside other threads.
    /// Later calls do nothing and say the same. False: libcurl can't be used.
    @discardableResult
    package static func initialize() -> Bool { isInitialized }

    /// False where `CRYONET_FORWARDER=libcurl` leaves HTTP/1.1 to libcurl too, so that the tests can go both ways.
    package static let allowsLane = getenv("CRYONET_FORWARDER").map { strcmp($0, "libcurl") != 0 } ?? true

    /// The contexts of its TLS connections are OpenSSL's.
    static let speaksOpenSSL = cryo_curl_tls_version().map { strncmp($0, "OpenSSL/", 8) == 0 } ?? false

    private static let isInitialized: Bool = {
        // libcurl with NOSIGNAL leaves SIGPIPE alone, and OpenSSL writes without MSG_NOSIGNAL.
        signal(SIGPIPE, SIG_IGN)
        return curl_global_init(CRYO_CURL_GLOBAL_DEFAULT) == CURLE_OK
    }()
}
