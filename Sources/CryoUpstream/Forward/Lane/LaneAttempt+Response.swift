// Takes the answer of an attempt in the lane apart: the head line by line, then the body by its framing.
// Domain: worker

import CryoHTTP
import CryoPipeline
import Glibc

extension LaneAttempt {
    /// Longer lines are refused by the assembler; a line that does not end is refused here.
    static let headLineBytesMax = 65_538

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
            outcome = framing == .untilClose ? .ended : .failed(.truncated)
        }
    }

    /// The connection broke.
    func takeBreak() { outcome = .failed(isBodyBegun ? .truncated : .reset) }

    private func takeHead(_ bytes: UnsafeRawBufferPointer) -> Int {
        guard let start = bytes.baseAddress, let found = memchr(start, 0x0A, bytes.count) else {
            if !line.append(bytes) || line.count > Self.headLineBytesMax { outcome = .failed(.malformedResponse) }
            return bytes.count
        }
        let used = UnsafeRawPointer(found) - start + 1
        let whole = UnsafeRawBufferPointer(rebasing: bytes[..<used])
        let result: ResponseLineResult
        if line.count == 0 {
            result = assembler.append(whole)
        } else {
            guard line.append(whole) else {
                outcome = .failed(.malformedResponse)
                return used
            }
            result = assembler.append(line.bytes)
            line.removeAll()
        }
        switch result {
        case .more, .informational, .trailer: break
        case .head: begin(assembler.takeHead())
        case .malformed: outcome = .failed(.malformedResponse)
        }
        return used
    }

    private func begin(_ head: ResponseHead) {
        // Nobody asked for an upgrade, so a 101 answers nothing; and nobody was offered HTTP/2.
        guard head.status >= 200, let minorVersion = assembler.minorVersion,
            let framing = responseFraming(status: head.status, requestIsHead: isHead, fields: head.fields)
        else {
            outcome = .failed(.malformedResponse)
            return
        }
        isBodyBegun = true
        self.framing = framing
        remaining = 0
        if case .length(let length) = framing { remaining = length }
        keepsConnection = framing != .untilClose && allowsAnother(head.fields, minorVersion)
        // A refusal: the rest of the request is not wanted. With any other answer the upstream may still be reading.
        if head.status >= 300, !upload.isOver { upload.abandon() }
        if framing == .none || framing == .length(0) { outcome = .ended }
        receiver?.attemptReceivedHead(id, head, framing: framing)
    }

    /// RFC 9112 §9.3.
    private func allowsAnother(_ fields: FieldSection, _ minorVersion: UInt8) -> Bool {
        guard fields.contains("connection") else { return minorVersion == 1 }
        if fields.listContains("connection", token: "close") { return false }
        return minorVersion == 1 || fields.listContains("connection", token: "keep-alive")
    }

    private func takeBody(_ bytes: UnsafeRawBufferPointer) -> Int {
        switch framing {
        case .none: return bytes.count
        case .untilClose:
            deliver(bytes)
            return bytes.count
        case .length:
            let count = Int(min(remaining, UInt64(bytes.count)))
            remaining -= UInt64(count)
            if remaining == 0 { outcome = .ended }
            deliver(UnsafeRawBufferPointer(rebasing: bytes[..<count]))
            return count
        case .chunked: return takeChunks(bytes)
        }
    }

    private func takeChunks(_ bytes: UnsafeRawBufferPointer) -> Int {
        switch decoder.decode(bytes) {
        case .needsMore(let consumed): return consumed
        case .data(let range, let consumed):
            deliver(UnsafeRawBufferPointer(rebasing: bytes[range]))
            return consumed
        case .end(let consumed):
            outcome = .ended
            return consumed
        case .malformed:
            outcome = .failed(.truncated)
            return bytes.count
        }
    }

    private func deliver(_ bytes: UnsafeRawBufferPointer) {
        if receiver?.attemptReceivedBody(id, bytes) == .pause { isPaused = true }
    }
}
