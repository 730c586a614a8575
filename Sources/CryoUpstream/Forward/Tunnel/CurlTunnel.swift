// One attempt that becomes a tunnel: a connection made by libcurl (CURLOPT_CONNECT_ONLY). An upgrade speaks our own HTTP/1.1 on it, and
// after a 101 the bytes of the tunnel follow; a CONNECT is a tunnel once it is connected.
// Domain: worker

import CCurl
import CryoHTTP
import CryoIO
import CryoPipeline

/// Not pooled: the connection ends with the attempt. A reader that says `.pause` stops receiving; at most one receive (128 KiB) waits here,
/// and at most `sendBytesMax` on the way up.
final class CurlTunnel: UpstreamConnection {
    /// Client bytes taken at once; also the size of a TLS record.
    static let sendBytesMax = 16_384
    /// Receives and sends before other connections get their turn.
    static let roundsMax = 16

    enum Phase {
        /// libcurl makes the connection. Then `head`, or `tunnel` for CONNECT.
        case connecting
        /// The request is going out, the response head is coming. Then `body`, `tunnel`.
        case head
        /// An answer other than 101, with that framing. Stays.
        case body
        /// Bytes pass both ways. Stays.
        case tunnel
    }

    enum Outcome { case ended, failed(ForwardError) }

    let attempt: AttemptID
    private let isConnect: Bool
    private let startedAt: UInt64
    var receiver: (any AttemptReceiver)?

    var phase = Phase.connecting
    var outcome: Outcome?
    var isPaused = false
    private var canRead = true
    private var canWrite = true
    private var isPumping = false
    /// CONNECT: the connection is made, and the exchange does not know yet.
    private var isUnannounced = false
    private var isSendEnded = false
    private var isReceiveEnded = false
    private var hasClientBytes = true
    private var firstByteAt: UInt64 = 0

    /// What is going out. libcurl must be given the same bytes again after CURLE_AGAIN, so they stay where they are.
    private let out: UnsafeMutableRawBufferPointer
    private var outRange: Range<Int>

    // The response, taken apart in CurlTunnel+Response.
    var headReader = ResponseHeadReader(limits: .response)
    var body = ResponseBodyReader()
    private var kept: [UInt8] = []

    init(_ request: AttemptRequest, attempt: AttemptID, receiver: any AttemptReceiver, forwarder: CurlForwarder) {
        self.attempt = attempt
        self.receiver = receiver
        isConnect = request.isConnect
        var upstream = request.upstream.settings
        // The client makes its own TLS through the tunnel, with the upstream itself: no pin, authority or certificate of ours applies.
        if isConnect { upstream.url.isTLS = false }
        startedAt = forwarder.worker.nanoseconds
        let head = isConnect ? [] : Self.requestHead(request)
        out = .allocate(byteCount: max(head.count, Self.sendBytesMax), alignment: 16)
        out.copyBytes(from: head)
        outRange = 0..<head.count
        super.init(UpstreamProfile(upstream), forwarder: forwarder)
    }

    deinit { out.deallocate() }

