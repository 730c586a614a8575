// What all TLS connections of one listener share: the certificate, its key, and which clients are let in.
// Domain: shared

import COpenSSL
import Glibc

/// Files of a TLS listener, all PEM.
package struct TLSFiles: Sendable, Equatable {
    /// The certificate, then those that lead to its root.
    package var certificate: String
    package var key: String
    /// Whose certificates clients must show; nil: clients are not asked.
    package var clientCA: String?

    package init(certificate: String, key: String, clientCA: String? = nil) {
        self.certificate = certificate
        self.key = key
        self.clientCA = clientCA
    }
}

/// Why a context could not be made; names the file, never its contents.
package struct TLSError: Error, CustomStringConvertible {
    package let description: String
    init(_ description: String) { self.description = description }
}

/// TLS 1.2 and later, forward secrecy and AEAD only, ALPN http/1.1, no renegotiation, no compression. Sessions are resumed by
/// tickets, whose keys live and die with the context: nothing is kept per client.
// SAFETY: immutable after `init`; OpenSSL counts references to a context and locks what its connections share.
package final class TLSContext: @unchecked Sendable {
    let pointer: OpaquePointer
    let isServer: Bool

    /// Reads the files. Cold code only: it blocks.
    package init(_ files: TLSFiles) throws(TLSError) {
        ERR_clear_error()
        guard let context = SSL_CTX_new(TLS_server_method()) else { throw TLSError("can't make a tls context") }
        pointer = context
        isServer = true
        Self.setBasics(context)
        // OpenSSL would ask the terminal for the passphrase of an encrypted key.
        SSL_CTX_set_default_passwd_cb(context) { _, _, _, _ in 0 }
        SSL_CTX_set_alpn_select_cb(context, selectHTTP11, nil)
        // A fixed name, since a context that asks for client certificates resumes no session without one.
        let name: StaticString = "cryonet"
        SSL_CTX_set_session_id_context(context, name.utf8Start, UInt32(name.utf8CodeUnitCount))
        try Self.expect(SSL_CTX_use_certificate_chain_file(context, files.certificate), "certificate", files.certificate)
        try Self.expect(SSL_CTX_use_PrivateKey_file(context, files.key, SSL_FILETYPE_PEM), "key", files.key)
        guard SSL_CTX_check_private_key(context) == 1 else {
            throw TLSError("the tls key \(files.key) does not belong to the certificate \(files.certificate)")
        }
        guard let authority = files.clientCA else { return }
        try Self.expect(SSL_CTX_load_verify_file(context, authority), "client_ca", authority)
        guard let names = SSL_load_client_CA_file(authority) else { throw Self.unusable("client_ca", authority) }
        SSL_CTX_set_client_CA_list(context, names)
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nil)
    }

    /// The client side, which does not verify: for asking an own listener whether it lives, and for tests.
    package init(unverifiedClientOffering protocols: [UInt8] = [], versionMax: Int32? = nil, identity: TLSFiles? = nil) throws(TLSError) {
        ERR_clear_error()
        guard let context = SSL_CTX_new(TLS_client_method()) else { throw TLSError("can't make a tls context") }
        pointer = context
        isServer = false
        Self.setBasics(context)
        if let versionMax { _ = cryo_context_set_max_version(context, versionMax) }
        if !protocols.isEmpty { SSL_CTX_set_alpn_protos(context, protocols, UInt32(protocols.count)) }
        guard let identity else { return }
        try Self.expect(SSL_CTX_use_certificate_chain_file(context, identity.certificate), "certificate", identity.certificate)
        try Self.expect(SSL_CTX_use_PrivateKey_file(context, identity.key, SSL_FILETYPE_PEM), "key", identity.key)
    }

    deinit { SSL_CTX_free(pointer) }

    private static func setBasics(_ context: OpaquePointer) {
        _ = cryo_context_set_min_version(context, TLS1_2_VERSION)
        SSL_CTX_set_options(context, CRYO_TLS_OPTIONS)
        _ = cryo_context_set_mode(context, CRYO_TLS_MODES)
        _ = cryo_context_set_session_cache(context, CRYO_TLS_NO_SESSION_CACHE)
        // Those of TLS 1.3 are all good.
        SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20")
    }

    private static func expect(_ result: Int32, _ role: String, _ path: String) throws(TLSError) {
        if result != 1 { throw unusable(role, path) }
    }

    private static func unusable(_ role: String, _ path: String) -> TLSError {
        defer { ERR_clear_error() }
        if access(path, R_OK) != 0 { return TLSError("can't read the tls \(role) \(path): \(SystemError("access").text)") }
        let code = ERR_peek_last_error()
        let reason = code == 0 ? nil : ERR_reason_error_string(code).map { String(cString: $0) }
        return TLSError("can't use the tls \(role) \(path): \(reason ?? "no PEM in it")")
    }
}

/// The answer to ALPN (RFC 7301): http/1.1, or an alert for a client that offers only what we don't speak.
private func selectHTTP11(
    _: OpaquePointer?, chosen: UnsafeMutablePointer<UnsafePointer<UInt8>?>?, chosenCount: UnsafeMutablePointer<UInt8>?,
    offered: UnsafePointer<UInt8>?, offeredCount: UInt32, _: UnsafeMutableRawPointer?
) -> Int32 {
    guard let offered else { return SSL_TLSEXT_ERR_NOACK }
    let name: StaticString = "http/1.1"
    var at = 0
    while at < Int(offeredCount) {
        let count = Int(offered[at])
        guard at + 1 + count <= Int(offeredCount) else { break }
        if count == name.utf8CodeUnitCount, memcmp(offered + at + 1, name.utf8Start, count) == 0 {
            chosen?.pointee = offered + at + 1
            chosenCount?.pointee = UInt8(count)
            return SSL_TLSEXT_ERR_OK
        }
        at += 1 + count
    }
    return SSL_TLSEXT_ERR_ALERT_FATAL
}
