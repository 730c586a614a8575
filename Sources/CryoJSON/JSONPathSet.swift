// Owns the compiled form of the paths one scan looks for.
// Domain: shared

import CSimdJSON

/// Paths laid out once as the C arrays the scanner reads. Slices come back in the order of ``paths``.
///
/// SAFETY: `@unchecked Sendable` because of the raw pointers only; the memory they name is written in `init`, never
/// after, and freed in `deinit`.
package final class JSONPathSet: @unchecked Sendable {
    /// Bound of ``paths``: the scanner keeps one bit per path.
    package static let pathsMax = Int(CRYO_JSON_PATHS_MAX)

    package let paths: [JSONPath]
    let compiled: UnsafeMutablePointer<cryo_json_path>
    private let segments: UnsafeMutablePointer<cryo_json_segment>
    private let keys: UnsafeMutablePointer<UInt8>

    /// Nil beyond ``pathsMax``. No paths at all is legal: such a scan only validates.
    package init?(_ paths: [JSONPath]) {
        guard paths.count <= Self.pathsMax else { return nil }
        self.paths = paths
        let segmentCount = paths.reduce(0) { $0 + $1.segments.count }
        let keyBytes = paths.reduce(0) { $0 + $1.segments.reduce(0) { $0 + $1.count } }
        compiled = .allocate(capacity: max(paths.count, 1))
        segments = .allocate(capacity: max(segmentCount, 1))
        keys = .allocate(capacity: max(keyBytes, 1))
        var nextSegment = segments
        var nextKey = keys
        for (position, path) in paths.enumerated() {
            (compiled + position).initialize(to: cryo_json_path(segments: UnsafePointer(nextSegment), count: path.segments.count))
            for segment in path.segments {
                let index = JSONPath.index(of: segment)
                nextSegment.initialize(to: cryo_json_segment(key: UnsafePointer(nextKey), length: segment.count, index: index))
                nextSegment += 1
                for byte in segment {
                    nextKey.initialize(to: byte)
                    nextKey += 1
                }
            }
        }
    }

    deinit {
        compiled.deallocate()
        segments.deallocate()
        keys.deallocate()
    }
}