    private static func requestHead(_ request: AttemptRequest) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.appendHead(bytesMax: HeadWriter.bytesMax(of: request)) { head in
            head.appendRequest(request)
            head.appendField("Connection", "Upgrade")
            head.appendField("Upgrade", "websocket")
            head.appendLineEnd()
        }
        return bytes
    }

    // MARK: From the forwarder

    /// libcurl has connected, or not.
    override func connected(_ result: CURLcode) {
        guard phase == .connecting, receiver != nil, outcome == nil else { return }
        if result != CURLE_OK {
            outcome = .failed(connectError(result))
        } else if takeSocket() {
            phase = isConnect ? .tunnel : .head
            isUnannounced = isConnect
        } else {
            outcome = .failed(.reset)
        }
        worker.afterBatch(self)
    }

    func cancel() {
        receiver = nil
        worker.afterBatch(self)
    }

    func resume() {
        isPaused = false
        worker.afterBatch(self)
    }

    func clientBytesReady() {
        hasClientBytes = true
        worker.afterBatch(self)
    }

    // MARK: Events

    override func ready(_ events: UInt32) {
        if events & EventMask.writable != 0 { canWrite = true }
        if events & (EventMask.readable | EventMask.peerClosed | EventMask.hangUp | EventMask.error) != 0 { canRead = true }
        pump()
    }

    override func deadlineReached(_ nanoseconds: UInt64) { pump() }

    override func batchEnded() {
        if isClosed { return }
        if receiver == nil { return forwarder.close(self) }
        if !isAdded, outcome == nil { return forwarder.begin(self) }
        pump()
    }

    /// Moves bytes both ways as far as both sides take them, then tells how the attempt ended if it has.
    private func pump() {
        guard !isPumping, !isClosed else { return }
        isPumping = true
        if isUnannounced {
            isUnannounced = false
            body.begin(.untilClose)
            receiver?.attemptReceivedHead(attempt, ResponseHead(status: 200, fields: FieldSection()), framing: .untilClose)
        }
        var rounds = 0
        while receiver != nil, outcome == nil, phase != .connecting {
            if rounds == Self.roundsMax {
                wake(at: worker.nanoseconds + 1)
                break
            }
            rounds += 1
            let hasSent = send()
            let hasReceived = receive()
            if !hasSent, !hasReceived { break }
        }
        isPumping = false
        conclude()
    }

    private func conclude() {
        guard let receiver else { return forwarder.close(self) }
        guard let outcome, !isPaused else { return }
        // The sending side may have ended the tunnel while bytes for the client were waiting here.
        if !kept.isEmpty {
            let bytes = kept
            kept = []
            bytes.withUnsafeBytes { deliver($0) }
            if isPaused { return }
        }
        let timing = timing
        forwarder.close(self)
        switch outcome {
        case .ended: receiver.attemptEnded(attempt, timing)
        case .failed(let error): receiver.attemptFailed(attempt, error, timing)
        }
    }

    // MARK: Sending

    /// True when something has moved.
    private func send() -> Bool {
        guard canWrite, !isSendEnded, !outRange.isEmpty || takeClientBytes() else { return false }
        switch write(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(out)[outRange])) {
        case .bytes(let count) where count > 0:
            outRange = outRange.lowerBound + count..<outRange.upperBound
            return true
        case .bytes, .wouldBlock:
            canWrite = false
            return false
        case .failed:
            // The upstream takes nothing more. Whether it has said why is for the receiving side to find out.
            isSendEnded = true
            canRead = true
            if isReceiveEnded { outcome = .ended }
            return true
        }
    }

    private func takeClientBytes() -> Bool {
        guard phase == .tunnel, hasClientBytes, let receiver else { return false }
        let room = UnsafeMutableRawBufferPointer(rebasing: out[..<Self.sendBytesMax])
        switch receiver.readRequestBody(attempt, into: room) {
        case .bytes(let count) where count > 0:
            outRange = 0..<count
            return true
        case .wait, .bytes: hasClientBytes = false
        case .end: endSending()
        case .failed: outcome = .failed(.requestBodyFailed)
        }
        return false
    }

    /// The client's end goes on behind its last byte. TLS can't be ended one way through libcurl: there the tunnel ends.
    private func endSending() {
        isSendEnded = true
        if isTLS || isReceiveEnded { outcome = .ended } else { Socket.shutdownWrite(descriptor) }
    }

    // MARK: Receiving

    private func receive() -> Bool {
        guard !isPaused, outcome == nil, receiver != nil else { return false }
        if !kept.isEmpty {
            let bytes = kept
            kept = []
            bytes.withUnsafeBytes { take($0) }
            return true
        }
        guard canRead, !isReceiveEnded else { return false }
        let buffer = forwarder.receiveBuffer
        switch read(into: buffer) {
        case .bytes(let count):
            if firstByteAt == 0 { firstByteAt = worker.nanoseconds }
            take(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[..<count]))
            return true
        case .end:
            isReceiveEnded = true
            endOfBytes()
            return true
        case .wouldBlock:
            canRead = false
            return false
        case .failed:
            isReceiveEnded = true
            outcome = .failed(phase == .head ? .reset : .truncated)
            return false
        }
    }

    private func take(_ bytes: UnsafeRawBufferPointer) {
        var used = 0
        while used < bytes.count, receiver != nil, outcome == nil {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[used...])
            if isPaused {
                kept.append(contentsOf: rest)
                return
            }
            used += takeResponse(rest)
        }
    }

    private func endOfBytes() {
        switch phase {
        case .connecting, .head: outcome = .failed(firstByteAt == 0 ? .emptyResponse : .reset)
        case .body: outcome = body.framing == .untilClose ? .ended : .failed(.truncated)
        case .tunnel where isSendEnded: outcome = .ended
        case .tunnel: receiver?.attemptReceivedTunnelEnd(attempt)
        }
    }

    private var timing: AttemptTiming {
        var timing = connectTiming
        timing.firstByte = firstByteAt == 0 ? 0 : UInt32(clamping: (firstByteAt - startedAt) / 1_000)
        timing.total = UInt32(clamping: (worker.nanoseconds - startedAt) / 1_000)
        return timing
    }
}
