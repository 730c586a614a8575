// What stands between an exchange and its connection where answers must not carry the gateway's secrets (`secrets.echo`).
// Domain: worker

/// What is done about an answer that carries a live secret of the gateway.
package enum EchoMode: String, Sendable, CaseIterable {
    case off, report, block
}

protocol SecretWatch: ReplySink {
    var hasFound: Bool { get }
    /// The answer was stopped: nothing more of it goes to the client.
    var isBlocked: Bool { get }
    /// The bytes of a tunnel are nobody's to look into.
    func letPass()
    /// Before `finish`: what was kept back goes out. False where the answer is stopped.
    func release() -> Bool
}

/// What became of an answer that was stopped.
enum BlockedAnswer: Equatable {
    /// Nothing has gone out: another may be sent in its place.
    case replaceable
    /// So many bytes of its body have.
    case begun(bytes: UInt64)
}
