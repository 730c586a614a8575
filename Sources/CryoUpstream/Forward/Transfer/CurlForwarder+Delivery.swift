// Tells the exchanges what happened to their attempts, once libcurl has returned.
// Domain: worker

import CCurl
import CryoHTTP
import CryoIO
import CryoPipeline

extension CurlForwarder {
    /// Tells the exchanges what the callbacks noted. An event may begin and cancel attempts; what that brings about comes in the same
    /// walk or at the end of the batch, never inside the event.
    func settle() {
        if isSettling { return }
        isSettling = true
        var index = 0
        while index < touched.count {
            let slot = Int(touched[index])
            index += 1
            guard slot < transfers.count, let transfer = transfers[slot] else { continue }
            transfer.isTouched = false
            if transfer.receiver != nil { deliver(transfer) }
        }
        touched.removeAll(keepingCapacity: true)
        isSettling = false
    }

    private func deliver(_ transfer: CurlTransfer) {
        transfer.isDelivering = true
        if transfer.wantsSend {
            transfer.wantsSend = false
            transfer.isSendPaused = false
            setPause(transfer)
        }
        deliverHead(transfer)
        deliverBody(transfer)
        transfer.isDelivering = false
        if transfer.receiver == nil { return release(transfer) }
        if transfer.isFlowPaused || transfer.received.count > 0, !transfer.isMalformed || transfer.headDelivered { return }
        if transfer.result != nil { return finish(transfer, transfer.error) }
        guard transfer.hasUpload, !transfer.uploadEnded, transfer.headDelivered else { return }
        if transfer.isResponseComplete {
            // Answered before the request was complete: the rest is not wanted, and the connection is not used again.
            finish(transfer, nil)
        } else if transfer.isSendPaused, transfer.status >= 300, !transfer.uploadAbandoned {
            // libcurl has stopped sending, but waits for the pause to end before it takes the answer as complete.
            transfer.uploadAbandoned = true
            transfer.isSendPaused = false
            setPause(transfer)
        }
    }

    private func deliverHead(_ transfer: CurlTransfer) {
        guard transfer.hasHead, !transfer.headDelivered else { return }
        let head = transfer.assembler.takeHead()
        // Nobody asked for an upgrade, so a 101 answers nothing.
        guard head.status >= 200,
            var framing = responseFraming(status: head.status, requestIsHead: transfer.isHead, fields: head.fields)
        else {
            transfer.isMalformed = true
            transfer.result = transfer.result ?? CURLE_WEIRD_SERVER_REPLY
            return
        }
        // HTTP/2 ends its bodies itself.
        if transfer.assembler.minorVersion != nil {
            transfer.profile.noteHTTP1(at: worker.nanoseconds)
        } else if framing == .untilClose {
            framing = .chunked
        }
        transfer.headDelivered = true
        transfer.responseFraming = framing
        transfer.status = head.status
        transfer.receiver?.attemptReceivedHead(transfer.id, head, framing: framing)
    }

    private func deliverBody(_ transfer: CurlTransfer) {
        while transfer.headDelivered, !transfer.isFlowPaused, let receiver = transfer.receiver {
            if transfer.received.count > 0 {
                let bytes = transfer.received.bytes
                let flow = receiver.attemptReceivedBody(transfer.id, bytes)
                transfer.delivered += UInt64(bytes.count)
                transfer.received.removeAll()
                if flow == .pause { transfer.isFlowPaused = true }
            } else if transfer.isReceivePaused, transfer.result == nil {
                transfer.isReceivePaused = false
                setPause(transfer)
            } else {
                return
            }
        }
    }

    private func finish(_ transfer: CurlTransfer, _ error: ForwardError?) {
        guard let receiver = transfer.receiver else { return }
        let id = transfer.id
        let timing = transfer.timing
        release(transfer)
        if let error { receiver.attemptFailed(id, error, timing) } else { receiver.attemptEnded(id, timing) }
    }
}
