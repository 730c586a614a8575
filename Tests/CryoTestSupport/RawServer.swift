// A scripted upstream on raw sockets: the test says, connection by connection, what it reads and writes.
// Domain: cold

import CryoSync
import Foundation
import Glibc

/// One accepted connection, used on its own thread.
package final class RawConnection: @unchecked Sendable {
    // SAFETY: used by the one thread that serves it.
    package let number: Int
    private let descriptor: Int32
    private var buffer: [UInt8] = []

    package init(_ descriptor: Int32, number: Int) {
        self.descriptor = descriptor
        self.number = number
        var time = timeval(tv_sec: 20, tv_usec: 0)
        _ = setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
        _ = setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
    }

    private func fill() -> Bool {
        var chunk = [UInt8](repeating: 0, count: 65_536)
        let count = recv(descriptor, &chunk, chunk.count, 0)
        if count <= 0 { return false }
        buffer.append(contentsOf: chunk[..<count])
        return true
    }

    /// Reads to the end of a head; nil when the peer has closed.
    package func readHead() -> String? {
        while true {
            if let end = buffer.indices.dropLast(3).first(where: { buffer[$0..<$0 + 4].elementsEqual("\r\n\r\n".utf8) }) {
                let head = String(decoding: buffer[..<(end + 4)], as: UTF8.self)
                buffer.removeFirst(end + 4)
                return head
            }
            if !fill() { return nil }
        }
    }

    package func read(_ count: Int) -> [UInt8]? {
        while buffer.count < count { if !fill() { return nil } }
        defer { buffer.removeFirst(count) }
        return Array(buffer[..<count])
    }

    /// Reads a line and gives it without its end.
    package func readLine() -> String? {
        while true {
            if let end = buffer.firstIndex(of: 0x0A) {
                let line = String(decoding: buffer[..<end], as: UTF8.self)
                buffer.removeFirst(end + 1)
                return line.hasSuffix("\r") ? String(line.dropLast()) : line
            }
            if !fill() { return nil }
        }
    }

    /// Reads until `ending` has come.
    package func read(until ending: String) -> String? {
        while !buffer.suffix(ending.utf8.count).elementsEqual(ending.utf8) { if !fill() { return nil } }
        defer { buffer = [] }
        return String(decoding: buffer, as: UTF8.self)
    }

    @discardableResult
    package func write(_ bytes: [UInt8]) -> Bool {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            if count <= 0 { return false }
            sent += count
        }
        return true
    }

    @discardableResult
    package func write(_ text: String) -> Bool { write(Array(text.utf8)) }

    /// True when the peer closes without another byte.
    package func waitForClose() -> Bool { buffer.isEmpty && !fill() }

    package func finishSending() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// Makes the coming close a reset.
    package func reset() {
        var option = linger(l_onoff: 1, l_linger: 0)
        _ = setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }

    fileprivate func close() { Glibc.close(descriptor) }
}

package final class RawServer: Sendable {
    package let port: UInt16
    private let descriptor: Int32
    private let lines = Mutex<[String]>([])

    /// Serves each connection with `script` on a thread of its own and closes it afterwards.
    package init(_ script: @escaping @Sendable (RawServer, RawConnection) -> Void) {
        let (descriptor, port) = Self.listen()
        self.descriptor = descriptor
        self.port = port
        Thread.detachNewThread { [self] in
            var number = 0
            while true {
                let accepted = accept(descriptor, nil, nil)
                if accepted < 0 { return }
                let connection = RawConnection(accepted, number: number)
                number += 1
                Thread.detachNewThread { [self] in
                    script(self, connection)
                    connection.close()
                }
            }
        }
    }

    /// Ends the accepting thread.
    package func stop() { shutdown(descriptor, Int32(SHUT_RDWR)) }

    package func note(_ line: String) { lines.withLock { $0.append(line) } }
    package var notes: [String] { lines.withLock { $0 } }

    /// A port of loopback where nobody listens.
    package static func deadPort() -> UInt16 {
        let (descriptor, port) = bound()
        Glibc.close(descriptor)
        return port
    }

    private static func listen() -> (Int32, UInt16) {
        let (descriptor, port) = bound()
        Glibc.listen(descriptor, 512)
        return (descriptor, port)
    }

    private static func bound() -> (Int32, UInt16) {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                _ = bind(descriptor, $0, size)
                _ = getsockname(descriptor, $0, &size)
            }
        }
        return (descriptor, UInt16(bigEndian: address.sin_port))
    }
}
