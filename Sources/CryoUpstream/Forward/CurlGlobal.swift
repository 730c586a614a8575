// libcurl's process-wide state.
// Domain: cold

import CCurl
import Glibc

package enum CurlGlobal {
    /// Must have returned before the first worker or token source starts: `curl_global_init` is not safe beside other threads.
    /// Later calls do nothing and say the same. False: libcurl can't be used.
    @discardableResult
    package static func initialize() -> Bool { isInitialized }

    private static let isInitialized: Bool = {
        // libcurl with NOSIGNAL leaves SIGPIPE alone, and OpenSSL writes without MSG_NOSIGNAL.
        signal(SIGPIPE, SIG_IGN)
        return curl_global_init(CRYO_CURL_GLOBAL_DEFAULT) == CURLE_OK
    }()
}
