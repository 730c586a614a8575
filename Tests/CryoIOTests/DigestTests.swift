// SHA-256, HMAC-SHA256 and base64 against published examples.
// Domain: worker

import CryoIO
import Testing

@Suite struct DigestTests {
    private func hexadecimal(_ bytes: [UInt8]?) -> String? {
        bytes.map { $0.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() }
    }

    @Test("FIPS 180-4: nothing, abc, a million letters in pieces")
    func digests() {
        #expect(hexadecimal(SHA256Stream().finish()) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
        let short = SHA256Stream()
        for letter in Array("abc".utf8) { withUnsafeBytes(of: letter) { short.update($0) } }
        #expect(hexadecimal(short.finish()) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        #expect(short.finish() == nil, "once")
        let long = SHA256Stream()
        for _ in 0..<1000 { [UInt8](repeating: 0x61, count: 1000).withUnsafeBytes { long.update($0) } }
        #expect(hexadecimal(long.finish()) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
    }

    @Test("RFC 9421 B.2.5: the key of B.1.5 signs the base to the published signature")
    func messageSignature() {
        let key = "uzvJfB4u3N0Jy4T7NZ75MDVcr8zSTInedJtkgcu46YW4XByzNJjxBdtjUkdJPBtbmHhIDi6pcl8jsasjlTMtDQ=="
        let base = """
            "date": Tue, 20 Apr 2021 02:07:55 GMT
            "@authority": example.com
            "content-type": application/json
            "@signature-params": ("date" "@authority" "content-type");created=1618884473;keyid="test-shared-secret"
            """
        let bytes = Base64Text.decoded(Array(key.utf8))
        #expect(bytes?.count == 64)
        let code = HMACSHA256.code(of: Array(base.utf8), key: bytes ?? [])
        #expect(code == Base64Text.decoded(Array("pxcQw6G3AjtMBQjwo8XzkZf/bws5LelbaMk5rGIGtE8=".utf8)))
    }

    @Test("base64 is taken only as RFC 4648 writes it", arguments: ["", "YQ", "YQ=", "YQ==\n", " YQ=", "Y===", "====", "YQ==YQ==", "Y-_="])
    func brokenBase64(_ text: String) { #expect(Base64Text.decoded(Array(text.utf8)) == nil) }

    @Test("base64 of every length of padding", arguments: [("YQ==", "a"), ("YWI=", "ab"), ("YWJj", "abc"), ("YWJjZA==", "abcd")])
    func base64(_ text: String, _ wanted: String) { #expect(Base64Text.decoded(Array(text.utf8)) == Array(wanted.utf8)) }
}
