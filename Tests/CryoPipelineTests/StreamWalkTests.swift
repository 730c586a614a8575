// Random losses of random streams: what the client has at the end is every event once, whole and in order.
// Domain: cold

import CryoHTTP
import Testing

@testable import CryoPipeline

/// A server that has numbered events, of all shapes, and begins behind Last-Event-ID.
private struct NumberedEvents {
    let texts: [[UInt8]]

    init(_ random: inout SeededRandom) {
        let ends = ["\n", "\r\n", "\r"]
        texts = (1...Int.random(in: 3...12, using: &random)).map { number in
            let end = ends[Int.random(in: 0..<3, using: &random)]
            var lines = ["id: \(number)", "data: event \(number)"]
            if Bool.random(using: &random) {
                lines.append("data: 你好🙂" + String(repeating: "x", count: Int.random(in: 0...40, using: &random)))
            }
            if Bool.random(using: &random) { lines.append(": comment") }
            if Bool.random(using: &random) { lines.append("event: kind") }
            lines.shuffle(using: &random)
            return Array((lines.joined(separator: end) + end + end).utf8)
        }
    }

    func bytes(after id: Int) -> [UInt8] { Array(texts.dropFirst(id).joined()) }
}

private func parsed(_ bytes: [UInt8]) -> [StreamEvent] {
    var tap = EventStreamTap()
    var events: [StreamEvent] = []
    bytes.withUnsafeBytes { bytes in
        var index = 0
        while index < bytes.count {
            let (consumed, hasEnded) = tap.next(UnsafeRawBufferPointer(rebasing: bytes[index...]))
            index += consumed
            if hasEnded {
                var event = tap.event
                event.bytes = 0
                events.append(event)
            }
        }
    }
    return events
}

@Suite("Random losses")
struct StreamWalkTests {
    @Test("a client that is taken along sees every event once, however pieces, losses and heartbeats fall")
    func reconnect() {
        for seed in 0..<400 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            let server = NumberedEvents(&random)
            let bench = Bench(
                withToken: false,
                route: {
                    $0.streams.onLoss = .reconnect
                    $0.streams.heartbeatMilliseconds = 70
                    $0.streams.reconnect.delayMilliseconds = 100
                    $0.streams.reconnect.limit = 4
                })
            bench.begin(requestHead())
            var isEnded = false
            for _ in 0..<200 where !isEnded {
                let last = bench.fields(bench.forwarder.attempts.count - 1).first { $0.hasPrefix("Last-Event-ID: ") }
                let rest = server.bytes(after: last.flatMap { Int($0.dropFirst(15)) } ?? 0)
                bench.open()
                // Three losses in four, as long as the limit of those without an event allows it.
                let end = Int.random(in: 0..<4, using: &random) == 0 ? rest.count : Int.random(in: 0...rest.count, using: &random)
                var start = 0
                while start < end {
                    let piece = rest[start..<min(end, start + Int.random(in: 1...30, using: &random))]
                    _ = piece.withUnsafeBytes { bench.exchange?.attemptReceivedBody(bench.forwarder.last, $0) }
                    start = piece.endIndex
                    if Int.random(in: 0..<8, using: &random) == 0 { bench.advance(milliseconds: 70) }
                }
                isEnded = end == rest.count
                if isEnded { bench.end() } else { bench.fail(.truncated) }
                for _ in 0..<40 where !isEnded && bench.exchange?.isAttemptOpen == false { bench.advance(milliseconds: 100) }
                if bench.sink.ending != .open { break }
            }
            let events = parsed(bench.sink.body)
            let all = parsed(server.bytes(after: 0))
            if bench.sink.ending == .finished {
                #expect(events == all, "seed \(seed)")
            } else {
                #expect(events.dropLast() == all.prefix(events.count - 1) && events.last?.type == Array("error".utf8), "seed \(seed)")
            }
            #expect(bench.sink.heads == 1 && bench.sink.callsAfterEnd == 0 && bench.audit.lines.count == 1, "seed \(seed)")
        }
    }

    @Test("where only the loss is told, the client has the whole events before it and the failure behind them")
    func errorEvent() {
        for seed in 0..<400 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            let stream = NumberedEvents(&random).bytes(after: 0)
            let bench = Bench(withToken: false, route: { $0.streams.onLoss = .errorEvent })
            bench.begin(requestHead())
            bench.open()
            let end = Int.random(in: 0...stream.count, using: &random)
            var start = 0
            while start < end {
                let piece = stream[start..<min(end, start + Int.random(in: 1...30, using: &random))]
                _ = piece.withUnsafeBytes { bench.exchange?.attemptReceivedBody(bench.forwarder.last, $0) }
                start = piece.endIndex
            }
            bench.fail(.reset)
            let events = parsed(bench.sink.body)
            #expect(events.dropLast() == parsed(Array(stream[..<end])) && events.last?.type == Array("error".utf8), "seed \(seed)")
        }
    }
}

