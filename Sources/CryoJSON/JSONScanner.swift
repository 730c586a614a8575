// Owns the extraction of members by path from raw bytes, and the check that bytes are JSON.
// Domain: worker

import CSimdJSON

package enum JSONKind: UInt8, Sendable, Equatable {
    case missing = 0
    case null = 1
    case bool = 2
    case number = 3
    case string = 4
    case array = 5
    case object = 6
}

/// A value's raw bytes within the scanned document. A string's range includes its quotes; a missing value's is empty.
package struct JSONSlice: Sendable, Equatable {
    package var kind: JSONKind
    package var range: Range<Int>

    package static let missing = JSONSlice(kind: .missing, range: 0..<0)

    package init(kind: JSONKind, range: Range<Int>) {
        self.kind = kind
        self.range = range
    }
}

package enum JSONScanOutcome: Sendable, Equatable {
    /// The bytes are one complete JSON text by RFC 8259.
    case scanned
    case notJSON
    /// More than ``JSONScanner/depthMax`` containers open at once.
    case tooDeep
    /// More than the scanner's `bytesMax`.
    case tooLarge
    case noMemory
}

/// Finds values by path in one pass over a document. Belongs to one worker: it reuses its index between scans.
///
/// `scanned` means the whole document was checked, skipped members included: UTF-8, brackets, separators, literals,
/// numbers, escapes, no control characters in strings, nothing after the root. Not checked: surrogate pairing in `\u`
/// escapes (the RFC's grammar allows lone ones) and uniqueness of keys (the last one wins, as in JavaScript).
/// Numbers are never converted, so their size and precision do not matter.
package final class JSONScanner {
    /// Bytes that must be readable after the document. Their content is irrelevant.
    package static let padding = Int(CRYO_JSON_PADDING)
    package static let depthMax = Int(CRYO_JSON_DEPTH_MAX)
    package static let bytesMaxDefault = 64 << 20

    private let parser: OpaquePointer?
    private let found: UnsafeMutablePointer<cryo_json_slice>

    /// Documents above `bytesMax` are `tooLarge`. The index takes four bytes per document byte while scanning; above
    /// one MiB of document it is given back afterwards.
    package init(bytesMax: Int = JSONScanner.bytesMaxDefault) {
        parser = cryo_json_create(max(bytesMax, 0))
        found = .allocate(capacity: JSONPathSet.pathsMax)
    }

    deinit {
        if let parser { cryo_json_destroy(parser) }
        found.deallocate()
    }

    /// Replaces `slices` with one slice per path of the set, in its order; all missing unless the outcome is `scanned`.
    /// A leading byte order mark is skipped, ranges still count from the first byte. Allocates nothing while
    /// `slices` has one element per path and the index its size.
    ///
    /// The caller guarantees ``padding`` readable bytes beyond `bytes.count`.
    package func scan(
        _ bytes: UnsafeRawBufferPointer, paths: JSONPathSet, into slices: inout [JSONSlice]
    ) -> JSONScanOutcome {
        let count = paths.paths.count
        if slices.count != count { slices = Array(repeating: .missing, count: count) }
        let outcome = scan(bytes, paths: paths)
        for position in 0..<count { slices[position] = outcome == .scanned ? slice(at: position) : .missing }
        return outcome
    }

    /// As ``scan(_:paths:into:)``, with the slices left in the scanner: ``slice(at:)`` tells them until the next scan.
    package func scan(_ bytes: UnsafeRawBufferPointer, paths: JSONPathSet) -> JSONScanOutcome {
        guard let parser else { return .noMemory }
        guard let base = bytes.baseAddress, bytes.count > 0 else { return .notJSON }
        let start = base.assumingMemoryBound(to: UInt8.self)
        let count = paths.paths.count
        return Self.outcome(withExtendedLifetime(paths) { cryo_json_scan(parser, start, bytes.count, paths.compiled, count, found) })
    }

    /// What the last scan, which must have been `scanned`, found for its path at `position`.
    package func slice(at position: Int) -> JSONSlice {
        let slice = found[position]
        let kind = JSONKind(rawValue: UInt8(truncatingIfNeeded: slice.kind)) ?? .missing
        return JSONSlice(kind: kind, range: slice.offset..<(slice.offset + slice.length))
    }

    /// Whether the bytes may be embedded as a value in JSON of ours. Same checks as a scan, except that a byte order
    /// mark is refused: inside another document it is no JSON. Same padding as a scan.
    package func validate(_ bytes: UnsafeRawBufferPointer) -> JSONScanOutcome {
        guard let parser else { return .noMemory }
        guard let base = bytes.baseAddress, bytes.count > 0 else { return .notJSON }
        return Self.outcome(cryo_json_validate(parser, base.assumingMemoryBound(to: UInt8.self), bytes.count))
    }

    private static func outcome(_ result: Int32) -> JSONScanOutcome {
        switch UInt32(bitPattern: result) {
        case CRYO_JSON_OK.rawValue: .scanned
        case CRYO_JSON_TOO_DEEP.rawValue: .tooDeep
        case CRYO_JSON_TOO_LARGE.rawValue: .tooLarge
        case CRYO_JSON_NO_MEMORY.rawValue: .noMemory
        default: .notJSON
        }
    }
}
