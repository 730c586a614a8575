// Hop-by-hop removal, Via and the forwarding fields, byte classes and numbers.
// Domain: cold

import CryoHTTP
import Testing

@Suite("Fields")
struct FieldsTests {
    private func filtered(_ input: [(String, String)]) -> [String] {
        var fields = section(input)
        var withoutLength = fields
        removeHopByHop(&fields)
        // In one pass it is as if it were removed behind it.
        removeHopByHop(&withoutLength, dropsLength: true)
        var expected = fields
        expected.remove("content-length")
        #expect(lines(withoutLength) == lines(expected) && !withoutLength.contains("content-length"))
        return lines(fields)
    }

    @Test("fields for one hop are removed and all others keep their order")
    func hopByHop() {
        let kept = filtered([
            ("X-A", "1"), ("Keep-Alive", "timeout=5"), ("TE", "gzip"), ("Upgrade", "h2c"), ("HTTP2-Settings", "AA"),
            ("Proxy-Connection", "keep-alive"), ("Proxy-Authorization", "Basic x"), ("Proxy-Authenticate", "Basic"), ("Trailer", "X"),
            ("Transfer-Encoding", "chunked"), ("cOnNeCtIoN", "keep-alive"), ("X-B", "2"), ("TEx", "3"),
        ])
        #expect(kept == ["X-A: 1", "X-B: 2", "TEx: 3"])
    }

    @Test("fields named by any Connection line are removed, in any case")
    func named() {
        let kept = filtered([
            ("x-hop", "1"), ("Connection", "close, X-HOP ,, X-Two"), ("X-Two", "2"), ("X-Two", "3"), ("Connection", "x-three,connection"),
            ("X-Three", "4"), ("X-Four", "5"),
        ])
        #expect(kept == ["X-Four: 5"])
    }

    @Test(
        "what Connection says of the connection is what its lists hold, in all lines and any case",
        arguments: [
            [], ["keep-alive"], ["Keep-Alive"], ["close"], ["CLOSE"], ["keep-alive, close"], ["close", "keep-alive"], ["x", "y,Close"],
            [""], [","], ["keep-alive,"], ["keep-alivE", "keep-alive"], ["closed"], ["keep alive"], ["x-keep-alive, xclose"],
        ])
    func options(_ values: [String]) {
        let fields = section([("Connectio", "close")] + values.map { ("cOnnection", $0) } + [("Connections", "close, keep-alive")])
        let options = ConnectionOptions(of: fields)
        #expect(options.closes == fields.listContains("connection", token: "close"))
        #expect(options.keepsAlive == fields.listContains("connection", token: "keep-alive"))
    }

    @Test("Connection cannot strip what framing, identity and security depend on")
    func protected() {
        let names = [
            "Host", "Authorization", "Cookie", "Content-Length", "Content-Type", "X-Forwarded-For", "Forwarded", "Via", "Origin",
            "Sec-Fetch-Site", "Cache-Control", "Set-Cookie", "WWW-Authenticate", "X-Real-IP",
        ]
        let fields = names.map { ($0, "v") }
        #expect(filtered([("Connection", names.joined(separator: ", "))] + fields) == names.map { "\($0): v" })
    }

    @Test("Via is appended to one line")
    func via() {
        var fields = section([("X-A", "1")])
        appendVia(&fields, minorVersion: 1, pseudonym: Array("cryonet".utf8))
        #expect(lines(fields) == ["X-A: 1", "via: 1.1 cryonet"])
        fields = section([("Via", "1.0 p"), ("X-A", "1"), ("VIA", "1.1 q")])
        appendVia(&fields, minorVersion: 0, pseudonym: Array("cryonet".utf8))
        #expect(lines(fields) == ["Via: 1.0 p, 1.1 q, 1.0 cryonet", "X-A: 1"])
        fields = section([("Via", "")])
        appendVia(&fields, minorVersion: nil, pseudonym: Array("cryonet".utf8))
        #expect(lines(fields) == ["Via: 2 cryonet"])
    }

