// Runs attempts on a worker and records their events.
// Domain: cold

import CryoHTTP
import CryoIO
import CryoPipeline
import CryoTestSupport
import CryoUpstream
import Dispatch

/// Stands in for an exchange. Its events come on the worker; the test waits for the last one.
final class Recorder: AttemptReceiver, @unchecked Sendable {
    // SAFETY: written on the worker only, read by the test after `done` was signalled, or through `submit`.
    var head: ResponseHead?
    var framing: BodyFraming?
    var body: [UInt8] = []
    var bodyCount = 0
    var keepsBody = true
    var error: ForwardError?
    var ended = false
    var timing = AttemptTiming()
    var events = 0
    var rewinds = 0
    /// Answers to the body's arrival, in order; `.more` when used up.
    var flows: [Flow] = []
    var onHead: (() -> Void)?
    /// The request body in pieces; nil: nothing now.
    var request: [[UInt8]?] = []
    private var sent: [[UInt8]?] = []
    /// Bytes that were sent without being read here.
    var straight = 0
    let paused = DispatchSemaphore(value: 0)
    let waiting = DispatchSemaphore(value: 0)
    let done = DispatchSemaphore(value: 0)
    let tunnelEnded = DispatchSemaphore(value: 0)

    init(request: [[UInt8]?] = []) { self.request = request }

    func attemptReceivedHead(_ id: AttemptID, _ head: ResponseHead, framing: BodyFraming) {
        events += 1
        self.head = head
        self.framing = framing
        onHead?()
    }

    func attemptReceivedBody(_ id: AttemptID, _ bytes: UnsafeRawBufferPointer) -> Flow {
        bodyCount += bytes.count
        if keepsBody { body.append(contentsOf: bytes) }
        let flow = flows.isEmpty ? .more : flows.removeFirst()
        if flow == .pause { paused.signal() }
        return flow
    }

    func attemptReceivedTunnelEnd(_ id: AttemptID) { tunnelEnded.signal() }

    func attemptEnded(_ id: AttemptID, _ timing: AttemptTiming) {
        ended = true
        self.timing = timing
        done.signal()
    }

    func attemptFailed(_ id: AttemptID, _ error: ForwardError, _ timing: AttemptTiming) {
        self.error = error
        self.timing = timing
        done.signal()
    }

    func readRequestBody(_ id: AttemptID, into buffer: UnsafeMutableRawBufferPointer) -> RequestBodyRead {
        guard !request.isEmpty else { return .end }
        guard let piece = request.removeFirst() else {
            sent.append(nil)
            waiting.signal()
            return .wait
        }
        let taken = Array(piece.prefix(buffer.count))
        if taken.count < piece.count { request.insert(Array(piece.dropFirst(taken.count)), at: 0) }
        sent.append(taken)
        buffer.copyBytes(from: taken)
        return .bytes(taken.count)
    }

    func rewindRequestBody(_ id: AttemptID) -> Bool {
        rewinds += 1
        request = sent.filter { $0 != nil } + request
        sent = []
        return true
    }
}

/// The ways to an upstream that speaks HTTP/1.1.
enum Way: CaseIterable, Sendable {
    /// Our own HTTP/1.1 on connections of libcurl's.
    case lane
    /// libcurl's transfers.
    case transfers
}

/// One worker with its forwarder.
final class Attempts: @unchecked Sendable {
    final class Cell: @unchecked Sendable {
        // SAFETY: written on the worker while the reader waits.
        var id = AttemptID(slot: .max, generation: 0)
    }

    // SAFETY: the forwarder is touched on the worker only.
    let worker: Worker
    let forwarder: CurlForwarder

    init(_ way: Way = .lane) throws {
        worker = try Worker(index: 0)
        forwarder = try CurlForwarder(on: worker, usesLane: way == .lane)
        worker.start()
    }

    func onWorker(_ work: @escaping @Sendable () -> Void) {
        let done = DispatchSemaphore(value: 0)
        worker.submit {
            work()
            done.signal()
        }
        done.wait()
    }

    func start(_ request: AttemptRequest, _ recorder: Recorder) -> AttemptID {
        let cell = Cell()
        onWorkerUnsafe { cell.id = self.forwarder.begin(request, receiver: recorder) }
        return cell.id
    }

    /// For work that captures what is not Sendable. The caller waits, so no two threads use it at once.
    func onWorkerUnsafe(_ work: @escaping () -> Void) {
        // SAFETY: `onWorker` returns after the work is done.
        nonisolated(unsafe) let work = work
        onWorker { work() }
    }

    /// Begins and waits for the end.
    @discardableResult
    func run(_ request: AttemptRequest, _ recorder: Recorder = Recorder()) -> Recorder {
        _ = start(request, recorder)
        finish(recorder)
        return recorder
    }

    func finish(_ recorder: Recorder) {
        if recorder.done.wait(timeout: .now() + 20) == .timedOut { recorder.error = nil }
    }

    func close() {
        onWorker { self.forwarder.close() }
        worker.stop()
    }
}

func upstream(_ port: UInt16, isTLS: Bool = false) -> UpstreamSettings {
    UpstreamSettings(name: "test", url: UpstreamURL(isTLS: isTLS, host: "127.0.0.1", port: port))
}

func request(
    _ server: RawServer, _ method: String = "GET", _ target: String = "/x", fields: [(String, String)] = [], framing: BodyFraming = .none
) -> AttemptRequest {
    request(upstream(server.port), method, target, fields: fields, framing: framing)
}

func request(
    _ upstream: UpstreamSettings, _ method: String = "GET", _ target: String = "/x", fields: [(String, String)] = [],
    framing: BodyFraming = .none
) -> AttemptRequest {
    var section = FieldSection()
    section.append("Host", Array("up.test".utf8))
    for (name, value) in fields { section.append(name: Array(name.utf8), value: Array(value.utf8)) }
    return AttemptRequest(
        upstream: UpstreamPlan(upstream), method: Array(method.utf8), target: Array(target.utf8), fields: section, framing: framing,
        isIdempotent: method != "POST")
}
