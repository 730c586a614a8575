// Fuzz entry: the chunked transfer coding (RFC 9112 §7.1).
// Domain: pure

import CryoHTTP

func fuzzChunked(_ bytes: UnsafeRawBufferPointer) throws(Broken) {
    let whole = decoded(bytes, pieceBytes: max(bytes.count, 1))
    for pieceBytes in [1, 2, 7] {
        try claim(decoded(bytes, pieceBytes: pieceBytes) == whole, "pieces of \(pieceBytes) decode to the same")
    }
    if whole.isEnded {
        try claim(whole.failure == nil, "an ended body is not malformed")
        try claim(whole.consumed <= bytes.count, "a body ends within its input")
        try checkFields(whole.trailers)
    }
    try checkRoundTrip(bytes)
}

private struct Decoded: Equatable {
    var body: [UInt8] = []
    var consumed = 0
    var isEnded = false
    var failure: String?
    var trailers = FieldSection()

    static func == (one: Decoded, other: Decoded) -> Bool {
        one.body == other.body && one.isEnded == other.isEnded && one.failure == other.failure
            && (one.failure != nil || one.consumed == other.consumed) && one.trailers.bytes.elementsEqual(other.trailers.bytes)
            && one.trailers.lines.elementsEqual(other.trailers.lines)
    }
}

private func decoded(_ bytes: UnsafeRawBufferPointer, pieceBytes: Int) -> Decoded {
    var decoder = ChunkedDecoder()
    var result = Decoded()
    var end = 0
    feeding: while end < bytes.count, result.failure == nil, !result.isEnded {
        end = min(end + pieceBytes, bytes.count)
        while true {
            let input = UnsafeRawBufferPointer(rebasing: bytes[result.consumed..<end])
            switch decoder.decode(input) {
            case .needsMore(let consumed):
                result.consumed += consumed
                continue feeding
            case .data(let range, let consumed):
                result.body.append(contentsOf: input[range])
                result.consumed += consumed
            case .end(let consumed):
                result.consumed += consumed
                result.isEnded = true
                break feeding
            case .malformed(let reason):
                result.failure = "\(reason)"
                break feeding
            }
        }
    }
    result.trailers = decoder.trailers
    return result
}

/// The input as a body, cut into chunks whose sizes its own bytes choose.
private func checkRoundTrip(_ body: UnsafeRawBufferPointer) throws(Broken) {
    var coded: [UInt8] = []
    var index = 0
    while index < body.count {
        let count = min(Int(body[index]) % 64 + 1, body.count - index)
        coded.appendHead(bytesMax: ChunkedEncoder.sizeLineBytesMax) { ChunkedEncoder.appendSizeLine(count, to: &$0) }
        coded.append(contentsOf: body[index..<index + count])
        coded.append(contentsOf: ChunkedEncoder.chunkEnd.rawBytes)
        index += count
    }
    coded.append(contentsOf: ChunkedEncoder.lastChunk.rawBytes)
    let total = coded.count
    coded.append(contentsOf: Array("GET".utf8))
    let back = coded.withUnsafeBytes { decoded($0, pieceBytes: 13) }
    try claim(back.isEnded && back.failure == nil, "what was encoded decodes")
    try claim(back.body.elementsEqual(body), "decoding undoes encoding")
    try claim(back.consumed == total, "bytes after the last chunk belong to the next message")
}
