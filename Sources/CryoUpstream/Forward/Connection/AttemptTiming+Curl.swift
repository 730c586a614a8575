// What libcurl's handle tells of the connection it made or failed to make.
// Domain: worker

import CCurl
import CryoPipeline

extension AttemptTiming {
    init(connectionOf easy: UnsafeMutableRawPointer?) {
        self.init()
        dns = Self.microseconds(CURLINFO_NAMELOOKUP_TIME_T, of: easy)
        connect = Self.microseconds(CURLINFO_CONNECT_TIME_T, of: easy)
        tls = Self.microseconds(CURLINFO_APPCONNECT_TIME_T, of: easy)
    }

    static func microseconds(_ name: CURLINFO, of easy: UnsafeMutableRawPointer?) -> UInt32 {
        var value: curl_off_t = 0
        cryo_easy_info_offset(easy, name, &value)
        return UInt32(clamping: value)
    }
}

extension CurlOutcomeContext {
    /// How far it came, and the system's error.
    mutating func takeConnection(of easy: UnsafeMutableRawPointer?) {
        isResolved = AttemptTiming.microseconds(CURLINFO_NAMELOOKUP_TIME_T, of: easy) > 0
        var number = 0
        cryo_easy_info_long(easy, CURLINFO_OS_ERRNO, &number)
        systemError = Int32(truncatingIfNeeded: number)
    }
}
