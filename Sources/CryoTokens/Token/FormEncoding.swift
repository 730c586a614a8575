// application/x-www-form-urlencoded, as token endpoints read it (RFC 6749 Appendix B).
// Domain: pure

enum FormEncoding {
    static func append(_ bytes: some Sequence<UInt8>, to text: inout [UInt8], spaceAsPlus: Bool = true) {
        let digits: StaticString = "0123456789ABCDEF"
        for byte in bytes {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F: text.append(byte)
            case 0x2A where spaceAsPlus: text.append(byte)
            case 0x20 where spaceAsPlus: text.append(0x2B)
            default:
                text.append(0x25)
                text.append(digits.utf8Start[Int(byte >> 4)])
                text.append(digits.utf8Start[Int(byte & 15)])
            }
        }
    }

    static func appendPair(_ name: String, _ value: some Sequence<UInt8>, to text: inout [UInt8]) {
        if !text.isEmpty { text.append(0x26) }
        append(name.utf8, to: &text)
        text.append(0x3D)
        append(value, to: &text)
    }
}
