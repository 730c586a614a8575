// The five ports of the pipeline. Adapters implement them; the pipeline imports no adapter.
// Domain: worker (ReplySink, Forwarder, Scheduler) | shared (AuditSink, TokenRefresher)

package import CryoHTTP

/// What the other side of a byte stream may do next.
@usableFromInline
package enum Flow: Sendable, Equatable {
    case more
    /// Stop delivering until told to go on.
    case pause

    /// Written out, so that other modules need not call for it.
    @inlinable @inline(__always)
    package static func == (left: Flow, right: Flow) -> Bool {
        switch (left, right) {
        case (.more, .more), (.pause, .pause): true
        default: false
        }
    }
}

/// The client's side of one exchange: the connection that waits for the reply.
///
/// Called on the worker that owns the exchange. Bytes are consumed (sent or copied) before a call returns. After `finish`
/// or `abort` the exchange calls nothing any more.
package protocol ReplySink: AnyObject {
    /// Sends `100 Continue` if the client still waits for it. Does nothing otherwise.
    func sendContinue()
    /// Sends the head. `framing` is what the body will be; the sink adds Date, Connection and the framing fields, and turns
    /// `chunked` into read-until-close for an HTTP/1.0 client. With status 101, or 200 for CONNECT, the connection becomes a tunnel:
    /// what `sendBody` gets goes out as it is, and the client's bytes come to `receiveBody` as they are.
    func sendHead(status: UInt16, fields: FieldSection, framing: BodyFraming)
    /// Sends body bytes. `.pause`: more than the sink's bound is waiting for the client; `Exchange.replyDrained` follows.
    func sendBody(_ bytes: UnsafeRawBufferPointer) -> Flow
    /// Ends the reply properly.
    func finish()
    /// Ends the reply so that the client sees that it is incomplete, by closing the connection.
    func abort()
    /// In a tunnel: the upstream sends nothing more. What is pending goes out, then our sending side is shut; the
    /// client's bytes are still taken.
    func endTunnelReply()
    /// The exchange takes request body bytes again after `receiveBody` said `.pause`.
    func resumeRequestBody()
}

/// Names an attempt at the forwarder: a slot and a generation, never a pointer. A stale name is ignored.
package struct AttemptID: Sendable, Hashable {
    package var slot: UInt32
    package var generation: UInt32

    package init(slot: UInt32, generation: UInt32) {
        self.slot = slot
        self.generation = generation
    }
}

/// One try against the upstream, complete and ready to be sent.
package struct AttemptRequest {
    /// One object as long as the configuration lives: who has seen it need not compare settings.
    package var upstream: UpstreamPlan
    package var method: [UInt8]
    /// Origin-form target as it goes on the wire, base path included.
    package var target: [UInt8]
    /// The end-to-end and gateway fields in order, `Host` included, framing fields excluded.
    package var fields: FieldSection
    package var framing: BodyFraming
    /// May be sent again on a new connection if a pooled one turns out dead before the first byte of an answer
    /// (RFC 9110 §9.2.2: safe or idempotent methods only).
    package var isIdempotent: Bool
    /// Asks for a WebSocket: the forwarder adds the fields of the upgrade, and takes a 101 that agrees for an answer. Then the request
    /// body is what the client sends through the tunnel.
    package var isUpgrade: Bool
    /// Asks for a tunnel to the upstream's host and port and nothing else: no TLS, no head. The connection made is told as a head with
    /// status 200, and the request body is what the client sends through the tunnel.
    package var isConnect = false

    package init(
        upstream: UpstreamPlan, method: [UInt8], target: [UInt8], fields: FieldSection, framing: BodyFraming, isIdempotent: Bool,
        isUpgrade: Bool = false
    ) {
        self.upstream = upstream
        self.method = method
        self.target = target
        self.fields = fields
        self.framing = framing
        self.isIdempotent = isIdempotent
        self.isUpgrade = isUpgrade
    }

    /// One that is still to be written.
    init(to upstream: UpstreamPlan, isIdempotent: Bool, isUpgrade: Bool) {
        self.init(
            upstream: upstream, method: [], target: [], fields: FieldSection(), framing: .none, isIdempotent: isIdempotent,
            isUpgrade: isUpgrade)
    }
}

/// Why an attempt ended without a complete answer. Each maps to one `FailureReason`.
package enum ForwardError: UInt8, Sendable, CaseIterable {
    case dnsFailed, connectRefused, connectTimedOut, tlsFailed, tlsCertificate, pinMismatch, reset, emptyResponse, malformedResponse
    /// The answer ended before its announced length (only after a head).
    case truncated
    /// The request body could not be read again for a dead pooled connection, or the local side failed.
    case requestBodyFailed
}

/// Times of one attempt in microseconds from its start; 0 where unknown.
package struct AttemptTiming: Sendable, Equatable {
    package var dns: UInt32 = 0
    package var connect: UInt32 = 0
    package var tls: UInt32 = 0
    package var firstByte: UInt32 = 0
    package var total: UInt32 = 0
    package var reusedConnection = false

    package init() {}
}

