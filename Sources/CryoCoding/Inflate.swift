// Owns gzip (RFC 1952), zlib (RFC 1950) and raw deflate (RFC 1951) streams, decoded by zlib.
// Domain: pure

import CCoding

enum Inflate {
    enum Format {
        case gzip
        case zlib
        case raw

        /// The window argument of `inflateInit2`: 15 bits, the sign or 16 choose the wrapper.
        fileprivate var windowBits: Int32 {
            switch self {
            case .gzip: 15 + 16
            case .zlib: 15
            case .raw: -15
            }
        }
    }

    /// "deflate" means zlib, but many servers send raw deflate (RFC 9110 §8.4.1.2, note). The two cannot be mixed up:
    /// a zlib header read as raw deflate is a stored block whose unused bits are not zero, which no encoder writes.
    static func deflateFormat(of input: UnsafeRawBufferPointer) -> Format {
        guard input.count >= 2 else { return .raw }
        let isDeflate = input[0] & 0x0f == 8 && input[0] >> 4 <= 7
        return isDeflate && (Int(input[0]) << 8 | Int(input[1])) % 31 == 0 ? .zlib : .raw
    }

    /// A gzip body may be several members one behind the other (RFC 1952 §2.2); the other formats end with their stream.
    static func decode(
        _ input: UnsafeRawBufferPointer, format: Format, step: UnsafeMutableRawBufferPointer, into output: inout BoundedOutput
    ) -> DecodingEnd {
        var stream = z_stream()
        // zlib's state remembers the stream's address, so one pointer serves all calls.
        return withUnsafeMutablePointer(to: &stream) { stream in
            guard cryo_inflate_init(stream, format.windowBits) == Z_OK else { return .broken }
            defer { inflateEnd(stream) }
            return drain(stream, input, format, step, &output)
        }
    }

    private static func drain(
        _ stream: UnsafeMutablePointer<z_stream>, _ input: UnsafeRawBufferPointer, _ format: Format,
        _ step: UnsafeMutableRawBufferPointer, _ output: inout BoundedOutput
    ) -> DecodingEnd {
        let source = input.assumingMemoryBound(to: UInt8.self)
        let target = step.assumingMemoryBound(to: UInt8.self)
        var consumed = 0
        while true {
            // zlib counts in 32 bits and does not write to its input.
            let offered = UInt32(clamping: source.count - consumed)
            stream.pointee.next_in = source.baseAddress.map { UnsafeMutablePointer(mutating: $0 + consumed) }
            stream.pointee.avail_in = offered
            stream.pointee.next_out = target.baseAddress
            stream.pointee.avail_out = UInt32(clamping: target.count)
            let status = inflate(stream, Z_NO_FLUSH)
            guard status == Z_OK || status == Z_STREAM_END || status == Z_BUF_ERROR else { return .broken }
            consumed += Int(offered - stream.pointee.avail_in)
            let produced = target.count - Int(stream.pointee.avail_out)
            guard output.append(UnsafeRawBufferPointer(rebasing: step[..<produced])) else { return .tooLarge }

            if status == Z_STREAM_END {
                if consumed == source.count { return .complete }
                guard format == .gzip, inflateReset(stream) == Z_OK else { return .broken }
            } else if consumed == source.count, produced < target.count {
                return .broken
            } else if status == Z_BUF_ERROR {
                return .broken
            }
        }
    }
}
