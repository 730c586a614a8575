// Takes the answer to an upgrade apart: the head, then a body or the bytes of the tunnel.
// Domain: worker

import CryoHTTP
import CryoPipeline

extension CurlTunnel {
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
        var used = 0
        switch headReader.read(bytes, used: &used) {
        case .more: break
        case .head(let head, let minorVersion, let framing): begin(head, minorVersion, framing)
        case .malformed: outcome = .failed(.malformedResponse)
        }
        return used
    }

    private func begin(_ head: ResponseHead, _ minorVersion: UInt8?, _ framing: BodyFraming) {
        if agreesToWebSocket(head), minorVersion == 1 {
            phase = .tunnel
            body.begin(.untilClose)
        } else if head.status != 101, minorVersion != nil {
            phase = .body
            body.begin(framing)
            if body.isEmpty { outcome = .ended }
        } else {
            outcome = .failed(.malformedResponse)
            return
        }
        receiver?.attemptReceivedHead(attempt, head, framing: body.framing)
    }

    private func takeBody(_ bytes: UnsafeRawBufferPointer) -> Int {
        switch body.read(bytes) {
        case .data(let range, let used, let isLast):
            deliver(UnsafeRawBufferPointer(rebasing: bytes[range]))
            if isLast { outcome = .ended }
            return used
        case .more(let used): return used
        case .end(let used):
            outcome = .ended
            return max(used, 1)
        case .malformed:
            outcome = .failed(.truncated)
            return bytes.count
        }
    }

    func deliver(_ bytes: UnsafeRawBufferPointer) {
        if receiver?.attemptReceivedBody(attempt, bytes) == .pause { isPaused = true }
    }
}
