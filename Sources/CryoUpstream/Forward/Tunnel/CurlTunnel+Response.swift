// Takes the answer to an upgrade apart: the head line by line, then a body or the bytes of the tunnel.
// Domain: worker

import CryoHTTP
import CryoPipeline

extension CurlTunnel {
    /// Longer lines are refused by the assembler; a line that does not end is refused here.
    static let lineBytesMax = 65_538

    /// Uses a part of `bytes`; how much.
    func takeResponse(_ bytes: UnsafeRawBufferPointer) -> Int {
        switch phase {
        case .connecting: return bytes.count
        case .head: return takeHead(bytes)
        case .body: return takeBody(bytes)
        case .tunnel:
            deliver(bytes)
            return bytes.count
        }
    }

    private func takeHead(_ bytes: UnsafeRawBufferPointer) -> Int {
        guard let end = bytes.firstIndex(of: 0x0A) else {
            line.append(contentsOf: bytes)
            if line.count > Self.lineBytesMax { outcome = .failed(.malformedResponse) }
            return bytes.count
        }
        let whole = UnsafeRawBufferPointer(rebasing: bytes[...end])
        let result: ResponseLineResult
        if line.isEmpty {
            result = assembler.append(whole)
        } else {
            line.append(contentsOf: whole)
            result = line.withUnsafeBytes { assembler.append($0) }
            line.removeAll()
        }
        switch result {
        case .more, .informational, .trailer: break
        case .head: begin(assembler.takeHead())
        case .malformed: outcome = .failed(.malformedResponse)
        }
        return end + 1
    }

    private func begin(_ head: ResponseHead) {
        if agreesToWebSocket(head), assembler.minorVersion == 1 {
            phase = .tunnel
            framing = .untilClose
        } else if head.status != 101, assembler.minorVersion != nil,
            let framing = responseFraming(status: head.status, requestIsHead: false, fields: head.fields)
        {
            phase = .body
            self.framing = framing
            if case .length(let length) = framing { remaining = length }
            if framing == .none || framing == .length(0) { outcome = .ended }
        } else {
            outcome = .failed(.malformedResponse)
            return
        }
        receiver?.attemptReceivedHead(attempt, head, framing: framing)
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
            deliver(UnsafeRawBufferPointer(rebasing: bytes[..<count]))
            if remaining == 0 { outcome = .ended }
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
            return max(consumed, 1)
        case .malformed:
            outcome = .failed(.truncated)
            return bytes.count
        }
    }

    func deliver(_ bytes: UnsafeRawBufferPointer) {
        if receiver?.attemptReceivedBody(attempt, bytes) == .pause { isPaused = true }
    }
}
