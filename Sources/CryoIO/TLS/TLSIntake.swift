// What OpenSSL has taken from a socket on behalf of somebody who reads through it: libcurl.
// Domain: worker

import COpenSSL

/// OpenSSL by itself reads the socket twice for each record, its header and its rest, and once more to see that there is nothing. Reading
/// ahead it takes all that has come by one read, and its counters tell whether there can be more.
package struct TLSIntake {
    /// Room for what one read of the socket brings: four records.
    private static let readAheadBytes = 65_536
    /// No buffer of OpenSSL's is smaller than a record, so fewer bytes than this can't have filled one.
    private static let recordBytes = 16_384

    // SAFETY: the connection whose owner holds this has not been closed.
    private let ssl: OpaquePointer
    private var takenWhenEmpty: UInt64 = 0

    /// For every connection of this `SSL_CTX`.
    package static func readAhead(in context: UnsafeMutableRawPointer) {
        cryo_context_read_ahead(OpaquePointer(context), readAheadBytes)
    }

    /// nil for an `SSL` that does not read ahead.
    package init?(_ ssl: UnsafeMutableRawPointer) {
        self.ssl = OpaquePointer(ssl)
        if SSL_get_read_ahead(self.ssl) != 1 { return nil }
    }

    /// Asked after each read that gave bytes. True: none is left in OpenSSL, and no read of the socket has filled OpenSSL's buffer since it
    /// was last seen empty, so that the last one has emptied the socket. Whatever comes later is announced by another event.
    package mutating func hasTakenAll() -> Bool {
        guard SSL_has_pending(ssl) == 0 else { return false }
        let taken = BIO_number_read(SSL_get_rbio(ssl))
        defer { takenWhenEmpty = taken }
        return taken &- takenWhenEmpty < Self.recordBytes
    }
}
