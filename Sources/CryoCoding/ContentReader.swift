// Owns the undoing of the content codings of a body that passes in pieces (RFC 9110 §8.4).
// Domain: worker

/// For those who look into what passes and keep nothing of it. The libraries' state is all it holds (see ``ContentDecoder``), once for
/// each coding.
package final class ContentReader {
    /// The content of one piece: a few bytes may stand for very much more, and somebody waits for them.
    package static let pieceContentBytesMax = 8 << 20

    private let stages: [any DecodingStage]
    /// Of the piece at hand.
    private var bytesLeft = 0
    private var isOver = false

    /// nil where there is nothing to undo, or a coding we do not speak.
    package init?(contentEncoding: UnsafeRawBufferPointer) {
        guard let codings = ContentCoding.list(contentEncoding), !codings.isEmpty else { return nil }
        let stages = codings.reversed().compactMap { $0.makeStage() }
        guard stages.count == codings.count else { return nil }
        self.stages = stages
    }

    /// Gives the content that these bytes make known, in pieces. False: there is no more to be read, because the bytes are not what their
    /// coding says, or are beyond the bound.
    package func take(_ bytes: UnsafeRawBufferPointer, _ give: (UnsafeRawBufferPointer) -> Void) -> Bool {
        guard !isOver else { return false }
        bytesLeft = Self.pieceContentBytesMax
        isOver = !read(bytes, through: 0, give)
        return !isOver
    }

    private func read(_ bytes: UnsafeRawBufferPointer, through index: Int, _ give: (UnsafeRawBufferPointer) -> Void) -> Bool {
        guard !bytes.isEmpty else { return true }
        guard index < stages.count else {
            guard bytes.count <= bytesLeft else { return false }
            bytesLeft -= bytes.count
            give(bytes)
            return true
        }
        let progress = withUnsafeTemporaryAllocation(byteCount: ContentDecoder.stepBytes, alignment: 16) { step in
            stages[index].take(bytes, step: step) { read($0, through: index + 1, give) }
        }
        return progress == .unfinished || progress == .complete
    }
}
