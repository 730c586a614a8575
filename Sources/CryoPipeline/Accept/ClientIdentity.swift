// Who a client has proved to be.
// Domain: pure

package enum ClientIdentity: Sendable, Equatable {
    /// The subject of its TLS certificate, as RFC 2253 writes it.
    case certificate(subject: [UInt8])
    /// The user at the other end of a UNIX socket.
    case user(id: UInt32)
}
