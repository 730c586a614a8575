// Stands between an exchange and the forwarder: notes what attempts brought, and keeps out what only an intermediary would send.
// Domain: worker

import CryoHTTP
import CryoPipeline
import CryoUpstream

final class AttemptWatch: Forwarder, AttemptReceiver {
    private let forwarder: CurlForwarder
    private let keepsRequestID: Bool
    private var exchange: Exchange?
    private(set) var attempts = 0
    /// The head of the last attempt, as the server sent it.
    private(set) var head: ResponseHead?
    private(set) var error: ForwardError?

    /// `keepsRequestID`: the program itself sends an X-Request-Id.
    init(_ forwarder: CurlForwarder, keepsRequestID: Bool) {
        self.forwarder = forwarder
        self.keepsRequestID = keepsRequestID
    }

    /// Breaks the circle of watch and exchange.
    func letGo() { exchange = nil }

    // MARK: From the exchange

    func begin(_ request: AttemptRequest, for exchange: Exchange) -> AttemptID {
        self.exchange = exchange
        attempts += 1
        head = nil
        error = nil
        var request = request
        // A call has one answer; it is no tunnel.
        request.isUpgrade = false
        // A program that calls an API is its client, no intermediary (RFC 9110 §7.6.3).
        for name in ["via", "forwarded", "x-forwarded-for", "x-forwarded-proto", "x-forwarded-host"] as [StaticString] {
            request.fields.remove(name)
        }
        if !keepsRequestID { request.fields.remove("x-request-id") }
        return forwarder.begin(request, receiver: self)
    }

    func cancel(_ attempt: AttemptID) { forwarder.cancel(attempt) }
    func resumeResponse(_ attempt: AttemptID) { forwarder.resumeResponse(attempt) }
    func requestBodyReady(_ attempt: AttemptID) { forwarder.requestBodyReady(attempt) }
    func sendRequestBody(_ attempt: AttemptID, _ bytes: UnsafeRawBufferPointer) -> Int { forwarder.sendRequestBody(attempt, bytes) }

    // MARK: From the forwarder

    /// There are no tunnels here: `begin` asks for none.
    func attemptReceivedTunnelEnd(_ id: AttemptID) {}

    func attemptReceivedHead(_ id: AttemptID, _ head: ResponseHead, framing: BodyFraming) {
        self.head = head
        var head = head
        // By these the pipeline marks its own replies; a server that is a gateway itself must not be taken for it.
        head.fields.remove("cryonet-failure")
        head.fields.remove("proxy-status")
        exchange?.attemptReceivedHead(id, head, framing: framing)
    }

    func attemptReceivedBody(_ id: AttemptID, _ bytes: UnsafeRawBufferPointer) -> Flow {
        exchange?.attemptReceivedBody(id, bytes) ?? .more
    }

    func attemptEnded(_ id: AttemptID, _ timing: AttemptTiming) { exchange?.attemptEnded(id, timing) }

    func attemptFailed(_ id: AttemptID, _ error: ForwardError, _ timing: AttemptTiming) {
        self.error = error
        exchange?.attemptFailed(id, error, timing)
    }

    func readRequestBody(_ id: AttemptID, into buffer: UnsafeMutableRawBufferPointer) -> RequestBodyRead {
        exchange?.readRequestBody(id, into: buffer) ?? .failed
    }

    func rewindRequestBody(_ id: AttemptID) -> Bool { exchange?.rewindRequestBody(id) ?? false }
}
