// The chunked transfer coding, both ways.
// Domain: cold

import CryoHTTP
import Testing

@Suite("Chunked coding")
struct ChunkedTests {
    @Test(
        "well-formed bodies decode, and what follows is left alone",
        arguments: [
            ("5\r\nhello\r\n0\r\n\r\n", "hello", ""), ("A\r\n0123456789\r\nb\r\n0123456789a\r\n0\r\n\r\n", "01234567890123456789a", ""),
            ("0005\r\nhello\r\n000\r\n\r\n", "hello", ""), ("0\r\n\r\n", "", ""), ("5\r\nhello\r\n0\r\n\r\nGET /", "hello", "GET /"),
            ("5;x=y\r\nhello\r\n0;z=\"a b\"\r\n\r\n", "hello", ""), ("1;a=\"b;\\\"c\" ; d\r\nx\r\n0\r\n\r\n", "x", ""),
            ("5\r\nhello\r\n0\r\nX-T: 1\r\n\r\nJUNK", "hello", "JUNK"),
            ("0000000000000005\r\nhello\r\n0\r\n\r\n", "hello", ""),
        ])
    func allowed(input: String, body: String, rest: String) {
        #expect(decode(input) == Decoded(body: latin(body), rest: latin(rest), isEnded: true))
    }

    @Test(
        "broken framing is refused",
        arguments: [
            "0x5\r\nhello\r\n", "+5\r\nhello", "-5\r\nhello", " 5\r\nhello", "5 \r\nhello", "5\t\r\nhello", "\r\nhello", "5\nhello",
            "10000000000000005\r\n", "00000000000000005\r\n", "ffffffffffffffff\r\n", "8000000000000000\r\n", "5\r\nhello\n0",
            "5\r\nhelloXX0",
            "5\r\nhello\rX", "5\r\nhello\r\n\r\n0", "0_5\r\n", "5;a\rb\r\n", "5;a\nb", "5\r\r;A\r\n", "5;\u{0}\r\n", "5;\u{7F}\r\n",
            "5;\u{E9}\r\n", "5;\r\n", "5; \r\n", "5;a;\r\n", "5;=a\r\n", "5;;a\r\n", "5;a=\"b\r\n", "5;a=\"b\\\r\n", "G\r\n", ";x\r\n",
            "0\r\nX-T : 1\r\n\r\n", "0\r\n X: 1\r\n\r\n", "0\r\nX\r\n\r\n", "0\r\nX: a\u{0}\r\n\r\n",
            "0\r\nX: a\rb\r\n", "0\r\nX: 1\n\r\n", "0\r\nX: 1\r\n Y\r\n", "0\r\n\rX", "0\r\n\n", "0\r\n: x\r\n",
        ])
    func refused(input: String) {
        let decoded = decode(input)
        #expect(decoded.failure != nil && !decoded.isEnded)
    }

    @Test("a body split at any byte, and one that comes byte by byte, decode to the same bytes")
    func everySplit() {
        let input = latin("5;x=y\r\nhello\r\n1f\r\n" + repeated("z", 31) + "\r\n0\r\nX-T: 1\r\nX-U: 2\r\n\r\nREST")
        let expected = Decoded(body: latin("hello" + repeated("z", 31)), rest: latin("REST"), isEnded: true)
        for split in 0...input.count {
            var decoder = ChunkedDecoder()
            let decoded = decode([Array(input[..<split]), Array(input[split...])], with: &decoder)
            #expect(decoded.body == expected.body && decoded.rest == expected.rest && decoded.isEnded, "split at \(split)")
            #expect(lines(decoder.trailers) == ["X-T: 1", "X-U: 2"])
        }
        var decoder = ChunkedDecoder()
        #expect(decode(input.map { [$0] }, with: &decoder) == expected)
    }

    @Test("a refused body split at any byte is refused")
    func refusedAtEverySplit() {
        for text in ["5\r\nhello\n0\r\n\r\n", "5;a\rb\r\nhello\r\n0\r\n\r\n", "0\r\nX : 1\r\n\r\n"] {
            let input = latin(text)
            for split in 0...input.count {
                var decoder = ChunkedDecoder()
                #expect(decode([Array(input[..<split]), Array(input[split...])], with: &decoder).failure != nil)
            }
        }
    }

    @Test("a failed decoder stays failed, a finished one takes nothing more")
    func final() {
        var failed = ChunkedDecoder()
        #expect(decode([latin("x")], with: &failed).failure == decode([latin("5\r\nhello\r\n0\r\n\r\n")], with: &failed).failure)
        var done = ChunkedDecoder()
        _ = decode([latin("0\r\n\r\n")], with: &done)
        #expect(done.isDone)
        #expect(decode([latin("5\r\n")], with: &done) == Decoded(rest: latin("5\r\n"), isEnded: true))
    }

    @Test(
        "an unfinished body is neither ended nor failed",
        arguments: ["", "5", "5\r\nhel", "5\r\nhello\r\n", "5\r\nhello\r\n0\r\n", "0\r\n\r"])
    func unfinished(input: String) {
        let decoded = decode(input)
        #expect(decoded.failure == nil && !decoded.isEnded)
    }

    @Test("each limit holds at the bound and refuses one more")
    func limits() {
        let max = ChunkedDecoder.extensionBytesMax
        #expect(decode("0;" + repeated("a", max - 1) + "\r\n\r\n").isEnded)
        #expect(decode("0;" + repeated("a", max) + "\r\n\r\n").failure != nil)
        let full = "1;" + repeated("a", max - 1) + "\r\nx\r\n"
        let chunks = ChunkedDecoder.extensionsTotalBytesMax / max
        #expect(decode(repeated(full, chunks) + "0\r\n\r\n").isEnded)
        #expect(decode(repeated(full, chunks) + "0;\r\n\r\n").failure != nil)
        let lines = ChunkedDecoder.trailerLinesMax
        #expect(decode("0\r\n" + repeated("X: 1\r\n", lines) + "\r\n").isEnded)
        #expect(decode("0\r\n" + repeated("X: 1\r\n", lines + 1) + "\r\n").failure != nil)
        let bytes = ChunkedDecoder.trailerBytesMax
        #expect(decode("0\r\nX:" + repeated("a", bytes - 2) + "\r\n\r\n").isEnded)
        #expect(decode("0\r\nX:" + repeated("a", bytes - 1) + "\r\n\r\n").failure != nil)
    }

    @Test("three thousand one-byte chunks decode")
    func manyChunks() { #expect(decode(repeated("1\r\nx\r\n", 3000) + "0\r\n\r\n").body.count == 3000) }

    @Test("what the encoder writes, the decoder reads", arguments: [1, 9, 10, 15, 16, 255, 256, 65535])
    func roundTrip(count: Int) {
        var wire: [UInt8] = []
        wire.appendHead(bytesMax: ChunkedEncoder.sizeLineBytesMax) { ChunkedEncoder.appendSizeLine(count, to: &$0) }
        #expect(text(wire) == String(count, radix: 16) + "\r\n")
        wire.append(contentsOf: Array(repeating: 0x0A, count: count))
        wire.append(contentsOf: ChunkedEncoder.chunkEnd.rawBytes)
        wire.appendHead(bytesMax: ChunkedEncoder.sizeLineBytesMax) { ChunkedEncoder.appendSizeLine(0, to: &$0) }
        wire.append(contentsOf: ChunkedEncoder.lastChunk.rawBytes)
        var decoder = ChunkedDecoder()
        #expect(decode([wire], with: &decoder) == Decoded(body: Array(repeating: 0x0A, count: count), isEnded: true))
    }
}
