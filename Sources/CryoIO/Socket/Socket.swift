// The socket calls of the gateway. Descriptors are non-blocking and closed on exec.
// Domain: worker

import CEpoll
import Glibc

package enum SocketRead: Equatable {
    case bytes(Int)
    case wouldBlock
    case end
    case failed(Int32)
}

package enum SocketWrite: Equatable {
    case bytes(Int)
    case wouldBlock
    case failed(Int32)
}

package enum Socket {
    package static func read(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer) -> SocketRead {
        while true {
            let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
            if count > 0 { return .bytes(count) }
            if count == 0 { return .end }
            if errno == EINTR { continue }
            return errno == EAGAIN ? .wouldBlock : .failed(errno)
        }
    }

    /// True when the peer has sent nothing and has not closed. Takes nothing.
    package static func isQuiet(_ descriptor: Int32) -> Bool {
        var byte: UInt8 = 0
        return recv(descriptor, &byte, 1, Int32(MSG_PEEK)) < 0 && errno == EAGAIN
    }

    /// Writes without SIGPIPE.
    package static func write(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> SocketWrite {
        while true {
            let count = send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
            if count >= 0 { return .bytes(count) }
            if errno == EINTR { continue }
            return errno == EAGAIN ? .wouldBlock : .failed(errno)
        }
    }

    /// Writes two buffers by one call, without SIGPIPE.
    package static func write(_ descriptor: Int32, _ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer) -> SocketWrite {
        var vectors = (
            iovec(iov_base: UnsafeMutableRawPointer(mutating: first.baseAddress), iov_len: first.count),
            iovec(iov_base: UnsafeMutableRawPointer(mutating: second.baseAddress), iov_len: second.count)
        )
        return withUnsafeMutablePointer(to: &vectors) { pointer in
            pointer.withMemoryRebound(to: iovec.self, capacity: 2) { vectors in
                var message = msghdr()
                message.msg_iov = vectors
                message.msg_iovlen = 2
                while true {
                    let count = sendmsg(descriptor, &message, Int32(MSG_NOSIGNAL))
                    if count >= 0 { return .bytes(count) }
                    if errno == EINTR { continue }
                    return errno == EAGAIN ? .wouldBlock : .failed(errno)
                }
            }
        }
    }

    /// What no other open socket has, as long as this one is open; 0 when there is none of that number.
    package static func identity(_ descriptor: Int32) -> UInt64 {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? UInt64(status.st_ino) : 0
    }

    /// The user at the other end of a UNIX socket; nil elsewhere.
    package static func peerUID(_ descriptor: Int32) -> UInt32? {
        var uid: UInt32 = 0
        return cryo_peer_uid(descriptor, &uid) == 0 ? uid : nil
    }

    package static func close(_ descriptor: Int32) { _ = Glibc.close(descriptor) }

    /// Tells the peer that nothing more comes, while its bytes are still read.
    package static func shutdownWrite(_ descriptor: Int32) { _ = shutdown(descriptor, Int32(SHUT_WR)) }

    /// Makes `close` send a reset, so that the peer cannot take a cut reply for a whole one.
    package static func resetOnClose(_ descriptor: Int32) {
        var value = linger(l_onoff: 1, l_linger: 0)
        _ = setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &value, socklen_t(MemoryLayout<linger>.size))
    }

    package static func setNoDelay(_ descriptor: Int32) {
        var one: Int32 = 1
        _ = setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
    }

    /// The peer as text, `127.0.0.1:4711`, `[::1]:4711` or `unix`.
    package static func peerName(_ descriptor: Int32) -> String { name(descriptor, getpeername) ?? "unknown" }

    /// The own address as text; nil when the kernel does not tell.
    package static func localName(_ descriptor: Int32) -> String? { name(descriptor, getsockname) }

    /// The own port; 0 on a UNIX socket.
    package static func localPort(_ descriptor: Int32) -> UInt16 {
        guard let name = localName(descriptor), let colon = name.lastIndex(of: ":") else { return 0 }
        return UInt16(name[name.index(after: colon)...]) ?? 0
    }

    private static func name(
        _ descriptor: Int32, _ call: (Int32, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
    ) -> String? {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                guard call(descriptor, address, &length) == 0 else { return nil }
                guard address.pointee.sa_family != sa_family_t(AF_UNIX) else { return "unix" }
                var host = [CChar](repeating: 0, count: 64)
                var service = [CChar](repeating: 0, count: 16)
                let flags = NI_NUMERICHOST | NI_NUMERICSERV
                guard getnameinfo(address, length, &host, 64, &service, 16, flags) == 0 else { return nil }
                let hostText = host.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" }
                let serviceText = service.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" }
                return hostText.contains(":") ? "[\(hostText)]:\(serviceText)" : "\(hostText):\(serviceText)"
            }
        }
    }
}
