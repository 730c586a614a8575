// Owns brotli streams (RFC 7932), decoded by libbrotlidec.
// Domain: pure

import CCoding

enum Brotli {
    /// The decoder's defaults stay: no shared dictionary and no large-window extension, so the window is 16 MiB at most.
    static func decode(
        _ input: UnsafeRawBufferPointer, step: UnsafeMutableRawBufferPointer, into output: inout BoundedOutput
    ) -> DecodingEnd {
        guard let decoder = BrotliDecoderCreateInstance(nil, nil, nil) else { return .broken }
        defer { BrotliDecoderDestroyInstance(decoder) }
        let target = step.assumingMemoryBound(to: UInt8.self)
        var inputLeft = input.count
        var next = input.assumingMemoryBound(to: UInt8.self).baseAddress
        while true {
            var nextOut = target.baseAddress
            var outputLeft = target.count
            let result = BrotliDecoderDecompressStream(decoder, &inputLeft, &next, &outputLeft, &nextOut, nil)
            let produced = target.count - outputLeft
            guard output.append(UnsafeRawBufferPointer(rebasing: step[..<produced])) else { return .tooLarge }
            switch result {
            case BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT: continue
            case BROTLI_DECODER_RESULT_SUCCESS: return inputLeft == 0 ? .complete : .broken
            default: return .broken
            }
        }
    }
}
