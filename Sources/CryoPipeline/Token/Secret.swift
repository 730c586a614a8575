// A secret value: usable as bytes, never printable.
// Domain: pure

/// Holds a credential. Printing, interpolating or reflecting it shows `***`; there is no `==`.
package struct Secret: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    private let bytes: [UInt8]

    package init(_ bytes: [UInt8]) { self.bytes = bytes }
    package init(_ text: String) { bytes = Array(text.utf8) }

    package var isEmpty: Bool { bytes.isEmpty }
    package var count: Int { bytes.count }

    /// Lends the bytes. They must not be copied into anything that is printed.
    package func withBytes<R>(_ body: ([UInt8]) throws -> R) rethrows -> R { try body(bytes) }

    /// Compares without leaking the position of the first difference; the lengths are not hidden.
    package func matches(_ other: Secret) -> Bool { other.bytes.withUnsafeBytes(matches) }

    package func matches(_ other: UnsafeRawBufferPointer) -> Bool {
        guard bytes.count == other.count else { return false }
        var difference: UInt8 = 0
        for index in bytes.indices { difference |= bytes[index] ^ other[index] }
        return difference == 0
    }

    /// Tells two secrets apart without telling what they are; differs from run to run.
    package var fingerprint: Int { bytes.hashValue }

    package var description: String { "***" }
    package var debugDescription: String { "***" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// Where a secret comes from: design §8 prefers references; a literal is allowed and warned about by the configuration.
package enum SecretReference: Sendable {
    case literal(Secret)
    case environment(name: String)
    case file(path: String)
}
