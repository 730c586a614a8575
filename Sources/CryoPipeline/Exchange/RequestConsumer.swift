// What a client connection drives: the life of one request, from its head to the end of its reply.
// Domain: worker

package import CryoHTTP

/// What a connection read, or refused, at the start of an exchange.
package enum RequestArrival {
    case request(RequestHead)
    /// The read or accept step refused it. `status` is the exact one (400, 408, 413, 414, 417, 431, 501, 503, 505).
    case refused(FailureReason, status: UInt16, detail: StaticString)
}

/// What a connection lends to the exchanges it carries, one after the other. Made once for a connection, so that an exchange keeps one
/// reference instead of a copy. The sink and the scheduler are the connection itself: it lets go of its context when it closes.
package final class ConnectionContext {
    package let sink: any ReplySink
    package let scheduler: any Scheduler
    /// The peer's address as text, `127.0.0.1:4711` or `unix`.
    package let client: [UInt8]
    /// Where in it the address lies, without port and brackets.
    private let clientAddress: Range<Int>
    /// The index of the worker that owns the connection.
    package let workerIndex: Int
    /// The port the client connected to; 0 on a UNIX socket.
    package let localPort: UInt16
    /// True when the connection from the client is secured.
    package let isTLS: Bool
    /// nil: it has proved nothing.
    package let identity: ClientIdentity?
    /// Monotonic and wall time of the first byte of the present request.
    package private(set) var startNanoseconds: UInt64
    package private(set) var startUnixMicroseconds: Int64
    /// The Host this client was last admitted with; a client seldom changes it.
    var admittedHost = AdmittedHost()

    package init(
        sink: any ReplySink, scheduler: any Scheduler, client: [UInt8], localPort: UInt16, workerIndex: Int, isTLS: Bool,
        startNanoseconds: UInt64,
        startUnixMicroseconds: Int64, identity: ClientIdentity? = nil
    ) {
        self.sink = sink
        self.scheduler = scheduler
        self.client = client
        clientAddress = Self.address(in: client)
        self.localPort = localPort
        self.workerIndex = workerIndex
        self.isTLS = isTLS
        self.startNanoseconds = startNanoseconds
        self.startUnixMicroseconds = startUnixMicroseconds
        self.identity = identity
    }

    func withClientAddress(_ body: (UnsafeRawBufferPointer) -> Void) {
        client.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[clientAddress])) }
    }

    private static func address(in client: [UInt8]) -> Range<Int> {
        guard let colon = client.lastIndex(of: 0x3A) else { return client.indices }
        let isBracketed = colon > 1 && client[0] == 0x5B && client[colon - 1] == 0x5D
        return isBracketed ? 1..<colon - 1 : 0..<colon
    }

    /// The next request of the connection has begun. The exchange before it is over.
    package func restart(nanoseconds: UInt64, unixMicroseconds: Int64) {
        startNanoseconds = nanoseconds
        startUnixMicroseconds = unixMicroseconds
    }
}

/// Consumes one request and answers it through its sink. All calls come on the connection's worker. The connection lets go
/// of it after the sink's `finish` or `abort`, or after `clientGone`.
package protocol RequestConsumer: AnyObject {
    /// The head has arrived. Called once, first. May already reply.
    func begin()
    /// Body bytes, decoded from their framing, valid during the call only. `.pause` stops the connection from reading until
    /// the sink's `resumeRequestBody`; the bytes of this call are taken in any case.
    func receiveBody(_ bytes: UnsafeRawBufferPointer) -> Flow
    /// The body is complete. Also called for requests without a body; after a 101 once more, when the client has shut its side.
    func receiveBodyEnd()
    /// The body can't be completed: its framing is broken, it exceeds the limit or it came too slowly. If no head has been
    /// sent the consumer replies with that failure; the connection closes after the reply in any case.
    func bodyRefused(_ reason: FailureReason, status: UInt16, detail: StaticString)
    /// The client has closed or reset the connection. Nothing may be sent any more.
    func clientGone()
    /// What `sendBody` answered `.pause` to has been sent.
    func replyDrained()
    /// A time given to `Scheduler.wake(at:)` has come, perhaps one that an earlier exchange asked for.
    func deadlineReached(_ nanoseconds: UInt64)
}

/// Makes the consumer of each request. Called on workers.
package protocol RequestAcceptor: AnyObject, Sendable {
    func consumer(for arrival: RequestArrival, in context: ConnectionContext) -> any RequestConsumer
}
