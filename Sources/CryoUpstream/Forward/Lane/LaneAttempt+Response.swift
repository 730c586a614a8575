// Takes the answer of an attempt in the lane apart: the head, then the body by its framing.
// Domain: worker

import CryoHTTP
import CryoPipeline

extension LaneAttempt {
    /// Uses all bytes, or keeps what a paused reader does not take.
    func take(_ bytes: UnsafeRawBufferPointer) {
        var used = 0
        while used < bytes.count, receiver != nil, outcome == nil {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[used...])
            if isPaused {
                if !kept.append(rest) { outcome = .failed(.truncated) }
                return
            }
            used += isBodyBegun ? takeBody(rest) : takeHead(rest)
        }
        if used < bytes.count { hasExcess = true }
    }

    /// The upstream has ended its side.
    func takeEnd() {
        if !isBodyBegun {
            outcome = .failed(firstByteAt == 0 ? .emptyResponse : .reset)
        } else {
            outcome = body.framing == .untilClose ? .ended : .failed(.truncated)
        }
    }

    /// The connection broke.
    func takeBreak() { outcome = .failed(isBodyBegun ? .truncated : .reset) }

    private func takeHead(_ bytes: UnsafeRawBufferPointer) -> Int {
        var used = 0
        switch headReader.read(bytes, used: &used) {
        case .more: break
        case .head(let head, let minorVersion, let framing): begin(head, minorVersion, isHead ? .none : framing)
        case .malformed: outcome = .failed(.malformedResponse)
        }
        return used
    }

    private func begin(_ head: ResponseHead, _ minorVersion: UInt8?, _ framing: BodyFraming) {
        // Nobody asked for an upgrade, so a 101 answers nothing; and nobody was offered HTTP/2.
        guard head.status >= 200, let minorVersion else {
            outcome = .failed(.malformedResponse)
            return
        }
        isBodyBegun = true
        body.begin(framing)
        keepsConnection = framing != .untilClose && allowsAnother(head.fields, minorVersion)
        // A refusal: the rest of the request is not wanted. With any other answer the upstream may still be reading.
        if head.status >= 300, !upload.isOver { upload.abandon() }
        if body.isEmpty { outcome = .ended }
        receiver?.attemptReceivedHead(id, head, framing: framing)
    }

    /// RFC 9112 §9.3.
    private func allowsAnother(_ fields: FieldSection, _ minorVersion: UInt8) -> Bool {
        let options = ConnectionOptions(of: fields)
        return !options.closes && (minorVersion == 1 || options.keepsAlive)
    }

    private func takeBody(_ bytes: UnsafeRawBufferPointer) -> Int {
        switch body.read(bytes) {
        case .data(let range, let used, let isLast):
            if isLast { outcome = .ended }
            deliver(UnsafeRawBufferPointer(rebasing: bytes[range]))
            return used
        case .more(let used): return used
        case .end(let used):
            outcome = .ended
            return used
        case .malformed:
            outcome = .failed(.truncated)
            return bytes.count
        }
    }

    private func deliver(_ bytes: UnsafeRawBufferPointer) {
        if case .pause? = receiver?.attemptReceivedBody(id, bytes) { isPaused = true }
    }
}
