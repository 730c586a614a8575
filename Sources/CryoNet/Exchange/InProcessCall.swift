// One call as the pipeline's client connection: feeds the request to an exchange and collects its reply. No socket, no copy of the rules.
// Domain: worker

import CryoCoding
import CryoHTTP
import CryoIO
import CryoPipeline
import CryoUpstream

/// What a call asks for.
struct CallRequest: Sendable {
    var head: RequestHead
    var body: [UInt8]
    var plan: PipelinePlan
    var keepsRequestID: Bool
}

/// How a call ended.
struct CallReply: Sendable {
    enum Outcome: Sendable { case answered, cancelled, failed(FailureReason) }
    var outcome: Outcome
    /// The last head that came, if any.
    var head: ResponseHead?
    var body: [UInt8] = []
    var attempts = 0
}

// SAFETY: made by any thread, then touched on the worker only: `start` and `cancel` are submitted to it.
final class InProcessCall: Endpoint, ReplySink, Scheduler, @unchecked Sendable {
    /// A larger answer fails the call: it is kept in memory as a whole.
    static let responseBytesMax = 64 << 20
    /// Request body bytes handed to the exchange at once.
    private static let pieceBytes = 65_536

    private let runtime: NetworkRuntime
    private let request: CallRequest
    private let completion: @Sendable (CallReply) -> Void
    private let watch: AttemptWatch
    private var exchange: Exchange?
    private var fed = 0
    private var isFedWhole = false
    private var isFeeding = false
    private var isDone = false
    private var body: [UInt8] = []
    private var isTooLarge = false
    /// The reply is the pipeline's own, and this is why.
    private var reason: FailureReason?

    init(_ request: CallRequest, on runtime: NetworkRuntime, completion: @escaping @Sendable (CallReply) -> Void) {
        self.runtime = runtime
        self.request = request
        self.completion = completion
        watch = AttemptWatch(runtime.forwarder, keepsRequestID: request.keepsRequestID)
        super.init(worker: runtime.worker)
    }

    // MARK: From the program

    func start() {
        guard !isDone else { return }
        worker.enrol(self)
        let environment = ExchangeEnvironment(
            forwarder: watch, scanner: runtime.scanner, openSpill: { SpillMemory.open() },
            // Bodies are decoded for the program after the exchange, which passes them on as they are.
            decode: { _, _, _ in .broken }, counters: runtime.counters)
        let context = ConnectionContext(
            sink: self, scheduler: self, client: [], localPort: 0, workerIndex: worker.index, isTLS: false,
            startNanoseconds: worker.nanoseconds, startUnixMicroseconds: worker.unixMicroseconds)
        let exchange = Exchange(head: request.head, plan: request.plan, environment: environment, context: context)
        self.exchange = exchange
        exchange.begin()
        feed()
    }

    /// Ends the call, whatever it is doing; the attempt is closed and nothing is retried.
    func cancel() {
        guard !isDone else { return }
        exchange?.clientGone()
        complete(.cancelled)
    }

    // MARK: The request body

    private func feed() {
        guard !isFeeding, !isFedWhole, let exchange else { return }
        isFeeding = true
        defer { isFeeding = false }
        while fed < request.body.count, !isDone {
            let end = min(request.body.count, fed + Self.pieceBytes)
            let flow = request.body.withUnsafeBytes { exchange.receiveBody(UnsafeRawBufferPointer(rebasing: $0[fed..<end])) }
            fed = end
            if flow == .pause { return }
        }
        isFedWhole = true
        exchange.receiveBodyEnd()
    }

    /// May come from inside a callback of libcurl: the rest waits for the end of the batch.
    func resumeRequestBody() { worker.afterBatch(self) }

    override func batchEnded() {
        guard !isDone else { return }
        if isTooLarge {
            exchange?.clientGone()
            return complete(.failed(.responseTooLarge))
        }
        feed()
    }

    // MARK: The reply

    func sendContinue() {}

    func sendHead(status: UInt16, fields: FieldSection, framing: BodyFraming) {
        // Only the pipeline's own replies carry both marks: those of the server were taken out of its answer.
        guard fields.contains("proxy-status"), let mark = fields.value(of: "cryonet-failure") else { return }
        let name = mark.drop { $0 != 0x2F }.dropFirst()
        reason = FailureReason(rawValue: String(decoding: name, as: UTF8.self)) ?? .internalError
    }

    func sendBody(_ bytes: UnsafeRawBufferPointer) -> Flow {
        if reason != nil { return .more }
        guard body.count + bytes.count <= Self.responseBytesMax else {
            isTooLarge = true
            worker.afterBatch(self)
            return .pause
        }
        body.append(contentsOf: bytes)
        return .more
    }

    /// There are no tunnels here: the watch asks for none.
    func endTunnelReply() {}

    func finish() { if isTooLarge { complete(.failed(.responseTooLarge)) } else { complete(reason.map { .failed($0) } ?? .answered) } }

    /// The answer broke off in the middle. Without an error of the attempt it was its silence that ended it.
    func abort() { complete(.failed(isTooLarge ? .responseTooLarge : watch.error.map { FailureReason($0) } ?? .upstreamTimedOut)) }

    private func complete(_ outcome: CallReply.Outcome) {
        guard !isDone else { return }
        isDone = true
        let reply = CallReply(outcome: outcome, head: watch.head, body: body, attempts: watch.attempts)
        body = []
        exchange = nil
        watch.letGo()
        worker.withdraw(self)
        completion(reply)
    }

    // MARK: Time

    var nanoseconds: UInt64 { worker.nanoseconds }
    var unixMicroseconds: Int64 { worker.unixMicroseconds }
    func random() -> UInt64 { worker.random() }
    var submit: @Sendable (@escaping @Sendable () -> Void) -> Void { runtime.submit }

    override func deadlineReached(_ nanoseconds: UInt64) { exchange?.deadlineReached(nanoseconds) }
}
