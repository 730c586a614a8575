// Bodies that are not UTF-8: which charset counts, what becomes of them, what is refused.
// Domain: cold

import CryoHTTP
import Testing

@testable import CryoPipeline

private func utf16(_ text: String, isBigEndian: Bool, marked: Bool = false) -> [UInt8] {
    ((marked ? [0xFEFF] : []) + Array(text.utf16)).flatMap { unit -> [UInt8] in
        let (high, low) = (UInt8(unit >> 8), UInt8(unit & 0xFF))
        return isBigEndian ? [high, low] : [low, high]
    }
}

private func decoded(_ body: [UInt8], _ type: String?) -> String? {
    let fields = section(type.map { [("Content-Type", $0)] } ?? [])
    return body.withUnsafeBytes { Charset.of($0, fields).decoded($0) }.map { String(decoding: $0, as: UTF8.self) }
}

@Suite("A charset")
struct CharsetTests {
    private static let sample = #"{"s":"余é😀"}"#

    @Test("is told by the mark, then by the name, and is UTF-8 otherwise")
    func recognized() {
        let sample = Self.sample
        for type in [nil, "application/json", "application/json; charset=utf-8", "application/json; charset=gbk", "text/plain; charset"] {
            #expect(decoded(Array(sample.utf8), type) == sample)
            #expect(decoded(utf16(sample, isBigEndian: true, marked: true), type) == sample)
            #expect(decoded(utf16(sample, isBigEndian: false, marked: true), type) == sample)
        }
        for isBigEndian in [true, false] {
            #expect(decoded(utf16(sample, isBigEndian: isBigEndian), "application/json;charset=UTF-16") == sample)
            let name = isBigEndian ? "utf-16be" : "UTF-16LE"
            #expect(decoded(utf16(sample, isBigEndian: isBigEndian), "application/json; q=\"1\" ; Charset=\"\(name)\"") == sample)
        }
        #expect(decoded([0x22, 0xE9, 0x22], "application/json; charset=ISO-8859-1") == "\"é\"")
        #expect(decoded(Array(sample.utf8), "application/json; xcharset=utf-16; charset=utf-8") == sample)
    }

    @Test("refuses half a unit and half a pair")
    func broken() {
        let type = "application/json; charset=utf-16le"
        #expect(decoded([0x22, 0x00, 0x22], type) == nil)
        #expect(
            decoded([0x00, 0xD8], type) == nil && decoded([0x00, 0xD8, 0x41, 0x00], type) == nil && decoded([0x00, 0xDC], type) == nil)
        #expect(decoded([], type) == "")
    }
}
