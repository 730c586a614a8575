// Broken, cut and shuffled input: the server neither stops nor keeps anything.
// Domain: shared

import CryoPipeline
import Testing

@testable import CryoServer

@Suite struct NoiseTests {
    /// SplitMix64.
    private struct Chance {
        var state: UInt64
        mutating func next(_ bound: Int) -> Int {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = state
            mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return Int((mixed ^ (mixed >> 31)) % UInt64(bound))
        }
    }

    @Test("mutated requests in random pieces, with clients that leave at any time, leave nothing behind")
    func noise() throws {
        let fixture = try Fixture(workers: 2) {
            $0.bodyBytesMax = 1000
            $0.headTimeoutMilliseconds = 200
            $0.bodyTimeoutMilliseconds = 200
            $0.idleTimeoutMilliseconds = 200
        }
        // Every play that ends by itself.
        let plays = [
            "echo", "later", "chunked", "count", "empty", "early", "cut", "short", "long", "unframed", "continued",
        ]
        for seed in 0..<400 {
            var chance = Chance(state: UInt64(seed))
            var bytes: [UInt8] = []
            for _ in 0...chance.next(6) {
                let path = "/\(plays[chance.next(plays.count)])"
                switch chance.next(4) {
                case 0: bytes += Array(get(path).utf8)
                case 1: bytes += Array(post(path, String(repeating: "b", count: chance.next(1200))).utf8)
                case 2: bytes += Array("PUT \(path) HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n".utf8)
                default: bytes += Array(post(path, "abcd", "Expect: 100-continue\r\n").utf8)
                }
            }
            for _ in 0..<chance.next(3) { bytes[chance.next(bytes.count)] = UInt8(chance.next(256)) }
            let client = try fixture.client()
            var sent = 0
            while sent < bytes.count {
                let count = min(bytes.count - sent, 1 + chance.next(200))
                client.send(Array(bytes[sent..<sent + count]))
                sent += count
                if chance.next(20) == 0 { break }
            }
            switch chance.next(3) {
            case 0: client.reset()
            case 1: client.shutdownWrite()
            default: break
            }
        }
        let last = try fixture.client()
        last.send(get("/echo", "Connection: close\r\n"))
        #expect(last.receiveAll().hasSuffix("GET /echo "))
        let drained = Fixture.drain(fixture.server)
        #expect(drained)
        #expect(fixture.server.statistics == ServerStatistics(openConnections: 0, busyExchanges: 0))
    }

    @Test("a body of exactly the limit passes in pieces, one byte more does not", arguments: [1000, 1001])
    func bound(_ count: Int) throws {
        let fixture = try Fixture { $0.bodyBytesMax = 1000 }
        let client = try fixture.client()
        client.send("POST /count HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in 0..<count { client.send("1\r\nx\r\n") }
        client.send("0\r\n\r\n")
        #expect(client.reply().head.hasPrefix(count == 1000 ? "HTTP/1.1 200 " : "HTTP/1.1 413 "))
    }
}
