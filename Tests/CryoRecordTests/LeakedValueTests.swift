// A leaked secret is found in every spelling it may have got into a record.
// Domain: cold

import CryoJSON
import CryoRecord
import Foundation
import Testing

@Suite struct LeakedValueTests {
    private func form(_ value: [UInt8], in text: [UInt8]) -> String? {
        LeakedValue(value)?.forms.first { form in text.withUnsafeBytes { form.needle.first(in: $0) } != nil }?.name
    }

    @Test(
        "It is found raw, escaped, percent-encoded, in base64 at any place, and in hexadecimal",
        arguments: ["tok/en+4 7=\"x\\", "plain-token-1234", "ünï-cöde~"])
    func spellings(_ value: String) throws {
        let bytes = Array(value.utf8)
        #expect(form(bytes, in: Array("a\(value)b".utf8)) == "raw")
        let json = try JSONSerialization.data(withJSONObject: [value])
        #expect(form(bytes, in: Array(json)) != nil)
        let twice = try JSONSerialization.data(withJSONObject: [String(decoding: json, as: UTF8.self).replacing("\\/", with: "/")])
        #expect(form(bytes, in: Array(String(decoding: twice, as: UTF8.self).replacing("\\/", with: "/").utf8)) != nil)
        let spelledOut = value.utf8.map { byte in
            (byte | 0x20) &- 0x61 < 26 || byte &- 0x30 < 10 || "-._~".utf8.contains(byte)
                ? String(UnicodeScalar(byte)) : "%" + String(byte, radix: 16, uppercase: true)
        }.joined()
        #expect(form(bytes, in: Array("?k=\(spelledOut)&".utf8)) != nil)
        for before in ["", "u", "us", "user:"] {
            for after in ["", "z", ":zz"] {
                let encoded = Data(Array(before.utf8) + bytes + Array(after.utf8)).base64EncodedString()
                #expect(form(bytes, in: Array(encoded.utf8)) != nil, "\(before) \(after)")
                let url = encoded.replacing("+", with: "-").replacing("/", with: "_")
                #expect(form(bytes, in: Array(url.utf8)) != nil)
            }
        }
        let digits = bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }.joined()
        #expect(form(bytes, in: Array(digits.utf8)) == "hex")
    }

    @Test("The mark of a value counts as the value")
    func marks() throws {
        func mark(_ value: [UInt8]) -> [UInt8] { Array("hmac:".utf8) + value.flatMap { [$0 >> 4 | 0x40, $0 & 15 | 0x40] } }
        let value = try #require(LeakedValue(Array("token/\"one".utf8), mark: mark))
        for spelled in ["token/\"one", "token/\\\"one", "token%2F%22one", "token%2f%22one", "dG9rZW4vIm9u"] {
            let line = Array("\"".utf8) + mark(Array(spelled.utf8)) + Array("\"".utf8)
            #expect(value.forms.first { form in line.withUnsafeBytes { form.needle.first(in: $0) } != nil }?.name == "hmac", "\(spelled)")
        }
    }

    @Test("Another value is not found, and a short one is not looked for")
    func others() {
        #expect(form(Array("token-one".utf8), in: Array("token-two".utf8)) == nil)
        #expect(LeakedValue(Array("12345".utf8)) == nil)
        #expect(LeakedValue(Array("123456".utf8)) != nil)
    }
}
