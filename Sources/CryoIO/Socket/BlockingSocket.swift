// A blocking client socket for commands that ask a running gateway something.
// Domain: cold

import CEpoll
import Glibc

package enum BlockingSocket {
    /// Connects, sends `request`, and reads until the peer closes, the reply is `bytesMax` long, or the time is over.
    /// `host` is a name or a literal without brackets; a host that begins with a slash is a UNIX socket's path. With `tls` it asks
    /// over TLS, as that client context says.
    package static func ask(
        host: String, port: UInt16, request: [UInt8], seconds: Int, bytesMax: Int = 65_536, tls: TLSContext? = nil
    ) throws(SystemError) -> [UInt8] {
        let descriptor = try host.hasPrefix("/") ? connectUnix(host, seconds: seconds) : connect(host, port: port, seconds: seconds)
        defer { Socket.close(descriptor) }
        if let tls { return try askOverTLS(descriptor, tls, request, bytesMax) }
        if let failure = request.withUnsafeBytes({ sendAll(descriptor, $0) }) { throw failure }
        var reply: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while reply.count < bytesMax {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count < 0 { throw SystemError("recv") }
            if count == 0 { break }
            reply.append(contentsOf: buffer[..<count])
        }
        return reply
    }

    private static func sendAll(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> SystemError? {
        var rest = bytes
        while !rest.isEmpty {
            let count = send(descriptor, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL))
            if count < 0 { return SystemError("send") }
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
        return nil
    }

    private static func askOverTLS(
        _ descriptor: Int32, _ context: TLSContext, _ request: [UInt8], _ bytesMax: Int
    ) throws(SystemError) -> [UInt8] {
        guard let stream = TLSStream(context) else { throw SystemError("tls", code: ENOMEM) }
        var wire = [UInt8](repeating: 0, count: TLSStream.ciphertextBytesMax)
        var plain = [UInt8](repeating: 0, count: TLSStream.ciphertextBytesMax)
        var reply: [UInt8] = []
        var unsent = request[...]
        while reply.count < bytesMax {
            switch stream.handshake() {
            case .done, .wantsMore: break
            case .failed, .plainHTTP: throw SystemError("tls handshake", code: EPROTO)
            }
            while !stream.isHandshaking, !unsent.isEmpty {
                guard let count = unsent.withUnsafeBytes({ stream.encrypt($0) }) else { throw SystemError("tls", code: EPROTO) }
                unsent = unsent.dropFirst(count)
            }
            try sendPending(stream, descriptor)
            reading: while !stream.isHandshaking {
                switch plain.withUnsafeMutableBytes({ stream.read(into: $0) }) {
                case .bytes(let count): reply.append(contentsOf: plain[..<count])
                case .wantsMore: break reading
                case .end: return reply
                // As an alert for a client without the certificate that is asked for.
                case .failed: throw SystemError("tls", code: EPROTO)
                }
            }
            let count = recv(descriptor, &wire, wire.count, 0)
            if count < 0 { throw SystemError("recv") }
            if count == 0 { return reply }
            guard wire[..<count].withUnsafeBytes({ stream.feed($0) }) else { throw SystemError("tls", code: ENOMEM) }
        }
        return reply
    }

    private static func sendPending(_ stream: TLSStream, _ descriptor: Int32) throws(SystemError) {
        var failure: SystemError?
        stream.sendPending { bytes in
            failure = sendAll(descriptor, bytes)
            return bytes.count
        }
        if let failure { throw failure }
    }

    private static func setTimeouts(_ descriptor: Int32, seconds: Int) {
        var time = timeval(tv_sec: seconds, tv_usec: 0)
        let size = socklen_t(MemoryLayout<timeval>.size)
        _ = setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, size)
        _ = setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &time, size)
    }

    private static func connect(_ host: String, port: UInt16, seconds: Int) throws(SystemError) -> Int32 {
        var hints = addrinfo()
        hints.ai_socktype = Int32(CRYO_SOCK_STREAM)
        var found: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, String(port), &hints, &found) == 0, let first = found else {
            throw SystemError("getaddrinfo", code: ENOENT)
        }
        defer { freeaddrinfo(first) }
        var failure = SystemError("connect", code: ECONNREFUSED)
        var next: UnsafeMutablePointer<addrinfo>? = first
        while let address = next {
            let descriptor = socket(address.pointee.ai_family, Int32(CRYO_SOCK_STREAM), 0)
            if descriptor >= 0 {
                setTimeouts(descriptor, seconds: seconds)
                if Glibc.connect(descriptor, address.pointee.ai_addr, address.pointee.ai_addrlen) == 0 { return descriptor }
                failure = SystemError("connect")
                Socket.close(descriptor)
            }
            next = address.pointee.ai_next
        }
        throw failure
    }

    private static func connectUnix(_ path: String, seconds: Int) throws(SystemError) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8CString)
        guard bytes.count <= MemoryLayout.size(ofValue: address.sun_path) else { throw SystemError("connect", code: ENAMETOOLONG) }
        withUnsafeMutableBytes(of: &address.sun_path) { target in bytes.withUnsafeBytes { target.copyMemory(from: $0) } }
        let descriptor = socket(AF_UNIX, Int32(CRYO_SOCK_STREAM), 0)
        if descriptor < 0 { throw SystemError("socket") }
        setTimeouts(descriptor, seconds: seconds)
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        if result < 0 {
            let failure = SystemError("connect")
            Socket.close(descriptor)
            throw failure
        }
        return descriptor
    }
}
