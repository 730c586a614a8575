// Owns the cases of content decoding: round trips, bounds, cuts, garbage, lists.
// Domain: cold

import Testing

@testable import CryoCoding

@Suite struct ContentDecoderTests {
    private func decode(_ body: [UInt8], _ encoding: String, bytesMax: Int = 4 << 20, padding: Int = 64) -> Seen {
        CodingFixture.decode(body, encoding, bytesMax: bytesMax, padding: padding)
    }

    @Test("Each coding gives its content back", arguments: Wire.allCases)
    func decodes(wire: Wire) {
        #expect(decode(wire.json, wire.name) == .decoded(CodingFixture.json))
        #expect(decode(wire.zeros, wire.name) == .decoded([UInt8](repeating: 0, count: CodingFixture.zerosCount)))
        #expect(decode(wire.empty, wire.name) == .decoded([]))
    }

    @Test("Content of every awkward length comes back whole", arguments: Wire.encodable)
    func decodesLengths(wire: Wire) {
        let step = ContentDecoder.stepBytes
        for count in [1, 2, step - 1, step, step + 1, 2 * step, 3 * step + 7, 300_000] {
            let content = CodingFixture.noise(count)
            #expect(decode(wire.encode(content), wire.name) == .decoded(content), "\(count) bytes")
            let zeros = [UInt8](repeating: 0, count: count)
            #expect(decode(wire.encode(zeros), wire.name) == .decoded(zeros), "\(count) zeros")
        }
    }

    @Test("Content at the bound is decoded, one byte more is too large", arguments: Wire.allCases)
    func boundsContent(wire: Wire) {
        let count = CodingFixture.json.count
        #expect(decode(wire.json, wire.name, bytesMax: count) == .decoded(CodingFixture.json))
        #expect(decode(wire.json, wire.name, bytesMax: count - 1) == .tooLarge)
        #expect(decode(wire.empty, wire.name, bytesMax: 0) == .decoded([]))
        #expect(decode(wire.json, wire.name, bytesMax: 0) == .tooLarge)
        #expect(decode(wire.json, wire.name, bytesMax: -1) == .tooLarge)
        #expect(decode(wire.zeros, wire.name, bytesMax: CodingFixture.zerosCount - 1) == .tooLarge)
        #expect(decode(wire.json, wire.name, bytesMax: .max, padding: 64) == .decoded(CodingFixture.json))
    }

    @Test("The array never reserves much more than the bound and the padding", arguments: Wire.allCases)
    func boundsCapacity(wire: Wire) {
        for bytesMax in [CodingFixture.zerosCount, CodingFixture.zerosCount + 1000] {
            guard
                case .decoded(let bytes) = CodingFixture.decodeRaw(wire.zeros, wire.name, bytesMax: bytesMax, padding: 64)
            else {
                Issue.record("not decoded")
                return
            }
            #expect(bytes.capacity >= bytes.count + 64)
            #expect(bytes.capacity <= bytesMax + 64 + ContentDecoder.stepBytes)
        }
    }

    @Test("The padding is there behind short and empty content too", arguments: Wire.allCases)
    func pads(wire: Wire) {
        for body in [wire.json, wire.empty] {
            guard case .decoded(let bytes) = CodingFixture.decodeRaw(body, wire.name, bytesMax: 100, padding: 512) else {
                Issue.record("not decoded")
                return
            }
            #expect(bytes.capacity >= bytes.count + 512)
        }
    }

    @Test("A body cut at any byte is broken", arguments: Wire.allCases)
    func refusesCuts(wire: Wire) {
        for body in [wire.json, wire.zeros, wire.empty] {
            for count in 0..<body.count {
                #expect(decode(Array(body[..<count]), wire.name) == .broken, "cut at \(count) of \(body.count)")
            }
        }
    }

    @Test("Bytes behind the end are broken", arguments: Wire.allCases)
    func refusesTrailingGarbage(wire: Wire) {
        for garbage in [[0x00], [0x0a], [0x1f], [0x1f, 0x8b], [0x28, 0xb5, 0x2f, 0xfd], Array("}}}}}}}}}}}}".utf8)] as [[UInt8]] {
            #expect(decode(wire.json + garbage, wire.name) == .broken, "\(garbage)")
        }
    }

