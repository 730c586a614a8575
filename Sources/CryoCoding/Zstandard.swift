// Owns zstd frames (RFC 8878, RFC 9659), decoded by libzstd.
// Domain: pure

import CCoding

final class Zstandard: DecodingStage {
    /// RFC 9659 §3: a sender must not use a window above 8 MiB; a frame that wants more is refused as broken.
    static let windowLogMax: Int32 = 23
    private static let magicBytes = 4

    private let decoder: OpaquePointer
    /// A body is one frame or more; skippable frames add nothing.
    private var isFrameStart = true
    /// The beginning of a frame whose magic number is cut.
    private var beginning: [UInt8] = []

    init?() {
        guard let decoder = ZSTD_createDCtx() else { return nil }
        guard ZSTD_isError(ZSTD_DCtx_setParameter(decoder, ZSTD_d_windowLogMax, Self.windowLogMax)) == 0 else {
            ZSTD_freeDCtx(decoder)
            return nil
        }
        self.decoder = decoder
    }

    deinit { ZSTD_freeDCtx(decoder) }

    func take(
        _ input: UnsafeRawBufferPointer, step: UnsafeMutableRawBufferPointer, _ give: (UnsafeRawBufferPointer) -> Bool
    ) -> DecodingProgress {
        guard !beginning.isEmpty else { return drain(input, step, give) }
        let whole = beginning + input
        beginning = []
        return whole.withUnsafeBytes { drain($0, step, give) }
    }

    private func drain(
        _ input: UnsafeRawBufferPointer, _ step: UnsafeMutableRawBufferPointer, _ give: (UnsafeRawBufferPointer) -> Bool
    ) -> DecodingProgress {
        var source = ZSTD_inBuffer(src: input.baseAddress, size: input.count, pos: 0)
        while true {
            if isFrameStart {
                if source.pos == source.size { return .complete }
                guard source.size - source.pos >= Self.magicBytes else {
                    beginning = Array(input[source.pos...])
                    return .unfinished
                }
                guard Self.beginsFrame(input, at: source.pos) else { return .broken }
            }
            var target = ZSTD_outBuffer(dst: step.baseAddress, size: step.count, pos: 0)
            let wanted = ZSTD_decompressStream(decoder, &target, &source)
            guard ZSTD_isError(wanted) == 0 else { return .broken }
            guard give(UnsafeRawBufferPointer(rebasing: step[..<target.pos])) else { return .unwanted }
            isFrameStart = wanted == 0
            // With room left in the step the decoder has given all it can.
            if !isFrameStart, source.pos == source.size, target.pos < target.size { return .unfinished }
        }
    }

    /// Only today's magic number and the skippable ones: the library may also speak the formats from before RFC 8878,
    /// whose decoders nobody looks after and which no server sends.
    private static func beginsFrame(_ input: UnsafeRawBufferPointer, at offset: Int) -> Bool {
        let magic = UInt32(littleEndian: input.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
        return magic == 0xfd2f_b528 || magic & 0xffff_fff0 == 0x184d_2a50
    }
}
