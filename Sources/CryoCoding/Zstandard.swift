// Owns zstd frames (RFC 8878, RFC 9659), decoded by libzstd.
// Domain: pure

import CCoding

enum Zstandard {
    /// RFC 9659 §3: a sender must not use a window above 8 MiB; a frame that wants more is refused as broken.
    static let windowLogMax: Int32 = 23

    /// A body is one frame or more; skippable frames add nothing.
    static func decode(
        _ input: UnsafeRawBufferPointer, step: UnsafeMutableRawBufferPointer, into output: inout BoundedOutput
    ) -> DecodingEnd {
        guard let decoder = ZSTD_createDCtx() else { return .broken }
        defer { ZSTD_freeDCtx(decoder) }
        guard ZSTD_isError(ZSTD_DCtx_setParameter(decoder, ZSTD_d_windowLogMax, windowLogMax)) == 0 else { return .broken }
        var source = ZSTD_inBuffer(src: input.baseAddress, size: input.count, pos: 0)
        var isFrameStart = true
        while true {
            if isFrameStart, !beginsFrame(input, at: source.pos) { return .broken }
            var target = ZSTD_outBuffer(dst: step.baseAddress, size: step.count, pos: 0)
            let wanted = ZSTD_decompressStream(decoder, &target, &source)
            guard ZSTD_isError(wanted) == 0 else { return .broken }
            guard output.append(UnsafeRawBufferPointer(rebasing: step[..<target.pos])) else { return .tooLarge }
            isFrameStart = wanted == 0
            if source.pos == source.size {
                if isFrameStart { return .complete }
                // With room left in the step the decoder has given all it can: the frame is cut.
                if target.pos < target.size { return .broken }
            }
        }
    }

    /// Only today's magic number and the skippable ones: the library may also speak the formats from before RFC 8878,
    /// whose decoders nobody looks after and which no server sends.
    private static func beginsFrame(_ input: UnsafeRawBufferPointer, at offset: Int) -> Bool {
        guard input.count - offset >= 4 else { return false }
        let magic = UInt32(littleEndian: input.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
        return magic == 0xfd2f_b528 || magic & 0xffff_fff0 == 0x184d_2a50
    }
}
