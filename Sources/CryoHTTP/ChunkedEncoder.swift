// Writes the chunked transfer coding (RFC 9112 §7.1): size line, (the caller's bytes), chunk end; then the last chunk.
// Domain: pure

package enum ChunkedEncoder {
    /// Follows the bytes of each chunk.
    package static let chunkEnd: StaticString = "\r\n"
    /// The last chunk with no trailer fields. Written only when the body is known to be complete (RFC 9112 §8).
    package static let lastChunk: StaticString = "0\r\n\r\n"
    /// The longest size line: 16 digits and CRLF.
    package static let sizeLineBytesMax = 18

    /// Appends the size line for `count` bytes. Nothing is written for 0: an empty chunk would end the body.
    package static func appendSizeLine(_ count: Int, to buffer: inout [UInt8]) {
        guard count > 0 else { return }
        buffer.appendHexadecimal(UInt64(count))
        buffer.append(0x0D)
        buffer.append(0x0A)
    }

    package static func appendChunkEnd(to buffer: inout [UInt8]) { buffer.append(contentsOf: chunkEnd.rawBytes) }

    package static func appendLastChunk(to buffer: inout [UInt8]) { buffer.append(contentsOf: lastChunk.rawBytes) }
}
