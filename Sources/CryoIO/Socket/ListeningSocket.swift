// Opens listening sockets and takes connections from them.
// Domain: cold (open) | shared (accept)

import CEpoll
import Glibc

package enum SocketAccept: Equatable {
    case accepted(Int32)
    case wouldBlock
    /// That connection is gone already; the next may be fine.
    case aborted
    /// The process or the system is out of descriptors or memory.
    case exhausted
    case failed(Int32)
}

package enum ListeningSocket {
    package static let backlogMax: Int32 = 1024

    /// Listens on a literal IPv4 or IPv6 address (brackets allowed); port 0 lets the system choose.
    package static func openTCP(host: String, port: UInt16) throws(SystemError) -> Int32 {
        let literal = host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
        var hints = addrinfo()
        hints.ai_socktype = Int32(CRYO_SOCK_STREAM)
        hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE
        var found: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(literal, String(port), &hints, &found) == 0, let address = found else {
            throw SystemError("bind", code: EADDRNOTAVAIL)
        }
        defer { freeaddrinfo(address) }
        let descriptor = socket(address.pointee.ai_family, Int32(CRYO_SOCK_STREAM) | Int32(CRYO_SOCK_FLAGS), 0)
        if descriptor < 0 { throw SystemError("socket") }
        var one: Int32 = 1
        _ = setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<Int32>.size))
        // Accepted sockets inherit it on Linux: no call per connection.
        Socket.setNoDelay(descriptor)
        try bindAndListen(descriptor, address.pointee.ai_addr, address.pointee.ai_addrlen)
        return descriptor
    }

    /// Listens on a socket file with those permissions. A file that nobody listens on any more is replaced; one in use is
    /// `EADDRINUSE`.
    package static func openUnix(path: String, mode: UInt32 = 0o600) throws(SystemError) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8CString)
        guard bytes.count > 1, bytes.count <= MemoryLayout.size(ofValue: address.sun_path) else {
            throw SystemError("bind", code: ENAMETOOLONG)
        }
        withUnsafeMutableBytes(of: &address.sun_path) { target in bytes.withUnsafeBytes { target.copyMemory(from: $0) } }
        let descriptor = socket(AF_UNIX, Int32(CRYO_SOCK_STREAM) | Int32(CRYO_SOCK_FLAGS), 0)
        if descriptor < 0 { throw SystemError("socket") }
        let length = socklen_t(MemoryLayout<sockaddr_un>.size)
        removeStale(path, &address, length)
        let failure: SystemError? = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                do throws(SystemError) {
                    try bindAndListen(descriptor, pointer, length, path: path, mode: mode)
                    return nil
                } catch {
                    return error
                }
            }
        }
        if let failure { throw failure }
        return descriptor
    }

    /// Takes one connection; it is non-blocking and closed on exec.
    package static func accept(_ descriptor: Int32) -> SocketAccept {
        let accepted = cryo_accept(descriptor)
        if accepted >= 0 { return .accepted(accepted) }
        switch errno {
        case EAGAIN: return .wouldBlock
        case EMFILE, ENFILE, ENOBUFS, ENOMEM: return .exhausted
        // accept(2): pending network errors of the connection are reported here.
        case EINTR, ECONNABORTED, EPROTO, ENETDOWN, ENOPROTOOPT, EHOSTDOWN, ENONET, EHOSTUNREACH, EOPNOTSUPP, ENETUNREACH, EPERM:
            return .aborted
        case let code: return .failed(code)
        }
    }

    /// Closes the descriptor on failure. The mode of a socket file is set between the two calls, when nobody can connect yet.
    private static func bindAndListen(
        _ descriptor: Int32, _ address: UnsafePointer<sockaddr>?, _ length: socklen_t, path: String? = nil, mode: UInt32 = 0
    ) throws(SystemError) {
        var failure: SystemError?
        if bind(descriptor, address, length) < 0 {
            failure = SystemError("bind")
        } else if let path, chmod(path, mode_t(mode)) < 0 {
            failure = SystemError("chmod")
        } else if listen(descriptor, backlogMax) < 0 {
            failure = SystemError("listen")
        }
        guard let failure else { return }
        Socket.close(descriptor)
        throw failure
    }

    /// Only a socket that refuses a connection is removed: never another kind of file, never one that is served.
    private static func removeStale(_ path: String, _ address: inout sockaddr_un, _ length: socklen_t) {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK else { return }
        let probe = socket(AF_UNIX, Int32(CRYO_SOCK_STREAM) | Int32(CRYO_SOCK_FLAGS), 0)
        guard probe >= 0 else { return }
        defer { Socket.close(probe) }
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { Glibc.connect(probe, $0, length) }
        }
        if result < 0, errno == ECONNREFUSED { unlink(path) }
    }
}