/// What an attempt's request body reader gets.
package enum RequestBodyRead: Sendable, Equatable {
    case bytes(Int)
    /// Nothing now; `Forwarder.requestBodyReady` follows.
    case wait
    case end
    /// The bytes are gone or the client is: the attempt must fail.
    case failed
}

/// The upstream side. One per worker.
///
/// Events of an attempt arrive on the same worker, never inside a call to the forwarder, in this order:
/// head, body…, then exactly one of ended and failed. After `cancel` nothing arrives. In a tunnel (a head with status 101, or that of a
/// CONNECT) the end of the upstream's bytes is an event of its own; ended comes when the client's bytes have ended too.
package protocol Forwarder: AnyObject {
    func begin(_ request: AttemptRequest, for exchange: Exchange) -> AttemptID
    func cancel(_ attempt: AttemptID)
    /// The exchange takes response body again after it answered `.pause`.
    func resumeResponse(_ attempt: AttemptID)
    /// The exchange's request body has bytes, or its end, after `.wait`.
    func requestBodyReady(_ attempt: AttemptID)
    /// Sends the next bytes of the request body from where they lie, when nothing waits to be sent before them. How many have gone out, which
    /// is none where that cannot be; the rest is read as ever. Calls nobody back.
    func sendRequestBody(_ attempt: AttemptID, _ bytes: UnsafeRawBufferPointer) -> Int
}

/// Time, timers, chance and the way back onto a worker. One per client connection, so that a timer set for one exchange
/// still serves the next: `wake(at:)` never needs to be undone.
package protocol Scheduler: AnyObject {
    /// Monotonic time, cached for one batch of events.
    var nanoseconds: UInt64 { get }
    /// Wall-clock time, cached for one batch of events, in microseconds since 1970.
    var unixMicroseconds: Int64 { get }
    /// Calls the current exchange's `deadlineReached` at or after that time.
    func wake(at nanoseconds: UInt64)
    func random() -> UInt64
    /// A way back onto this worker that any thread may use.
    var submit: @Sendable (@escaping @Sendable () -> Void) -> Void { get }
}

/// A new credential from a token source.
package struct NewCredential: Sendable {
    package var token: Secret
    /// nil keeps the present one.
    package var refreshToken: Secret?
    /// Seconds since 1970; nil when unknown.
    package var expiresAt: Int64?
    /// When a token in use should be refreshed in the background; nil: as long before `expiresAt` as the settings say.
    package var refreshAt: Int64?
    /// Its store could not be written: a restart loses it.
    package var isUnwritten = false

    package init(token: Secret, refreshToken: Secret? = nil, expiresAt: Int64? = nil, refreshAt: Int64? = nil) {
        self.token = token
        self.refreshToken = refreshToken
        self.expiresAt = expiresAt
        self.refreshAt = refreshAt
    }
}

/// The end of one refresh. A renewed credential is already stored durably when the source is asked to.
package enum RefreshResult: Sendable {
    case renewed(NewCredential)
    /// The source has nothing newer than what was refused.
    case unchanged
    /// A definite refusal (`invalid_grant`, `invalid_client`, a configured business code). `detail` holds no secret.
    case rejected(detail: String)
    /// A timeout, an unreachable or babbling endpoint, an unreadable file: may work later. `detail` holds no secret.
    case failed(detail: String)
}

/// A body without its content codings (RFC 9110 §8.4).
package enum DecodedContent: Sendable {
    case decoded([UInt8])
    /// More than the bound.
    case tooLarge
    /// Not what its coding says, or a coding that nobody here knows.
    case broken
}

/// Undoes the content codings of one body that passes in pieces. Belongs to one worker.
package protocol ContentReading: AnyObject {
    /// Gives the content that these bytes make known, in pieces. False: no more of this body can be read.
    func take(_ bytes: UnsafeRawBufferPointer, _ give: (UnsafeRawBufferPointer) -> Void) -> Bool
}

/// A source of tokens. Called from any worker; answers once, on any thread, after any time up to its own timeout.
package protocol TokenRefresher: Sendable {
    /// False for sources that can't produce another token (a literal).
    var canRefresh: Bool { get }
    /// True when it can make a token without the credential of an earlier one: a first login, client credentials, a file. Then
    /// a refused refresh has already been followed by that, and asking again after a logout begins a new session.
    var canIssue: Bool { get }
    func refresh(_ current: Credential?, completion: @escaping @Sendable (RefreshResult) -> Void)
}

extension TokenRefresher {
    package var canIssue: Bool { canRefresh }
}

/// Takes finished audit lines. Called on workers; copies the bytes and returns at once.
package protocol AuditSink: AnyObject, Sendable {
    /// `line` is one JSON object without the final newline. `confirm` is called once, on any thread, when the line is in the file (true) or
    /// is known to be lost; not for a line that is dropped here.
    func append(_ line: UnsafeRawBufferPointer, confirm: (@Sendable (Bool) -> Void)?) -> AuditOutcome

    /// Records are taken, as far as is known.
    var isWritable: Bool { get }
}

extension AuditSink {
    package var isWritable: Bool { true }
}
