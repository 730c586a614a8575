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
    /// libcurl has taken every option. A handle that lacks one serves nobody, now or later.
    private(set) var isSound = true
    var id: AttemptID

    // The attempt.
    var receiver: (any AttemptReceiver)?
    var isIdempotent = false
    var isHead = false
    /// -1: unknown, the body is chunked.
    var uploadLength: Int64 = 0
    var hasUpload = false

    // What the callbacks noted.
    var assembler = ResponseAssembler(limits: .response)
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
        var options = EasyOptions(easy)
        profile.configure(&options)
        installCallbacks(&options)
        isSound = options.areSet
    }

    deinit { curl_easy_cleanup(easy) }

    /// Sets everything that differs from request to request. False when memory is short; the handle is of no use then.
    func prepare(_ request: AttemptRequest, for receiver: any AttemptReceiver) -> Bool {
        self.receiver = receiver
        guard isSound else { return false }
        var options = EasyOptions(easy)
        isSound = set(request, &options) && options.areSet
        return isSound
    }

    private func set(_ request: AttemptRequest, _ options: inout EasyOptions) -> Bool {
        isIdempotent = request.isIdempotent
        let head: StaticString = "HEAD"
        isHead = request.method.elementsEqual(head.rawBytes)
        switch request.framing {
        case .length(let length) where length > 0: setUpload(Int64(clamping: length), &options)
        case .chunked, .untilClose: setUpload(-1, &options)
        case .none, .length: setNoUpload(&options)
        }
        let announcesEmptyBody = request.framing == .length(0)
        guard let list = lines.build(request.fields, announcesEmptyBody: announcesEmptyBody) else { return false }
        options.set(CURLOPT_HTTPHEADER, list: list)
        return set(CURLOPT_REQUEST_TARGET, request.target, &options) && setMethod(request.method, &options)
    }

    /// The order matters: each of these options also chooses libcurl's idea of the method.
    private func setUpload(_ length: Int64, _ options: inout EasyOptions) {
        hasUpload = true
        uploadLength = length
        options.set(CURLOPT_NOBODY, 0)
        options.set(CURLOPT_UPLOAD, 1)
        options.set(CURLOPT_INFILESIZE_LARGE, offset: length)
    }

    private func setNoUpload(_ options: inout EasyOptions) {
        hasUpload = false
        uploadLength = 0
        options.set(CURLOPT_HTTPGET, 1)
        if isHead { options.set(CURLOPT_NOBODY, 1) }
    }

    /// libcurl copies the string, so it is set only when it changes.
    private func setMethod(_ new: [UInt8], _ options: inout EasyOptions) -> Bool {
        if method == new { return true }
        method = new
        return set(CURLOPT_CUSTOMREQUEST, new, &options)
    }

    private func set(_ option: CURLoption, _ value: [UInt8], _ options: inout EasyOptions) -> Bool {
        text.removeAll()
        guard value.withUnsafeBytes({ text.append($0) }), text.append(0), let base = text.base else { return false }
        options.set(option, bytes: base.assumingMemoryBound(to: CChar.self))
        return options.areSet
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
        context.takeConnection(of: easy)
        return ForwardError(result, context)
    }

    var timing: AttemptTiming {
        var timing = AttemptTiming(connectionOf: easy)
        timing.firstByte = AttemptTiming.microseconds(CURLINFO_STARTTRANSFER_TIME_T, of: easy)
        timing.total = AttemptTiming.microseconds(CURLINFO_TOTAL_TIME_T, of: easy)
        var connects = 0
        cryo_easy_info_long(easy, CURLINFO_NUM_CONNECTS, &connects)
        timing.reusedConnection = connects == 0 && requestsMade > 0
        return timing
    }
}
