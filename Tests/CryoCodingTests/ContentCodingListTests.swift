// Owns the cases of the Content-Encoding value.
// Domain: cold

import Testing

@testable import CryoCoding

@Suite struct ContentCodingListTests {
    @Test("The last coding of the list is undone first")
    func order() {
        #expect(CodingFixture.decode(CodingFixture.brotliGzipJSON, "gzip, br") == .decoded(CodingFixture.json))
        #expect(CodingFixture.decode(CodingFixture.brotliGzipJSON, "br, gzip") == .broken)
        #expect(CodingFixture.decode(CodingFixture.brotliGzipJSON, "br") == .decoded(Array(CodingFixture.brotliGzipJSON[3..<59])))
    }

    @Test(
        "Names are read in any case, between blanks and empty elements",
        arguments: ["gzip", "GZIP", "x-gzip", "X-GZip", " gzip\t", "gzip,", ",gzip", ", ,gzip, ,", "identity, gzip", "gzip,Identity"])
    func names(value: String) {
        #expect(CodingFixture.decode(Wire.gzip.json, value) == .decoded(CodingFixture.json))
    }

    @Test("No coding, or only identity, leaves the body as it is", arguments: ["", " ", ",", " , ", "identity", "IDENTITY, identity"])
    func identity(value: String) {
        #expect(CodingFixture.decode(CodingFixture.json, value) == .identity)
        #expect(CodingFixture.decode([], value, bytesMax: 0) == .identity)
    }

    @Test(
        "A coding we do not speak is unknown, wherever it stands",
        arguments: [
            "compress", "gzip, compress", "compress, gzip", "gzi", "gzipp", "gzip;q=1", "gzip br", "x\rgzip", "dcb", "*", "\"gzip\"",
            "gzip\0",
        ])
    func unknown(value: String) {
        #expect(CodingFixture.decode(Wire.gzip.json, value) == .unknownCoding)
        #expect(CodingFixture.decode([], value) == .unknownCoding)
    }

    @Test("Four codings are undone, five are unknown")
    func countsCodings() {
        let body = (0..<4).reduce(CodingFixture.json) { content, _ in Wire.gzip.encode(content) }
        #expect(CodingFixture.decode(body, "gzip,gzip,gzip,gzip") == .decoded(CodingFixture.json))
        #expect(CodingFixture.decode(Wire.gzip.encode(body), "gzip,gzip,gzip,gzip,gzip") == .unknownCoding)
        #expect(CodingFixture.decode(CodingFixture.json, "identity,identity,identity,identity,identity") == .unknownCoding)
    }
}
