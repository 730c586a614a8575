// Looks for the first event of a stream that can be judged, before a byte of it goes to the client (ledger SS5).
// Domain: worker

import CryoHTTP
import CryoJSON

/// Fed what arrives of a stream, until it has the first event with content, or the first record.
final class FirstEventFinder {
    private let findsRecords: Bool
    private var events = EventStreamTap()
    private var records = LineStreamTap()

    init(_ type: MediaType) { findsRecords = type == .ndjson }

    /// nil: not yet. Events that only carry an id or a time to wait say nothing about success.
    func find(in bytes: UnsafeRawBufferPointer) -> [UInt8]? {
        var index = 0
        while index < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[index...])
            if findsRecords {
                let (consumed, record) = records.next(rest)
                index += consumed
                if let record { return record.bytes }
            } else {
                let (consumed, hasEnded) = events.next(rest)
                index += consumed
                if hasEnded, !events.event.content.isEmpty { return events.event.content }
            }
        }
        return nil
    }
}

extension Exchange {
    /// How long a stream is held back for its first event; then it goes on as it is.
    static let lookAheadMilliseconds: UInt64 = 2000
    /// How many bytes of a stream are held back for its first event.
    static let lookAheadBytesMax = 64 * 1024

    /// Streams are only looked into when the policy asks for it, and while they have no content coding.
    func streamDisposition(_ type: MediaType, _ response: ResponseHead, _ policy: PolicyPlan) -> HeadDisposition {
        guard policy.settings.streams == .firstEvent, !response.fields.contains("content-encoding") else { return .passThrough }
        beginLookAhead(type)
        return .judgeFirstEvent
    }

    func beginLookAhead(_ type: MediaType) {
        firstEvent = FirstEventFinder(type)
        deadlines.lookAhead = now &+ Self.lookAheadMilliseconds * 1_000_000
    }

    /// Takes held bytes; judges the first event once it is there.
    func lookForFirstEvent(in bytes: UnsafeRawBufferPointer) -> Bool {
        guard let content = firstEvent?.find(in: bytes), let policy = route?.policy else { return false }
        endLookAhead()
        isHolding = false
        isHeldPaused = true
        let result = verdict(onEvent: content, policy)
        settleJudged(result)
        perform(machine.handle(.judged(result, isReplayable: isReplayable)))
        return true
    }

    func endLookAhead() {
        firstEvent = nil
        deadlines.lookAhead = .max
    }

    func verdict(onEvent content: [UInt8], _ policy: PolicyPlan) -> JudgeResult {
        var content = content
        switch EnvelopeJudge(scanner: environment.scanner).judge(padding: &content, by: policy) {
        case .accepted: return .accepted
        case .rejected(let failure): return rejection(failure)
        // `[DONE]`, a text, a number of a counter: no envelope, and no business of the policy.
        case .notJSON: return .notJSON
        }
    }
}
