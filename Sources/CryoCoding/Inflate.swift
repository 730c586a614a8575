// Owns gzip (RFC 1952), zlib (RFC 1950) and raw deflate (RFC 1951) streams, decoded by zlib.
// Domain: pure

import CCoding

final class Inflate: DecodingStage {
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

    /// nil until the first bytes have told.
    private var format: Format?
    /// The first byte of a stream whose format takes two to be told.
    private var first: UInt8?
    /// zlib's state remembers the stream's address, so one pointer serves all calls.
    private let stream: UnsafeMutablePointer<z_stream>
    private var isOpen = false
    private var isComplete = false

    /// `format` nil: zlib or raw, as the first two bytes say.
    init(_ format: Format?) {
        self.format = format
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
    }

    deinit {
        if isOpen { inflateEnd(stream) }
        stream.deallocate()
    }

    /// "deflate" means zlib, but many servers send raw deflate (RFC 9110 §8.4.1.2, note). The two cannot be mixed up:
    /// a zlib header read as raw deflate is a stored block whose unused bits are not zero, which no encoder writes.
    static func deflateFormat(of input: UnsafeRawBufferPointer) -> Format {
        guard input.count >= 2 else { return .raw }
        let isDeflate = input[0] & 0x0f == 8 && input[0] >> 4 <= 7
        return isDeflate && (Int(input[0]) << 8 | Int(input[1])) % 31 == 0 ? .zlib : .raw
    }

    /// A gzip body may be several members one behind the other (RFC 1952 §2.2); the other formats end with their stream.
    func take(
        _ input: UnsafeRawBufferPointer, step: UnsafeMutableRawBufferPointer, _ give: (UnsafeRawBufferPointer) -> Bool
    ) -> DecodingProgress {
        guard let beginning = input.first else { return isComplete ? .complete : .unfinished }
        if format == nil {
            if let first {
                self.first = nil
                let both = [first] + input
                return both.withUnsafeBytes { take($0, step: step, give) }
            }
            guard input.count > 1 else {
                first = beginning
                return .unfinished
            }
            format = Self.deflateFormat(of: input)
        }
        guard let format else { return .broken }
        if !isOpen {
            isOpen = cryo_inflate_init(stream, format.windowBits) == Z_OK
            guard isOpen else { return .broken }
        }
        return drain(input, format, step, give)
    }

    private func drain(
        _ input: UnsafeRawBufferPointer, _ format: Format, _ step: UnsafeMutableRawBufferPointer, _ give: (UnsafeRawBufferPointer) -> Bool
    ) -> DecodingProgress {
        let source = input.assumingMemoryBound(to: UInt8.self)
        let target = step.assumingMemoryBound(to: UInt8.self)
        var consumed = 0
        while true {
            if isComplete {
                if consumed == source.count { return .complete }
                guard format == .gzip, inflateReset(stream) == Z_OK else { return .broken }
                isComplete = false
            }
            // zlib counts in 32 bits and does not write to its input.
            let offered = UInt32(clamping: source.count - consumed)
            stream.pointee.next_in = source.baseAddress.map { UnsafeMutablePointer(mutating: $0 + consumed) }
            stream.pointee.avail_in = offered
            stream.pointee.next_out = target.baseAddress
            stream.pointee.avail_out = UInt32(clamping: target.count)
            let status = inflate(stream, Z_NO_FLUSH)
            // Z_BUF_ERROR where all was consumed says no more than that.
            consumed += Int(offered - stream.pointee.avail_in)
            let isStarved = status == Z_BUF_ERROR && consumed == source.count
            guard status == Z_OK || status == Z_STREAM_END || isStarved else { return .broken }
            let produced = target.count - Int(stream.pointee.avail_out)
            guard give(UnsafeRawBufferPointer(rebasing: step[..<produced])) else { return .unwanted }
            isComplete = status == Z_STREAM_END
            if !isComplete, consumed == source.count, produced < target.count { return .unfinished }
        }
    }
}
