// What a libcurl result means for an attempt.
// Domain: pure

import CCurl
import CryoPipeline
import Glibc

/// What libcurl's code does not say.
struct CurlOutcomeContext {
    var hasHead = false
    /// Some of a head came, though not all.
    var hasPartOfHead = false
    /// Our callback ended the transfer rather than repeat a request.
    var retryRefused = false
    var bodyFailed = false
    var isMalformed = false
    /// The name was resolved (or needed no resolving).
    var isResolved = true
    var systemError: Int32 = 0
}

extension ForwardError {
    /// The error of a transfer that ended with `code`, which is not CURLE_OK.
    init(_ code: CURLcode, _ context: CurlOutcomeContext) {
        if context.isMalformed {
            self = .malformedResponse
        } else if context.bodyFailed {
            self = .requestBodyFailed
        } else if context.retryRefused {
            self = .reset
        } else {
            self = Self.plain(code, context)
        }
    }

    private static func plain(_ code: CURLcode, _ context: CurlOutcomeContext) -> ForwardError {
        switch code {
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: return .dnsFailed
        case CURLE_COULDNT_CONNECT: return context.systemError == ETIMEDOUT ? .connectTimedOut : .connectRefused
        // Only the connection has a time limit of libcurl's; resolving counts into it.
        case CURLE_OPERATION_TIMEDOUT: return context.isResolved ? .connectTimedOut : .dnsFailed
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_CRL_BADFILE,
            CURLE_SSL_INVALIDCERTSTATUS:
            return .tlsCertificate
        case CURLE_SSL_PINNEDPUBKEYNOTMATCH: return .pinMismatch
        case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER, CURLE_USE_SSL_FAILED, CURLE_SSL_ENGINE_NOTFOUND,
            CURLE_SSL_ENGINE_SETFAILED, CURLE_SSL_ENGINE_INITFAILED, CURLE_SSL_SHUTDOWN_FAILED, CURLE_SSL_CLIENTCERT:
            return .tlsFailed
        case CURLE_GOT_NOTHING: return context.hasHead ? .truncated : context.hasPartOfHead ? .reset : .emptyResponse
        case CURLE_PARTIAL_FILE: return context.hasHead ? .truncated : .reset
        case CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_HTTP2, CURLE_HTTP2_STREAM, CURLE_HTTP3, CURLE_QUIC_CONNECT_ERROR:
            return context.hasHead ? .truncated : .reset
        case CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL, CURLE_BAD_CONTENT_ENCODING, CURLE_WRITE_ERROR,
            CURLE_HTTP_RETURNED_ERROR:
            return .malformedResponse
        case CURLE_SEND_FAIL_REWIND, CURLE_READ_ERROR, CURLE_ABORTED_BY_CALLBACK, CURLE_UPLOAD_FAILED: return .requestBodyFailed
        // Out of memory, a bad option, a resource the process has not: the local side failed.
        default: return context.hasHead ? .truncated : .requestBodyFailed
        }
    }
}
