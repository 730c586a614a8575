// A running server on loopback, and a raw client that speaks bytes.
// Domain: shared

import CryoIO
import CryoPipeline
import CryoSync
import Dispatch
import Glibc
import Testing

@testable import CryoServer

final class Fixture: Sendable {
    let server: Server
    let acceptor = ScriptedAcceptor()
    let workers: [Worker]
    let address: String

    init(workers count: Int = 1, answersHalfClosed: Bool = false, _ change: (inout LimitSettings) -> Void = { _ in }) throws {
        var limits = LimitSettings()
        change(&limits)
        var workers: [Worker] = []
        for index in 0..<count {
            let worker = try Worker(index: index)
            worker.start()
            workers.append(worker)
        }
        self.workers = workers
        server = Server(workers: workers, limits: limits, acceptor: acceptor, answersHalfClosed: answersHalfClosed)
        address = try server.listen(ListenSettings(address: .tcp(host: "127.0.0.1", port: 0)))
    }

    /// A consumer's resumption holds the consumer, and that the acceptor.
    deinit {
        let resumes = acceptor.resumes.withLock { resumes in
            defer { resumes = [] }
            return resumes
        }
        withExtendedLifetime(resumes) {}
    }

    var diary: Diary { acceptor.diary }

    func client(receiveBytes: Int32 = 0) throws -> RawClient {
        let port = try #require(address.split(separator: ":").last.flatMap { UInt16($0) })
        return try RawClient(port: port, receiveBytes: receiveBytes)
    }

    /// True when nobody listens.
    func isRefused() throws -> Bool {
        let port = try #require(address.split(separator: ":").last.flatMap { UInt16($0) })
        // The listener closes its socket on a queue of its own.
        let deadline = ContinuousClock.now + .seconds(5)
        while ContinuousClock.now < deadline {
            do {
                _ = try BlockingSocket.ask(host: "127.0.0.1", port: port, request: [], seconds: 1)
            } catch {
                if error.code == ECONNREFUSED { return true }
            }
        }
        return false
    }

    /// True when the server has no connection left, in time.
    static func drain(_ server: Server) -> Bool {
        let drained = DispatchSemaphore(value: 0)
        server.beginDrain { drained.signal() }
        return drained.wait(timeout: .now() + .seconds(10)) == .success
    }

    /// Waits until everything submitted before has been done on every worker.
    func settle() {
        for worker in workers {
            let done = DispatchSemaphore(value: 0)
            worker.submit { done.signal() }
            _ = done.wait(timeout: .now() + .seconds(5))
        }
    }
}

/// A blocking client with time limits on every call.
final class RawClient {
    let descriptor: Int32
    private(set) var hasEnded = false
    private(set) var wasReset = false

    init(port: UInt16, receiveBytes: Int32 = 0) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var time = timeval(tv_sec: 5, tv_usec: 0)
        let size = socklen_t(MemoryLayout<timeval>.size)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, size)
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &time, size)
        if receiveBytes > 0 {
            var bytes = receiveBytes
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &bytes, socklen_t(MemoryLayout<Int32>.size))
        }
        var one: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        try #require(result == 0)
    }

    deinit { close(descriptor) }

    func send(_ text: String) { send(Array(text.utf8)) }

    func send(_ bytes: [UInt8]) {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            if count <= 0 { return }
            sent += count
        }
    }

    func shutdownWrite() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// Sends a reset.
    func reset() {
        Socket.resetOnClose(descriptor)
        shutdown(descriptor, Int32(SHUT_RD))
    }

    /// Some bytes; empty at the end, at a reset and when nothing comes.
    func receive(max: Int = 65_536) -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: max)
        let count = recv(descriptor, &buffer, max, 0)
        if count == 0 { hasEnded = true }
        if count < 0, errno == ECONNRESET { wasReset = true }
        return Array(buffer[..<Swift.max(0, count)])
    }

    /// Everything up to and including `mark`, or to the end.
    func receive(until mark: String) -> String {
        var text = ""
        while !text.contains(mark) {
            let bytes = receive(max: 1)
            if bytes.isEmpty { return text }
            text += String(decoding: bytes, as: UTF8.self)
        }
        return text
    }

    func receiveAll() -> String {
        var all: [UInt8] = []
        while true {
            let bytes = receive()
            if bytes.isEmpty { return String(decoding: all, as: UTF8.self) }
            all += bytes
        }
    }

    /// The next reply with a Content-Length.
    func reply() -> (head: String, body: String) {
        let head = receive(until: "\r\n\r\n")
        let length =
            head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("content-length: ") }
            .flatMap { Int($0.dropFirst(16)) } ?? 0
        var body: [UInt8] = []
        while body.count < length {
            let bytes = receive(max: length - body.count)
            if bytes.isEmpty { break }
            body += bytes
        }
        return (head, String(decoding: body, as: UTF8.self))
    }
}

func get(_ path: String, _ fields: String = "") -> String { "GET \(path) HTTP/1.1\r\nHost: localhost\r\n\(fields)\r\n" }

func post(_ path: String, _ body: String, _ fields: String = "") -> String {
    "POST \(path) HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(body.utf8.count)\r\n\(fields)\r\n\(body)"
}