@Suite("The machine behind the head of a stream")
struct ResumeMachineTests {
    /// Everything that would send a head, or say that one is to come.
    private func sendsHead(_ action: ExchangeAction) -> Bool {
        switch action {
        case .fail, .replyHeld, .stream, .replyJudged, .judge, .hold, .giveUpAndRefresh: true
        default: false
        }
    }

    @Test("whatever happens in whatever order, no second head, no attempt without bound, and one end")
    func walks() {
        for seed in 0..<3_000 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            var rules = ExchangeRules()
            rules.injectsToken = Bool.random(using: &random)
            rules.isAuthOptional = Bool.random(using: &random)
            rules.canRefresh = Bool.random(using: &random)
            rules.hasPolicy = Bool.random(using: &random)
            rules.retryLimit = 2
            rules.isRetryEligible = true
            rules.resumesLimit = 3
            var machine = ExchangeMachine(rules: rules)
            _ = machine.handle(.begun(rules.injectsToken ? .ready : .notApplicable))
            // A retry before the head leaves its own way out behind, which must not be taken later.
            if Bool.random(using: &random) {
                _ = machine.handle(.headReceived(.passThrough, refusesToken: false, isRetryStatus: true, isReplayable: true))
                _ = machine.handle(.holdEnded(isComplete: true, isReplayable: true))
                _ = machine.handle(.deadline(.backOff, isReplayable: true))
            }
            _ = machine.handle(.headReceived(.passThrough, refusesToken: false, isRetryStatus: false, isReplayable: true))
            #expect(machine.state == .streaming)
            var ends = 0
            var losses = 0
            for _ in 0..<60 {
                let event = Self.event(&random)
                if case .streamLost(_, .resumable(hasAdvanced: true)) = event { losses += 1 }
                let action = machine.handle(event)
                #expect(!sendsHead(action), "seed \(seed): \(action)")
                if action == .abort || action == .finish || action == .abandon { ends += 1 }
            }
            #expect(ends <= 1 && (ends == 1) == (machine.state == .done), "seed \(seed)")
            #expect(machine.resumes <= 3 * UInt32(losses + 1) && machine.authRetries <= 1, "seed \(seed)")
        }
    }

    private static func event(_ random: inout SeededRandom) -> ExchangeEvent {
        let standings: [StreamStanding] = [
            .final, .resumable(hasAdvanced: true), .resumable(hasAdvanced: false), .resumable(hasAdvanced: false),
        ]
        let standing = standings[Int.random(in: 0..<4, using: &random)]
        let deadlines: [DeadlineKind] = [.response, .idle, .total, .tokenWait, .backOff, .backOff, .backOff, .lookAhead]
        let answers: [ResumeAnswer] = [.taken, .taken, .taken, .over, .tokenRefused, .tokenRefused, .busy, .refused]
        let tokens: [TokenAnswer] = [.ready, .failed, .rejected, .windowExceeded]
        let decisions: [RefreshDecision] = [.lead, .join, .alreadyNewer, .rejected, .failed, .windowExceeded]
        switch Int.random(in: 0..<10, using: &random) {
        case 0...2: return .streamLost(Bool.random(using: &random) ? nil : .reset, standing)
        case 3, 4: return .resumeAnswered(answers[Int.random(in: 0..<8, using: &random)], standing)
        case 5, 6: return .deadline(deadlines[Int.random(in: 0..<8, using: &random)], isReplayable: true)
        case 7: return .tokenAnswered(tokens[Int.random(in: 0..<4, using: &random)], isSameSession: Bool.random(using: &random))
        case 8: return .tokenDecided(decisions[Int.random(in: 0..<6, using: &random)])
        default:
            let others: [ExchangeEvent] = [.tokenExpired, .retryDenied(.noTimeLeft), .bodyEnded, .clientGone]
            return others[Int.random(in: 0..<4, using: &random)]
        }
    }
}
