// A reply that comes in pieces: server-sent events that have no end, a download that is made while it goes.
// Domain: cold

package enum AdminStreamStep: Sendable {
    case bytes([UInt8])
    /// Nothing now; the stream wakes the exchange when there is something.
    case nothing
    case end
}

/// Asked for the next piece when the client has taken the one before: a slow client costs one piece of memory.
/// Called on the admin queue, one call at a time; `end` comes last, once, also when the client has gone.
package protocol AdminStream: AnyObject, Sendable {
    /// Sent while there is nothing else to send; empty: nothing is.
    var heartbeat: [UInt8] { get }
    /// Called first. `wake` may be called on any thread.
    func begin(wake: @escaping @Sendable () -> Void)
    func next() -> AdminStreamStep
    func end()
}

/// One server-sent event (WHATWG HTML §9.2).
enum ServerSentEvent {
    static let contentType = "text/event-stream; charset=utf-8"
    /// A comment.
    static let heartbeat = Array(": still here\n\n".utf8)

    /// `data` is one line.
    static func append(_ event: StaticString, id: [UInt8] = [], data: [UInt8], to bytes: inout [UInt8]) {
        bytes.append(contentsOf: "event: ".utf8)
        bytes.append(contentsOf: UnsafeBufferPointer(start: event.utf8Start, count: event.utf8CodeUnitCount))
        if !id.isEmpty {
            bytes.append(contentsOf: "\nid: ".utf8)
            bytes.append(contentsOf: id)
        }
        bytes.append(contentsOf: "\ndata: ".utf8)
        bytes.append(contentsOf: data)
        bytes.append(contentsOf: "\n\n".utf8)
    }
}
