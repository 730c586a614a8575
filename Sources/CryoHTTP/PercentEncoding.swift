// Percent-encoding of texts (RFC 3986 §2.1).
// Domain: pure

/// What `%41` stands for; `plusIsSpace`: and `+`, as forms are read. Anything else, a broken escape too, stays as it is.
package func percentDecoded<Text: RandomAccessCollection>(_ text: Text, plusIsSpace: Bool) -> [UInt8]
where Text.Element == UInt8, Text.Index == Int {
    var bytes: [UInt8] = []
    var index = text.startIndex
    while index < text.endIndex {
        if text[index] == 0x25, index + 2 < text.endIndex, let high = hexadecimalValue(text[index + 1]),
            let low = hexadecimalValue(text[index + 2])
        {
            bytes.append(high << 4 | low)
            index += 3
        } else {
            bytes.append(plusIsSpace && text[index] == 0x2B ? 0x20 : text[index])
            index += 1
        }
    }
    return bytes
}

/// RFC 3986 §2.3: everything but the unreserved characters.
package func percentEncoded(_ bytes: [UInt8]) -> [UInt8] {
    var encoded: [UInt8] = []
    encoded.reserveCapacity(bytes.count)
    for byte in bytes {
        let isUnreserved =
            (byte | 0x20) &- 0x61 < 26 || byte &- 0x30 < 10 || byte == 0x2D || byte == 0x2E || byte == 0x5F || byte == 0x7E
        if isUnreserved { encoded.append(byte) } else { appendPercentEncoded(byte, to: &encoded) }
    }
    return encoded
}

package func appendPercentEncoded(_ byte: UInt8, to encoded: inout [UInt8]) {
    let digits: StaticString = "0123456789ABCDEF"
    encoded.append(0x25)
    encoded.append(digits.utf8Start[Int(byte >> 4)])
    encoded.append(digits.utf8Start[Int(byte & 15)])
}

/// The same with small digits, as some write them.
package func lowercasedEscapes(_ encoded: [UInt8]) -> [UInt8] {
    var small = encoded
    for index in encoded.indices where encoded[index] == 0x25 {
        for digit in [index + 1, index + 2] where digit < small.count && small[digit] &- 0x41 < 6 { small[digit] |= 0x20 }
    }
    return small
}
