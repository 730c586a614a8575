// An exchange that a connection refused before there was a head: replies with the failure and is audited like any other.
// Domain: worker

import CryoPipeline

final class RefusedExchange: RequestConsumer {
    private let reason: FailureReason
    private let status: UInt16
    private let detail: StaticString
    private let exchange: Exchange

    init(_ reason: FailureReason, status: UInt16, detail: StaticString, exchange: Exchange) {
        self.reason = reason
        self.status = status
        self.detail = detail
        self.exchange = exchange
    }

    func begin() { exchange.refuse(reason, status: status, detail: detail) }
    func receiveBody(_ bytes: UnsafeRawBufferPointer) -> Flow { .more }
    func receiveBodyEnd() {}
    func bodyRefused(_ reason: FailureReason, status: UInt16, detail: StaticString) {}
    func clientGone() { exchange.clientGone() }
    func replyDrained() {}
    func deadlineReached(_ nanoseconds: UInt64) {}
}
