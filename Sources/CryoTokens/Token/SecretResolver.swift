// Turns a reference of the configuration into the secret it names.
// Domain: cold

package import CryoPipeline
import Glibc

package enum SecretResolver {
    /// A larger file is no token.
    package static let fileBytesMax = 65_536

    /// Trailing line ends are not part of a secret; what is empty without them is missing.
    package static func resolve(_ reference: SecretReference) -> Result<Secret, TokenProblem> {
        switch reference {
        case .literal(let secret): secret.isEmpty ? .failure(.literalEmpty) : .success(secret)
        case .environment(let name): environment(name)
        case .file(let path): file(path)
        }
    }

    package static func environment(_ name: String) -> Result<Secret, TokenProblem> {
        guard let value = getenv(name) else { return .failure(.environmentMissing(name: name)) }
        let bytes = withoutLineEnd(Array(UnsafeRawBufferPointer(start: value, count: strlen(value))))
        guard !bytes.isEmpty else { return .failure(.environmentMissing(name: name)) }
        if let flaw = flaw(of: bytes) { return .failure(.environmentUnusable(name: name, cause: flaw)) }
        return .success(Secret(bytes))
    }

    package static func file(_ path: String) -> Result<Secret, TokenProblem> {
        content(of: path).flatMap { content in
            let bytes = withoutLineEnd(content)
            guard !bytes.isEmpty else { return .failure(.fileEmpty(path: path)) }
            if let flaw = flaw(of: bytes) { return .failure(.fileUnusable(path: path, cause: flaw)) }
            return .success(Secret(bytes))
        }
    }

    /// A secret of several lines, as a PEM key is.
    static func text(_ reference: SecretReference) -> Result<Secret, TokenProblem> {
        switch reference {
        case .literal(let secret): return secret.isEmpty ? .failure(.literalEmpty) : .success(secret)
        case .environment(let name):
            guard let value = getenv(name), value.pointee != 0 else { return .failure(.environmentMissing(name: name)) }
            return .success(Secret(Array(UnsafeRawBufferPointer(start: value, count: strlen(value)))))
        case .file(let path):
            return content(of: path).flatMap { $0.isEmpty ? .failure(.fileEmpty(path: path)) : .success(Secret($0)) }
        }
    }

    private static func content(of path: String) -> Result<[UInt8], TokenProblem> {
        switch SmallFile.read(path, bytesMax: fileBytesMax) {
        case .missing: return .failure(.fileMissing(path: path))
        case .notRegular: return .failure(.fileNotRegular(path: path))
        case .tooLarge: return .failure(.fileTooLarge(path: path, bytesMax: fileBytesMax))
        case .failed(let error): return .failure(.fileUnreadable(path: path, cause: String(describing: error)))
        case .bytes(let content, _): return .success(content)
        }
    }

    private static func withoutLineEnd(_ bytes: [UInt8]) -> [UInt8] {
        var end = bytes.count
        while end > 0, bytes[end - 1] == 0x0A || bytes[end - 1] == 0x0D { end -= 1 }
        return Array(bytes[..<end])
    }

    /// Why the bytes can't be a token: a control character could end the header they are put into (RFC 9110 §5.5), and
    /// the store keeps text. nil when they can.
    static func flaw(of bytes: [UInt8]) -> String? {
        if bytes.contains(where: { $0 < 0x20 || $0 == 0x7F }) { return "holds a control character" }
        if String(validating: bytes, as: UTF8.self) == nil { return "holds bytes that are not UTF-8" }
        return nil
    }
}