    @Test("What is not the named coding is broken", arguments: Wire.allCases)
    func refusesGarbage(wire: Wire) {
        #expect(decode([], wire.name) == .broken)
        #expect(decode(CodingFixture.json, wire.name) == .broken)
        #expect(decode([UInt8](repeating: 0xff, count: 64), wire.name) == .broken)
        for other in Wire.allCases where other.name != wire.name {
            #expect(decode(other.json, wire.name) == .broken, "\(other)")
        }
    }

    @Test("A flipped bit never traps, and is noticed by the codings with a checksum", arguments: Wire.allCases)
    func survivesFlips(wire: Wire) {
        for index in wire.json.indices {
            for bit in 0..<8 {
                var body = wire.json
                body[index] ^= 1 << bit
                let seen = decode(body, wire.name, bytesMax: 1 << 16)
                guard case .decoded(let bytes) = seen else { continue }
                // Header bytes such as gzip's time and system carry nothing of the content.
                if wire != .raw, wire != .brotli { #expect(bytes == CodingFixture.json, "byte \(index) bit \(bit)") }
            }
        }
    }

    @Test("Gzip members and zstd frames one behind the other are one content", arguments: [Wire.gzip, .zstd])
    func joinsMembers(wire: Wire) {
        let twice = CodingFixture.json + CodingFixture.json
        let body = wire.json + wire.empty + wire.json
        #expect(decode(body, wire.name) == .decoded(twice))
        #expect(decode(body, wire.name, bytesMax: twice.count) == .decoded(twice))
        #expect(decode(body, wire.name, bytesMax: twice.count - 1) == .tooLarge)
        for cut in 1..<wire.json.count { #expect(decode(wire.json + wire.json[..<cut], wire.name) == .broken, "cut at \(cut)") }
    }

    @Test("Other formats end with their first stream", arguments: [Wire.zlib, .raw, .brotli])
    func refusesSecondStream(wire: Wire) {
        #expect(decode(wire.json + wire.json, wire.name) == .broken)
    }

    @Test("Skippable zstd frames are skipped, frames of the old formats are broken")
    func zstdFrames() {
        let skippable: [UInt8] = [0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3]
        #expect(decode(skippable + Wire.zstd.json + skippable, "zstd") == .decoded(CodingFixture.json))
        #expect(decode(skippable, "zstd") == .decoded([]))
        for version in UInt8(0x22)...0x27 {
            #expect(decode([version, 0xb5, 0x2f, 0xfd] + Wire.zstd.json.dropFirst(4), "zstd") == .broken)
        }
    }

    @Test("A zstd window of 8 MiB is taken, a larger one is broken")
    func zstdWindow() {
        let content = CodingFixture.noise(1000)
        #expect(decode(CodingFixture.zstd(content, windowLog: Zstandard.windowLogMax), "zstd") == .decoded(content))
        #expect(decode(CodingFixture.zstd(content, windowLog: Zstandard.windowLogMax + 1), "zstd") == .broken)
    }

    @Test("Bombs inside bombs stop at the bound", arguments: Wire.encodable)
    func stopsNestedBombs(wire: Wire) {
        let body = wire.encode(wire.encode(wire.zeros))
        let name = "\(wire.name), \(wire.name), \(wire.name)"
        #expect(decode(body, name, bytesMax: CodingFixture.zerosCount) == .decoded([UInt8](repeating: 0, count: CodingFixture.zerosCount)))
        #expect(decode(body, name, bytesMax: 50_000) == .tooLarge)
        let outerBomb = wire.zeros
        #expect(decode(outerBomb, "gzip, \(wire.name)", bytesMax: 10_000) == .tooLarge)
    }

    @Test("Content that does not shrink passes two codings at its bound")
    func keepsNoiseAtTheBound() {
        let content = CodingFixture.noise(1000)
        let body = Wire.zstd.encode(Wire.gzip.encode(content))
        #expect(decode(body, "gzip, zstd", bytesMax: 1000) == .decoded(content))
        #expect(decode(body, "gzip, zstd", bytesMax: 999) == .tooLarge)
    }
}
