// Owns brotli streams (RFC 7932), decoded by libbrotlidec.
// Domain: pure

import CCoding

final class Brotli: DecodingStage {
    private let decoder: OpaquePointer
    private var isComplete = false

    /// The decoder's defaults stay: no shared dictionary and no large-window extension, so the window is 16 MiB at most.
    init?() {
        guard let decoder = BrotliDecoderCreateInstance(nil, nil, nil) else { return nil }
        self.decoder = decoder
    }

    deinit { BrotliDecoderDestroyInstance(decoder) }

    func take(
        _ input: UnsafeRawBufferPointer, step: UnsafeMutableRawBufferPointer, _ give: (UnsafeRawBufferPointer) -> Bool
    ) -> DecodingProgress {
        if isComplete { return input.isEmpty ? .complete : .broken }
        let target = step.assumingMemoryBound(to: UInt8.self)
        var inputLeft = input.count
        var next = input.assumingMemoryBound(to: UInt8.self).baseAddress
        while true {
            var nextOut = target.baseAddress
            var outputLeft = target.count
            let result = BrotliDecoderDecompressStream(decoder, &inputLeft, &next, &outputLeft, &nextOut, nil)
            let produced = target.count - outputLeft
            guard give(UnsafeRawBufferPointer(rebasing: step[..<produced])) else { return .unwanted }
            switch result {
            case BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT: continue
            case BROTLI_DECODER_RESULT_NEEDS_MORE_INPUT: return .unfinished
            case BROTLI_DECODER_RESULT_SUCCESS:
                isComplete = true
                return inputLeft == 0 ? .complete : .broken
            default: return .broken
            }
        }
    }
}
