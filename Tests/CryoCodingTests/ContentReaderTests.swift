// A body with a content coding that passes in pieces is read as far as each piece makes it known.
// Domain: cold

import Testing

@testable import CryoCoding

@Suite("Content of a passing body")
struct ContentReaderTests {
    private func reader(_ encoding: String) -> ContentReader? {
        Array(encoding.utf8).withUnsafeBytes { ContentReader(contentEncoding: $0) }
    }

    private func read(_ pieces: [ArraySlice<UInt8>], _ encoding: String) -> (content: [UInt8], isReadable: Bool) {
        guard let reader = reader(encoding) else { return ([], false) }
        var content: [UInt8] = []
        var isReadable = true
        for piece in pieces { isReadable = Array(piece).withUnsafeBytes { reader.take($0) { content += $0 } } }
        return (content, isReadable)
    }

    @Test("wherever a body is cut, its content is the same", arguments: Wire.allCases)
    func cutAnywhere(wire: Wire) {
        let body = wire.json
        for border in 0...body.count {
            #expect(read([body[..<border], body[border...]], wire.name) == (CodingFixture.json, true))
        }
        #expect(read(body.indices.map { body[$0...$0] }, wire.name) == (CodingFixture.json, true))
    }

    @Test("one coding over another, and several streams one behind the other")
    func stages() {
        let body = CodingFixture.brotliGzipJSON
        for border in 0...body.count {
            #expect(read([body[..<border], body[border...]], "gzip, br") == (CodingFixture.json, true))
        }
        for wire in [Wire.gzip, .zstd] {
            let body = wire.json + wire.json
            for border in 0...body.count {
                #expect(read([body[..<border], body[border...]], wire.name) == (CodingFixture.json + CodingFixture.json, true))
            }
        }
    }

    @Test("content is known before the body is complete", arguments: Wire.encodable)
    func early(wire: Wire) {
        let content = CodingFixture.noise(200_000)
        let body = wire.encode(content)
        let seen = read([body[..<(body.count / 2 + 70_000)]], wire.name)
        #expect(seen.isReadable && seen.content.count > 10_000 && content.starts(with: seen.content))
    }

    @Test("what is not what it says, or goes on behind its end, is not read", arguments: Wire.allCases)
    func broken(wire: Wire) {
        let body = wire.json
        #expect(!read([[0x78, 0xff, 0xff, 0xff, 0xff, 0xff]], wire == .raw ? "gzip" : wire.name).isReadable)
        #expect(!read([body[...], [1, 2, 3, 4, 5]], wire.name).isReadable)
        // Once over, always over.
        #expect(!read([body[...], [1, 2, 3, 4, 5], body[...]], wire.name).isReadable)
    }

    @Test("nothing reads what has no coding, or one that nobody here knows")
    func unknown() {
        #expect(reader("") == nil && reader("identity") == nil && reader("compress") == nil && reader("gzip, compress") == nil)
    }

    @Test("a piece stands for so much content at most, a body for any")
    func bound() {
        let most = ContentReader.pieceContentBytesMax
        for wire in [Wire.gzip, .zstd] {
            let full = wire.encode([UInt8](repeating: 0, count: most))
            let over = wire.encode([UInt8](repeating: 0, count: most + 1))
            #expect(read([full[...]], wire.name).isReadable)
            #expect(!read([over[...]], wire.name).isReadable)
            let both = read([full[...], full[...]], wire.name)
            #expect(both.isReadable && both.content.count == 2 * most)
        }
    }
}
