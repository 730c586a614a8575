// Attempts given up while libcurl connects: their sockets are forgotten with them, lest their numbers, now of others, be touched.
// Domain: cold

import CryoIO
import CryoPipeline
import Foundation
import Glibc
import Testing

@testable import CryoUpstream

@Suite(.serialized) struct GivenUpConnectTests {
    /// A port that answers no connection: its queue is full.
    private static func fullListener() throws -> (port: UInt16, descriptors: [Int32]) {
        let listener = try ListeningSocket.openTCP(host: "127.0.0.1", port: 0)
        // A queue of one.
        #expect(listen(listener, 0) == 0)
        let port = Socket.localPort(listener)
        var descriptors = [listener]
        for _ in 0..<16 {
            let filler = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
            descriptors.append(filler)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            _ = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    Glibc.connect(filler, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
        }
        return (port, descriptors)
    }

    @Test("no socket of an attempt that was given up while it connected is kept", arguments: [false, true], Way.allCases)
    func forgotten(isConnect: Bool, way: Way) throws {
        let attempts = try Attempts(way)
        let (port, descriptors) = try Self.fullListener()
        defer { for descriptor in descriptors { Socket.close(descriptor) } }
        var attempt = request(upstream(port))
        attempt.isConnect = isConnect
        let recorder = Recorder()
        let id = attempts.start(attempt, recorder)
        var isConnecting = false
        for _ in 0..<1_000_000 where !isConnecting {
            attempts.onWorkerUnsafe { isConnecting = !attempts.forwarder.sockets.all.isEmpty }
            sched_yield()
        }
        #expect(isConnecting)
        attempts.onWorker { attempts.forwarder.cancel(id) }
        var isForgotten = false
        for _ in 0..<1_000_000 where !isForgotten {
            attempts.onWorkerUnsafe { isForgotten = attempts.forwarder.sockets.all.isEmpty && attempts.forwarder.openAttempts == 0 }
            sched_yield()
        }
        #expect(isForgotten && !recorder.ended && recorder.error == nil)
        attempts.close()
    }
}
