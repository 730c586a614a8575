// A text of a token source's call: literal parts and places for secrets.
// Domain: pure

/// `{token}` and `{refresh_token}` stand for the present pair, `{env:NAME}` and `{file:PATH}` for secrets from elsewhere; a text
/// that is nothing but `env:NAME` or `file:PATH` is such a reference too, as everywhere in the configuration. Other braces are text.
package struct TemplateText: Sendable {
    package enum Piece: Sendable {
        case text([UInt8])
        case token, refreshToken
        case secret(SecretReference)
    }

    package private(set) var pieces: [Piece] = []

    package init(_ text: String) {
        if let reference = Self.reference(text) {
            pieces = [.secret(reference)]
            return
        }
        let bytes = Array(text.utf8)
        var literal: [UInt8] = []
        var index = 0
        while index < bytes.count {
            if bytes[index] == 0x7B, let end = bytes[index...].firstIndex(of: 0x7D),
                let piece = Self.piece(String(decoding: bytes[(index + 1)..<end], as: UTF8.self))
            {
                if !literal.isEmpty { pieces.append(.text(literal)) }
                literal = []
                pieces.append(piece)
                index = end + 1
            } else {
                literal.append(bytes[index])
                index += 1
            }
        }
        if !literal.isEmpty { pieces.append(.text(literal)) }
    }

    package var usesToken: Bool { pieces.contains { if case .token = $0 { true } else { false } } }
    package var usesRefreshToken: Bool { pieces.contains { if case .refreshToken = $0 { true } else { false } } }

    package var references: [SecretReference] {
        pieces.compactMap { if case .secret(let reference) = $0 { reference } else { nil } }
    }

    /// Nothing of it is a place for something else.
    package var isLiteral: Bool { pieces.allSatisfy { if case .text = $0 { true } else { false } } }

    private static func piece(_ name: String) -> Piece? {
        switch name {
        case "token": .token
        case "refresh_token": .refreshToken
        default: reference(name).map { .secret($0) }
        }
    }

    private static func reference(_ text: String) -> SecretReference? {
        if text.hasPrefix("env:") {
            let name = text.utf8.dropFirst(4)
            let isName = name.allSatisfy { byte in
                byte == 0x5F || (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20)
            }
            guard isName, let first = name.first, !(0x30...0x39).contains(first) else { return nil }
            return .environment(name: String(text.dropFirst(4)))
        }
        if text.hasPrefix("file:"), text.utf8.count > 5 { return .file(path: String(text.dropFirst(5))) }
        return nil
    }
}
