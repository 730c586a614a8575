// A scripted consumer of requests, and what a test sees of it.
// Domain: shared

import CryoHTTP
import CryoPipeline
import CryoSync
import Dispatch

/// What the consumer does with a request, by the request's path.
enum Play: String {
    /// 200 with method, path and body as text, when the body is complete.
    case echo
    /// 200, chunked, in three pieces.
    case chunked
    /// 200 with the length of the body only.
    case count
    /// 204.
    case empty
    /// 404 at once, whatever body comes.
    case early
    /// Never answers.
    case hang
    /// Head, some chunks, then abort.
    case cut
    /// Announces ten bytes, sends five, finishes.
    case short
    /// Announces five bytes, sends ten.
    case long
    /// An unending body.
    case endless
    /// A body until close.
    case unframed
    /// Pauses after each body piece, and resumes when told by the test.
    case paused
    /// Asks for the body as a wanting consumer does, then as `echo`.
    case continued
    /// Answers from another turn of the worker.
    case later
}

/// What happened to the consumers, for tests to wait on.
final class Diary: Sendable {
    struct State {
        var entries: [String] = []
        var waiting: [(entry: String, semaphore: DispatchSemaphore)] = []
        var sent = 0
    }
    private let state = Mutex(State())

    func note(_ entry: String) {
        state.withLock { state in
            state.entries.append(entry)
            for waiter in state.waiting where waiter.entry == entry { waiter.semaphore.signal() }
        }
    }

    func add(_ count: Int) { state.withLock { $0.sent += count } }
    var sent: Int { state.withLock { $0.sent } }
    var entries: [String] { state.withLock { $0.entries } }

    /// False when it has not happened in time.
    func waits(for entry: String, seconds: Int = 5) -> Bool {
        let semaphore = DispatchSemaphore(value: 0)
        let isThere = state.withLock { state in
            if state.entries.contains(entry) { return true }
            state.waiting.append((entry, semaphore))
            return false
        }
        return isThere || semaphore.wait(timeout: .now() + .seconds(seconds)) == .success
    }
}

final class ScriptedAcceptor: RequestAcceptor {
    let diary = Diary()
    /// The sink of the consumer that plays `paused` or `hang`, reached through its worker only.
    let resumes = Mutex<[@Sendable () -> Void]>([])

    func consumer(for arrival: RequestArrival, in context: ConnectionContext) -> any RequestConsumer {
        ScriptedConsumer(arrival, context, self)
    }
}

// SAFETY: confined to the worker of its connection; `submit` brings closures back there.
final class ScriptedConsumer: RequestConsumer, @unchecked Sendable {
    private let arrival: RequestArrival
    private let context: ConnectionContext
    private let acceptor: ScriptedAcceptor
    private var play = Play.echo
    private var method: [UInt8] = []
    private var path: [UInt8] = []
    private var body: [UInt8] = []
    private var bodyCount = 0
    private var isOver = false
    private let block = [UInt8](repeating: 0x78, count: 65_536)

    init(_ arrival: RequestArrival, _ context: ConnectionContext, _ acceptor: ScriptedAcceptor) {
        self.arrival = arrival
        self.context = context
        self.acceptor = acceptor
    }

    private var diary: Diary { acceptor.diary }

    func begin() {
        switch arrival {
        case .refused(let reason, let status, _):
            diary.note("refused \(reason.rawValue) \(status)")
            if reason != .clientGone { reply(status, Array(reason.rawValue.utf8)) }
        case .request(let head):
            method = Array(head.fields.bytes[head.method])
            path = Array(head.fields.bytes[head.target])
            let word = String(decoding: path.dropFirst().prefix { $0 != 0x2F }, as: UTF8.self)
            play = Play(rawValue: word) ?? .echo
            diary.note("begin \(String(decoding: path, as: UTF8.self))")
            perform()
        }
    }

    private func perform() {
        let sink = context.sink
        switch play {
        case .early: reply(404, Array("early".utf8))
        case .continued: sink.sendContinue()
        case .endless:
            sink.sendHead(status: 200, fields: FieldSection(), framing: .chunked)
            pour()
        case .cut:
            sink.sendHead(status: 200, fields: FieldSection(), framing: .chunked)
            send("one")
            isOver = true
            sink.abort()
        default: break
        }
    }

    private func pour() {
        while !isOver {
            diary.add(block.count)
            if block.withUnsafeBytes({ context.sink.sendBody($0) }) == .pause {
                diary.note("reply paused")
                return
            }
        }
    }

    private func send(_ text: StaticString) { _ = context.sink.sendBody(text.rawBytes) }

    private func reply(_ status: UInt16, _ bytes: [UInt8]) {
        isOver = true
        context.sink.sendHead(status: status, fields: FieldSection(), framing: .length(UInt64(bytes.count)))
        _ = bytes.withUnsafeBytes { context.sink.sendBody($0) }
        context.sink.finish()
    }

    func receiveBody(_ bytes: UnsafeRawBufferPointer) -> Flow {
        bodyCount += bytes.count
        diary.add(bytes.count)
        if play == .echo || play == .continued || play == .later { body.append(contentsOf: bytes) }
        guard play == .paused else { return .more }
        acceptor.resumes.withLock { $0.append { [self] in context.scheduler.submit { self.context.sink.resumeRequestBody() } } }
        diary.note("body paused")
        return .pause
    }

    func receiveBodyEnd() {
        guard !isOver else { return }
        let sink = context.sink
        switch play {
        case .echo, .continued: reply(200, method + [0x20] + path + [0x20] + body)
        case .later: context.scheduler.submit { [self] in if !isOver { reply(200, method + [0x20] + path + [0x20] + body) } }
        case .count, .paused: reply(200, Array("\(bodyCount)".utf8))
        case .empty:
            isOver = true
            sink.sendHead(status: 204, fields: FieldSection(), framing: .none)
            send("never sent")
            sink.finish()
        case .chunked, .unframed:
            isOver = true
            sink.sendHead(status: 200, fields: FieldSection(), framing: play == .chunked ? .chunked : .untilClose)
            send("one")
            send("")
            send("two")
            send("three")
            sink.finish()
        case .short, .long:
            isOver = true
            sink.sendHead(status: 200, fields: FieldSection(), framing: .length(play == .short ? 10 : 5))
            send("12345")
            if play == .long { send("67890") }
            sink.finish()
        case .hang: diary.note("hanging")
        case .early, .cut, .endless: break
        }
    }

    func bodyRefused(_ reason: FailureReason, status: UInt16, detail: StaticString) {
        diary.note("body refused \(status)")
        if !isOver { reply(status, Array(reason.rawValue.utf8)) }
    }

    func clientGone() {
        isOver = true
        diary.note("client gone")
    }

    func replyDrained() {
        diary.note("reply drained")
        if play == .endless { pour() }
    }

    func deadlineReached(_ nanoseconds: UInt64) {}
}
