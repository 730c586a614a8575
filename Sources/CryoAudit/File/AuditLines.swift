// Line ends in a batch, and why an audit can't be written.
// Domain: cold

import Glibc

extension UnsafeRawBufferPointer {
    /// Where the first line feed is.
    var firstLineEnd: Int? {
        guard let start = baseAddress, let found = memchr(start, 0x0A, count) else { return nil }
        return UnsafeRawPointer(found) - start
    }
}

/// Why the audit can't begin. Holds no secret.
package struct AuditError: Error, CustomStringConvertible {
    package let description: String
    init(_ description: String) { self.description = description }
}