    @Test("a peer that is not trusted has its claims replaced, a trusted one has them kept and ours on the right")
    func forwarded() {
        let received = [
            ("Host", "a.test"), ("X-Forwarded-For", "10.0.0.1"), ("x-forwarded-for", "10.0.0.2"), ("X-Forwarded-Proto", "https"),
            ("Forwarded", "for=10.0.0.1"), ("X-Real-IP", "10.0.0.1"), ("X-Forwarded-Host", "evil"), ("X-Forwarded-Port", "1"),
        ]
        let address = latin("127.0.0.1")
        var fields = section(received)
        address.withUnsafeBytes { setForwardingFields(&fields, ForwardingFacts(clientAddress: $0, isSecure: false, isTrusted: false)) }
        #expect(lines(fields) == ["Host: a.test", "x-forwarded-for: 127.0.0.1", "x-forwarded-proto: http", "x-forwarded-host: a.test"])
        fields = section(Array(received.prefix(4)))
        address.withUnsafeBytes { setForwardingFields(&fields, ForwardingFacts(clientAddress: $0, isSecure: true, isTrusted: true)) }
        let expected = ["X-Forwarded-For: 10.0.0.1, 10.0.0.2, 127.0.0.1", "X-Forwarded-Proto: https", "x-forwarded-host: a.test"]
        #expect(lines(fields) == ["Host: a.test"] + expected)
    }

    @Test("a trusted peer's Forwarded gets our element, in its own grammar; one is not made up")
    func forwardedElement() {
        for (address, element) in [("10.0.0.9", "10.0.0.9"), ("::1", "\"[::1]\""), ("unix", "unknown")] {
            var fields = section([("Host", "a.test"), ("Forwarded", "for=1.2.3.4"), ("forwarded", "for=5.6.7.8")])
            latin(address).withUnsafeBytes {
                setForwardingFields(&fields, ForwardingFacts(clientAddress: $0, isSecure: false, isTrusted: true))
            }
            #expect(lines(fields).contains("Forwarded: for=1.2.3.4, for=5.6.7.8, for=\(element);proto=http"))
        }
        var fields = section([("Host", "a.test")])
        latin("::1").withUnsafeBytes {
            setForwardingFields(&fields, ForwardingFacts(clientAddress: $0, isSecure: false, isTrusted: true))
        }
        #expect(!fields.contains("forwarded"))
    }

    @Test("Via tells how often a message has been here, whatever else it names")
    func passes() {
        let name = latin("cryonet-1a")
        func count(_ values: [String]) -> Int { countVia(section(values.map { ("Via", $0) }), pseudonym: name) }
        #expect(count([]) == 0 && count(["1.1 cryonet-1b, 1.0 cryonet", "cryonet-1a", "1.1 cryonet-1a2, x/cryonet-1a"]) == 0)
        #expect(count(["1.1 cryonet-1a"]) == 1 && count(["1.0 p, HTTP/1.1 \t cryonet-1a (x)"]) == 1)
        #expect(count(["1.1 cryonet-1a, 1.1 p", "1.1 cryonet-1a(c)"]) == 2)
    }

    @Test("token bytes are those of the grammar")
    func tokenBytes() {
        let allowed = Set(latin("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"))
        for byte in UInt8.min...UInt8.max { #expect(isTokenByte(byte) == allowed.contains(byte)) }
    }

    @Test("a control byte is found at every position of a value, and every other byte passes there")
    func controlPositions() {
        for position in 0..<20 {
            for byte in UInt8.min...UInt8.max {
                var value = Array(repeating: UInt8(0x61), count: 20)
                value[position] = byte
                let isControl = (byte < 0x20 && byte != 9) || byte == 0x7F
                let input = latin("GET / HTTP/1.1\r\nHost: a\r\nX: ") + value + latin("\r\n\r\n")
                var parser = RequestParser(limits: HeadLimits())
                let result = input.withUnsafeBytes { outcome(parser.parse($0)) }
                #expect(result == (isControl ? .refused(400) : .head(consumed: input.count)), "byte \(byte) at \(position)")
            }
        }
    }

    @Test("decimal and hexadecimal numbers are written without leading zeros", arguments: [0, 1, 9, 10, 15, 16, 99, 100, 4095, UInt64.max])
    func numbers(value: UInt64) {
        var buffer: [UInt8] = []
        buffer.appendDecimal(value)
        #expect(text(buffer) == String(value))
        #expect(buffer.withUnsafeBytes { parseDecimal($0) } == value)
        buffer.removeAll()
        buffer.appendHead(bytesMax: ChunkedDecoder.sizeDigitsMax) { $0.appendHexadecimal(value) }
        #expect(text(buffer) == String(value, radix: 16))
    }
}
