// One HTTP call from start to end on the calling thread, for token sources on queues of their own.
// Domain: cold

import CCurl
import CryoHTTP
import Glibc

package struct HTTPAnswer: Sendable {
    package var status: UInt16
    package var body: [UInt8]
    /// The server's clock by its Date, in seconds since 1970.
    package var date: Int64?
}

/// Why there is no answer. Holds no secret and nothing of the answer.
package struct CallFailure: Error, Sendable, CustomStringConvertible {
    package enum Kind: String, Sendable { case timeout, connect, tls, tooLarge, invalid, broken }
    package let kind: Kind
    package let detail: String
    package var description: String { detail }
}

package enum BlockingHTTPClient {
    /// A longer answer fails as `tooLarge`.
    package static let answerBytesMax = 1 << 20

    private final class Answer {
        var body: [UInt8] = []
        var isTooLarge = false
    }

    /// Verifies certificates, follows no redirect, uses no proxy of the environment.
    package static func perform(
        method: String, url: String, headers: [(name: String, value: String)], body: [UInt8], timeoutMilliseconds: UInt32, caFile: String?,
        unixSocket: String? = nil
    ) -> Result<HTTPAnswer, CallFailure> {
        CurlGlobal.initialize()
        // A secret read from a file may end in a line break, which would begin another header line.
        guard headers.allSatisfy({ isOneLine($0.name) && isOneLine($0.value) }) else {
            return .failure(CallFailure(kind: .invalid, detail: "a request header contains a control character"))
        }
        guard let easy = curl_easy_init() else { return .failure(CallFailure(kind: .broken, detail: "out of memory")) }
        defer { curl_easy_cleanup(easy) }
        var list: UnsafeMutablePointer<curl_slist>?
        defer { curl_slist_free_all(list) }
        for line in headers.map({ "\($0.name): \($0.value)" }) + ["Expect:"] {
            guard let longer = curl_slist_append(list, line) else { return .failure(CallFailure(kind: .broken, detail: "out of memory")) }
            list = longer
        }
        var options = EasyOptions(easy)
        options.set(CURLOPT_URL, url)
        options.set(CURLOPT_CUSTOMREQUEST, method)
        options.set(CURLOPT_PATH_AS_IS, 1)
        // Otherwise a body would be waited for that never comes.
        if method == "HEAD" { options.set(CURLOPT_NOBODY, 1) }
        if let unixSocket { options.set(CURLOPT_UNIX_SOCKET_PATH, unixSocket) }
        options.set(CURLOPT_PROTOCOLS_STR, "http,https")
        options.set(CURLOPT_PROXY, "")
        options.set(CURLOPT_NOPROXY, "*")
        options.set(CURLOPT_NOSIGNAL, 1)
        options.set(CURLOPT_FOLLOWLOCATION, 0)
        options.set(CURLOPT_TIMEOUT_MS, Int(timeoutMilliseconds))
        if let caFile {
            options.set(CURLOPT_CAINFO, caFile)
            // Otherwise the system's directory would be trusted beside the named file.
            options.unset(CURLOPT_CAPATH)
        }
        options.set(CURLOPT_HTTPHEADER, list: list)
        if !body.isEmpty || method == "POST" || method == "PUT" {
            options.set(CURLOPT_POSTFIELDSIZE_LARGE, offset: Int64(body.count))
            // One byte more than is sent, so that an empty body has an address too.
            (body + [0]).withUnsafeBytes { bytes in
                options.set(CURLOPT_COPYPOSTFIELDS, bytes: bytes.baseAddress?.assumingMemoryBound(to: CChar.self))
            }
        }
        let answer = Answer()
        let code = withExtendedLifetime(answer) { perform(easy, options, answer) }
        if answer.isTooLarge { return .failure(CallFailure(kind: .tooLarge, detail: "the answer is too large")) }
        guard code == CURLE_OK else { return .failure(failure(code)) }
        var status = 0
        cryo_easy_info_long(easy, CURLINFO_RESPONSE_CODE, &status)
        return .success(HTTPAnswer(status: UInt16(clamping: status), body: answer.body, date: date(easy)))
    }

    /// The Date of the last answer; nil when there is none, or more than one.
    private static func date(_ easy: UnsafeMutableRawPointer) -> Int64? {
        var header: UnsafeMutablePointer<curl_header>?
        guard curl_easy_header(easy, "Date", 0, UInt32(CURLH_HEADER), -1, &header) == CURLHE_OK, let header,
            header.pointee.amount == 1, let value = header.pointee.value
        else { return nil }
        return HTTPDate.parse(UnsafeRawBufferPointer(start: value, count: strlen(value)))
    }

    /// Not begun when an option is missing: the call would not be the one that was asked for.
    private static func perform(_ easy: UnsafeMutableRawPointer, _ given: EasyOptions, _ answer: Answer) -> CURLcode {
        var options = given
        // SAFETY: the answer outlives the call that uses the pointer.
        options.set(CURLOPT_WRITEDATA, pointer: Unmanaged.passUnretained(answer).toOpaque())
        options.set(CURLOPT_WRITEFUNCTION) { bytes, size, count, pointer in
            guard let pointer else { return 0 }
            // SAFETY: the pointer given above.
            let answer = Unmanaged<Answer>.fromOpaque(pointer).takeUnretainedValue()
            guard answer.body.count + size * count <= BlockingHTTPClient.answerBytesMax else {
                answer.isTooLarge = true
                return 0
            }
            answer.body.append(contentsOf: UnsafeRawBufferPointer(start: bytes, count: size * count))
            return size * count
        }
        return options.areSet ? curl_easy_perform(easy) : options.code
    }

    private static func isOneLine(_ text: String) -> Bool { text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 } }

    private static func failure(_ code: CURLcode) -> CallFailure {
        let detail = String(cString: curl_easy_strerror(code)).lowercased()
        let kind: CallFailure.Kind =
            switch code {
            case CURLE_OPERATION_TIMEDOUT: .timeout
            case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_CONNECT: .connect
            case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE: .tls
            case CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL: .invalid
            default: .broken
            }
        return CallFailure(kind: kind, detail: detail)
    }
}
