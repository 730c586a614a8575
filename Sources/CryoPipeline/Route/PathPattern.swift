// A route's path: exact, or everything at and below a prefix on segment borders.
// Domain: pure

import CryoHTTP

package struct PathPattern: Sendable, Equatable {
    /// The path without a final `/*`, and without a final slash for prefixes.
    let prefix: [UInt8]
    let isPrefix: Bool

    package init(_ text: String) {
        var bytes = Array(text.utf8)
        isPrefix = bytes.last == 0x2A
        if isPrefix {
            bytes.removeLast()
            while bytes.last == 0x2F { bytes.removeLast() }
        }
        prefix = bytes
    }

    /// How specific a match is: longer is more, exact is more than a prefix of the same length.
    var weight: Int { prefix.count * 2 + (isPrefix ? 0 : 1) }

    package func matches(_ path: String) -> Bool { Array(path.utf8).withUnsafeBytes { matches($0) } }

    func matches(_ path: UnsafeRawBufferPointer) -> Bool {
        guard path.count >= prefix.count, isPrefix || path.count == prefix.count else { return false }
        if path.count > prefix.count, path[prefix.count] != 0x2F { return false }
        return prefix.isEmpty || equals(UnsafeRawBufferPointer(rebasing: path[..<prefix.count]), prefix)
    }
}
