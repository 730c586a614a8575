// Writes the chunked transfer coding (RFC 9112 §7.1): size line, (the caller's bytes), chunk end; then the last chunk.
// Domain: pure

@usableFromInline
package enum ChunkedEncoder {
    /// Follows the bytes of each chunk.
    package static let chunkEnd: StaticString = "\r\n"
    /// The last chunk with no trailer fields. Written only when the body is known to be complete (RFC 9112 §8).
    package static let lastChunk: StaticString = "0\r\n\r\n"
    /// The longest size line: 16 digits and CRLF.
    @inlinable package static var sizeLineBytesMax: Int { 18 }
    /// What a chunk takes besides its bytes.
    @inlinable package static var frameBytesMax: Int { sizeLineBytesMax + 2 }

    /// Appends the size line for `count` bytes. Nothing is written for 0: an empty chunk would end the body.
    @inlinable @inline(__always)
    package static func appendSizeLine(_ count: Int, to writer: inout HeadWriter) {
        guard count > 0 else { return }
        writer.appendHexadecimal(UInt64(count))
        writer.appendLineEnd()
    }
}
