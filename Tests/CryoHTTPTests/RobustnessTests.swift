// Random damage to valid messages: nothing traps, and how the bytes were cut never changes the verdict.
// Domain: cold

import CryoHTTP
import Testing

/// A fixed sequence, so that a failure repeats.
private struct Damage {
    private var state: UInt64
    private static let pieces = ["\r", "\n", "\r\n", " ", "\t", "\u{0}", ":", ",", ";", "%", "0", "\u{FF}", "chunked", "/../"]

    init(seed: UInt64) { state = seed }

    mutating func number(below bound: Int) -> Int {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int(state >> 33) % bound
    }

    mutating func applied(to text: String) -> [UInt8] {
        var bytes = latin(text)
        for _ in 0...number(below: 3) {
            let at = number(below: bytes.count)
            switch number(below: 4) {
            case 0: bytes[at] = UInt8(number(below: 256))
            case 1: bytes.remove(at: at)
            case 2: bytes.insert(contentsOf: latin(Self.pieces[number(below: Self.pieces.count)]), at: at)
            default: bytes.insert(contentsOf: bytes[at..<min(bytes.count, at + number(below: 20) + 1)], at: at)
            }
            if bytes.isEmpty { bytes = [0] }
        }
        return bytes
    }
}

@Suite("Robustness")
struct RobustnessTests {
    @Test("a damaged request gets the same verdict whole and byte by byte")
    func requests() {
        var damage = Damage(seed: 1)
        let seeds = [
            "POST /t?q=%20 HTTP/1.1\r\nHost: a.test:80\r\nContent-Length: 5\r\nConnection: close, x\r\n\r\n",
            "GET http://a.test/p HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n",
            "\r\nOPTIONS * HTTP/1.0\r\nHost: [::1]:8\r\n\r\n",
        ]
        for round in 0..<3000 {
            let input = damage.applied(to: seeds[round % seeds.count])
            var whole = RequestParser(limits: HeadLimits())
            let expected = input.withUnsafeBytes { outcome(whole.parse($0)) }
            var parser = RequestParser(limits: HeadLimits())
            var got = Parsed.needsMore
            for count in 1...input.count where got == .needsMore {
                got = input.withUnsafeBytes { outcome(parser.parse(UnsafeRawBufferPointer(rebasing: $0[..<count]))) }
            }
            #expect(got == expected, "\(input)")
            if case .head(let head, _) = input.withUnsafeBytes({ whole.parse($0) }) {
                #expect(head.targetForm != nil)
                var fields = head.fields
                removeHopByHop(&fields)
                _ = Array(head.fields.bytes[head.target]).withUnsafeBytes { routingPath($0) }
            }
        }
    }

    @Test("a damaged chunked body gets the same verdict and bytes whole and byte by byte")
    func bodies() {
        var damage = Damage(seed: 2)
        for _ in 0..<3000 {
            let input = damage.applied(to: "5;x=y\r\nhello\r\n1F\r\n\(repeated("z", 31))\r\n0\r\nX-T: 1\r\n\r\n")
            var whole = ChunkedDecoder()
            var pieces = ChunkedDecoder()
            let expected = decode([input], with: &whole)
            let got = decode(input.map { [$0] }, with: &pieces)
            #expect(got == expected, "\(input)")
        }
    }

    @Test("damaged response lines never trap, and a head that passes can always be delimited")
    func responses() {
        var damage = Damage(seed: 3)
        for _ in 0..<3000 {
            let input = damage.applied(to: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-A: chunked\r\n\r\nX-T: 1\r\n\r\n")
            var assembler = ResponseAssembler()
            for line in input.split(separator: 0x0A, omittingEmptySubsequences: false) {
                guard case .head = Array(line + [0x0A]).withUnsafeBytes({ assembler.append($0) }) else { continue }
                let head = assembler.takeHead()
                #expect(responseFraming(status: head.status, requestIsHead: false, fields: head.fields) != nil)
            }
        }
    }
}
