// A recorded request once more, through the pipeline of the running gateway: an exchange without a connection.
// Domain: worker

import CryoAdmin
import CryoHTTP
import CryoIO
import CryoPipeline

/// Stands where a client connection would: feeds the request, keeps the beginning of the reply, ends with it or with its time.
// SAFETY: made by any thread, then touched on the worker only: `start` is submitted to it.
final class ReplayCall: Endpoint, ReplySink, Scheduler, @unchecked Sendable {
    /// What is kept of the answer's body; the rest is not waited for.
    static let answerBytesMax = 1 << 20
    /// A stream has no end of its own.
    static let nanosecondsMax: UInt64 = 60_000_000_000
    private static let pieceBytes = 65_536

    private let head: RequestHead
    private let body: [UInt8]
    private let plan: PipelinePlan
    // SAFETY: of the same worker, where alone it is used.
    private nonisolated(unsafe) let environment: ExchangeEnvironment
    private let localPort: UInt16
    private let completion: @Sendable (ReplayAnswer) -> Void
    private var exchange: Exchange?
    private var fed = 0
    private var isFedWhole = false
    private var isFeeding = false
    private var isFull = false
    private var isDone = false
    private var began: UInt64 = 0
    private var answer = ReplayAnswer()

    init(
        _ head: RequestHead, body: [UInt8], plan: PipelinePlan, environment: ExchangeEnvironment, on worker: Worker, localPort: UInt16,
        completion: @escaping @Sendable (ReplayAnswer) -> Void
    ) {
        self.head = head
        self.body = body
        self.plan = plan
        self.environment = environment
        self.localPort = localPort
        self.completion = completion
        super.init(worker: worker)
    }

    func start() {
        worker.enrol(self)
        began = worker.nanoseconds
        let context = ConnectionContext(
            sink: self, scheduler: self, client: Array("replay".utf8), localPort: localPort, workerIndex: worker.index, isTLS: false,
            startNanoseconds: began, startUnixMicroseconds: worker.unixMicroseconds)
        let exchange = Exchange(head: head, plan: plan, environment: environment, context: context)
        self.exchange = exchange
        answer.id = String(decoding: exchange.id, as: UTF8.self)
        wake(at: began &+ Self.nanosecondsMax)
        exchange.begin()
        feed()
    }

    // MARK: The request body

    private func feed() {
        guard !isFeeding, !isFedWhole, let exchange else { return }
        isFeeding = true
        defer { isFeeding = false }
        while fed < body.count, !isDone {
            let end = min(body.count, fed + Self.pieceBytes)
            let flow = body.withUnsafeBytes { exchange.receiveBody(UnsafeRawBufferPointer(rebasing: $0[fed..<end])) }
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
        if isFull { return cut() }
        feed()
    }

    // MARK: The reply

    func sendContinue() {}

    func sendHead(status: UInt16, fields: FieldSection, framing: BodyFraming) {
        answer.status = status
        for index in fields.lines.indices where !fields.lines[index].isRemoved {
            let name = fields.withName(at: index) { String(decoding: $0, as: UTF8.self) }
            answer.fields.append((name, fields.withValue(at: index) { String(decoding: $0, as: UTF8.self) }))
        }
    }

    func sendBody(_ bytes: UnsafeRawBufferPointer) -> Flow {
        let room = Self.answerBytesMax - answer.body.count
        answer.body.append(contentsOf: bytes.prefix(room))
        guard bytes.count > room else { return .more }
        isFull = true
        worker.afterBatch(self)
        return .pause
    }

    /// What follows the switch to another protocol is not for a replay.
    func endTunnelReply() { worker.afterBatch(self) }

    func finish() { complete() }

    func abort() {
        answer.isCut = true
        complete()
    }

    /// Enough has been seen: the exchange ends as if its client had gone.
    private func cut() {
        guard !isDone else { return }
        answer.isCut = true
        let exchange = exchange
        complete()
        exchange?.clientGone()
    }

    private func complete() {
        guard !isDone else { return }
        isDone = true
        answer.durationMicroseconds = (worker.nanoseconds &- began) / 1000
        exchange = nil
        worker.withdraw(self)
        completion(answer)
    }

    // MARK: Time

    var nanoseconds: UInt64 { worker.nanoseconds }
    var unixMicroseconds: Int64 { worker.unixMicroseconds }
    func random() -> UInt64 { worker.random() }
    var submit: @Sendable (@escaping @Sendable () -> Void) -> Void { { [worker] in worker.submit($0) } }

    override func deadlineReached(_ nanoseconds: UInt64) {
        if nanoseconds >= began &+ Self.nanosecondsMax { return cut() }
        wake(at: began &+ Self.nanosecondsMax)
        exchange?.deadlineReached(nanoseconds)
    }
}
