// One attempt on its way through libcurl: an easy handle, what its callbacks noted, and the bytes they copied.
// Domain: worker

import CCurl
import CryoHTTP
import CryoPipeline

/// Pooled: the handle, its buffers and its slot serve many attempts, one at a time. Its callbacks (CurlTransfer+Callbacks) copy
/// bytes and set flags; the forwarder acts on them once libcurl has returned.
final class CurlTransfer {
    /// Bytes received and not yet taken by the exchange; libcurl is paused above.
    static let receivedBytesMax = 262_144
    /// A larger receive block is given back when the transfer ends.
    private static let keptBytesMax = 65_536

    // SAFETY: the forwarder destroys its transfers before it goes.
    unowned(unsafe) let forwarder: CurlForwarder
    let profile: UpstreamProfile
    let easy: UnsafeMutableRawPointer?
    var id: AttemptID

    // The attempt.
    var receiver: (any AttemptReceiver)?
    var isIdempotent = false
    var isHead = false
    /// -1: unknown, the body is chunked.
    var uploadLength: Int64 = 0
    var hasUpload = false

    // What the callbacks noted.
    var assembler = ResponseAssembler(limits: HeadLimits(fieldBytesMax: 65_536, headBytesMax: 262_144, fieldsMax: 512))
    var received = ByteBlock()
    var hasHeadLine = false
    var hasHead = false
    var isMalformed = false
    var isReceivePaused = false
    var isSendPaused = false
    var uploaded: Int64 = 0
    var uploadEnded = false
    var bodyFailed = false
    /// Times libcurl was about to send the request on a connection.
    var requestsMade = 0
    var retryRefused = false

    // What the forwarder knows.
    var isAdded = false
    var isTouched = false
    /// Waits to be added to libcurl, or taken out of it, because libcurl was running.
    var isPostponed = false
    var isDelivering = false
    var headDelivered = false
    var responseFraming = BodyFraming.none
    var status: UInt16 = 0
    var delivered: UInt64 = 0
    var isFlowPaused = false
    var wantsSend = false
    var uploadAbandoned = false
    var result: CURLcode?

    private var lines = RequestLines()
    private var text = ByteBlock()
    private var method: [UInt8] = []

    init(profile: UpstreamProfile, id: AttemptID, forwarder: CurlForwarder) {
        self.profile = profile
        self.id = id
        self.forwarder = forwarder
        easy = curl_easy_init()
        profile.configure(easy)
        installCallbacks()
    }

    deinit { curl_easy_cleanup(easy) }

    /// Sets everything that differs from request to request. False when memory is short.
    func prepare(_ request: AttemptRequest, for receiver: any AttemptReceiver) -> Bool {
        self.receiver = receiver
        isIdempotent = request.isIdempotent
        let head: StaticString = "HEAD"
        isHead = request.method.elementsEqual(head.rawBytes)
        switch request.framing {
        case .length(let length) where length > 0: setUpload(Int64(clamping: length))
        case .chunked, .untilClose: setUpload(-1)
        case .none, .length: setNoUpload()
        }
        let announcesEmptyBody = request.framing == .length(0)
        guard let list = lines.build(request.fields, announcesEmptyBody: announcesEmptyBody) else { return false }
        cryo_easy_list(easy, CURLOPT_HTTPHEADER, list)
        return set(CURLOPT_REQUEST_TARGET, request.target) && setMethod(request.method)
    }

    /// The order matters: each of these options also chooses libcurl's idea of the method.
    private func setUpload(_ length: Int64) {
        hasUpload = true
        uploadLength = length
        cryo_easy_long(easy, CURLOPT_NOBODY, 0)
        cryo_easy_long(easy, CURLOPT_UPLOAD, 1)
        cryo_easy_offset(easy, CURLOPT_INFILESIZE_LARGE, curl_off_t(length))
    }

    private func setNoUpload() {
        hasUpload = false
        uploadLength = 0
        cryo_easy_long(easy, CURLOPT_HTTPGET, 1)
        if isHead { cryo_easy_long(easy, CURLOPT_NOBODY, 1) }
    }

    /// libcurl copies the string, so it is set only when it changes.
    private func setMethod(_ new: [UInt8]) -> Bool {
        if method == new { return true }
        method = new
        return set(CURLOPT_CUSTOMREQUEST, new)
    }

    private func set(_ option: CURLoption, _ value: [UInt8]) -> Bool {
        text.removeAll()
        guard value.withUnsafeBytes({ text.append($0) }), text.append(0), let base = text.base else { return false }
        return cryo_easy_string(easy, option, base.assumingMemoryBound(to: CChar.self)) == CURLE_OK
    }

    /// Makes ready for the next attempt, after the handle has left the multi.
    func reset() {
        receiver = nil
        assembler.reset()
        received.shrink(above: Self.keptBytesMax)
        hasHeadLine = false
        hasHead = false
        isMalformed = false
        isReceivePaused = false
        isSendPaused = false
        uploaded = 0
        uploadEnded = false
        bodyFailed = false
        requestsMade = 0
        retryRefused = false
        isDelivering = false
        headDelivered = false
        delivered = 0
        isFlowPaused = false
        wantsSend = false
        uploadAbandoned = false
        result = nil
    }

    /// The whole response has been delivered, by its own framing.
    var isResponseComplete: Bool {
        switch responseFraming {
        case .none: headDelivered
        case .length(let length): headDelivered && delivered >= length
        case .chunked, .untilClose: false
        }
    }

    var error: ForwardError? {
        guard let result else { return nil }
        // A connection closed in the middle of a head is no error to libcurl.
        if result == CURLE_OK, !isMalformed { return hasHead ? nil : hasHeadLine ? .reset : .emptyResponse }
        var context = CurlOutcomeContext()
        context.hasHead = headDelivered
        context.hasPartOfHead = hasHeadLine
        context.retryRefused = retryRefused
        context.bodyFailed = bodyFailed
        context.isMalformed = isMalformed
        context.isResolved = microseconds(CURLINFO_NAMELOOKUP_TIME_T) > 0
        var number = 0
        cryo_easy_info_long(easy, CURLINFO_OS_ERRNO, &number)
        context.systemError = Int32(truncatingIfNeeded: number)
        return ForwardError(result, context)
    }

    var timing: AttemptTiming {
        var timing = AttemptTiming()
        timing.dns = microseconds(CURLINFO_NAMELOOKUP_TIME_T)
        timing.connect = microseconds(CURLINFO_CONNECT_TIME_T)
        timing.tls = microseconds(CURLINFO_APPCONNECT_TIME_T)
        timing.firstByte = microseconds(CURLINFO_STARTTRANSFER_TIME_T)
        timing.total = microseconds(CURLINFO_TOTAL_TIME_T)
        var connects = 0
        cryo_easy_info_long(easy, CURLINFO_NUM_CONNECTS, &connects)
        timing.reusedConnection = connects == 0 && requestsMade > 0
        return timing
    }

    private func microseconds(_ name: CURLINFO) -> UInt32 {
        var value: curl_off_t = 0
        cryo_easy_info_offset(easy, name, &value)
        return UInt32(clamping: value)
    }
}
