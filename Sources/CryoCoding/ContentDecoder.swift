// Owns the undoing of the content codings of one complete body: the list, the order, the bound (RFC 9110 §8.4).
// Domain: pure

package enum DecodedBody: Sendable {
    /// No coding was applied: the body is its own content.
    case identity
    /// The content; its array has the asked-for padding as capacity behind its last byte.
    case decoded([UInt8])
    /// The content is longer than the bound; decoding stopped there.
    case tooLarge
    /// Not a complete stream of the named coding, or bytes behind its end.
    case broken
    /// A coding we do not speak, or too many of them.
    case unknownCoding
}

package enum ContentDecoder {
    /// What a decoder may produce before the bound is looked at again.
    static let stepBytes = 32 * 1024

    /// Decodes from the last coding to the first. Holds at most two stages at once; the last stage is bounded by
    /// `bytesMax`, those before it by one step more, because compressing what does not shrink adds a header to it.
    /// The library's own state comes on top: 48 KiB for gzip and deflate, the window for zstd (8 MiB at most) and for
    /// brotli (16 MiB at most). Costs one allocation for short content besides that state; call it on the owner's worker.
    package static func decode(
        _ body: UnsafeRawBufferPointer, contentEncoding: UnsafeRawBufferPointer, bytesMax: Int, padding: Int
    ) -> DecodedBody {
        guard var codings = ContentCoding.list(contentEncoding) else { return .unknownCoding }
        guard let outermost = codings.popLast() else { return .identity }
        let bound = max(0, bytesMax)
        let (looseBound, overflows) = bound.addingReportingOverflow(stepBytes)
        let stageBound = overflows ? Int.max : looseBound

        var output = BoundedOutput(bytesMax: codings.isEmpty ? bound : stageBound, padding: codings.isEmpty ? padding : 0)
        var end = run(outermost, body, into: &output)
        while end == .complete, let coding = codings.popLast() {
            let stage = output.finished()
            output = BoundedOutput(bytesMax: codings.isEmpty ? bound : stageBound, padding: codings.isEmpty ? padding : 0)
            end = stage.withUnsafeBytes { run(coding, $0, into: &output) }
        }
        switch end {
        case .complete: return .decoded(output.finished())
        case .tooLarge: return .tooLarge
        case .broken: return .broken
        }
    }

    private static func run(
        _ coding: ContentCoding, _ input: UnsafeRawBufferPointer, into output: inout BoundedOutput
    ) -> DecodingEnd {
        // No coding has an empty stream for empty content: zero bytes are a stream cut before its header.
        guard !input.isEmpty, let stage = coding.makeStage() else { return .broken }
        let progress = withUnsafeTemporaryAllocation(byteCount: stepBytes, alignment: 16) { step in
            stage.take(input, step: step) { output.append($0) }
        }
        switch progress {
        case .complete: return .complete
        case .unwanted: return .tooLarge
        case .unfinished, .broken: return .broken
        }
    }
}

/// How the decoding of one coding ended.
private enum DecodingEnd: Equatable {
    case complete
    case tooLarge
    case broken
}
