// Owns what all decoders are to those who use them: one coding, undone piece by piece.
// Domain: pure

/// Undoes one coding. Takes the coded bytes in pieces of any size and gives the content as soon as it can be known.
protocol DecodingStage: AnyObject {
    /// `step` is where content is written before it is given; `give` says false to have no more.
    func take(
        _ input: UnsafeRawBufferPointer, step: UnsafeMutableRawBufferPointer, _ give: (UnsafeRawBufferPointer) -> Bool
    ) -> DecodingProgress
}

/// Where a stage is after a piece.
enum DecodingProgress: Equatable {
    /// The stream goes on: whoever has no more has a cut one.
    case unfinished
    /// The stream is complete, unless another member follows where the coding allows that.
    case complete
    /// The content was not wanted any more.
    case unwanted
    case broken
}

extension ContentCoding {
    /// nil: there is no memory for one.
    func makeStage() -> (any DecodingStage)? {
        switch self {
        case .gzip: Inflate(.gzip)
        case .deflate: Inflate(nil)
        case .brotli: Brotli()
        case .zstd: Zstandard()
        case .identity: Unchanged()
        }
    }
}

/// The content as it is.
private final class Unchanged: DecodingStage {
    func take(
        _ input: UnsafeRawBufferPointer, step: UnsafeMutableRawBufferPointer, _ give: (UnsafeRawBufferPointer) -> Bool
    ) -> DecodingProgress {
        give(input) ? .complete : .unwanted
    }
}
