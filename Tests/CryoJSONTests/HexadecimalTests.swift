// Bytes as hexadecimal digits and back.
// Domain: cold

import CryoJSON
import Testing

@Suite("Hexadecimal digits")
struct HexadecimalTests {
    @Test("every byte has two small digits, and comes back from them in either case")
    func everyByte() {
        for byte in UInt8.min ... .max {
            let text = Hexadecimal.text([byte])
            #expect(text == (byte < 16 ? "0" : "") + String(byte, radix: 16))
            #expect(Hexadecimal.bytes(text.utf8) == [byte] && Hexadecimal.bytes(text.uppercased().utf8) == [byte])
        }
        #expect(Hexadecimal.text([]) == "" && Hexadecimal.bytes([]) == [])
        #expect(Hexadecimal.digits(of: 0x0123_4567_89AB_CDEF as UInt64) == Array("0123456789abcdef".utf8))
    }

    @Test("half a byte, and what is no digit, is refused", arguments: ["a", "abc", "0g", "-1", " 1", "0x", "é"])
    func refuses(text: String) { #expect(Hexadecimal.bytes(text.utf8) == nil) }
}
