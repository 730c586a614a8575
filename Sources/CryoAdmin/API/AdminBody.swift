// Reads the bodies of the admin side's calls.
// Domain: cold

import CryoJSON
import CryoPipeline
import CryoRecord

/// Why a body is no good; the text holds nothing of it.
struct BodyProblem: Error {
    let text: String
}

struct AdminBody {
    private let bytes: [UInt8]
    private let length: Int

    /// An empty body is an empty object.
    init(_ body: [UInt8]) {
        let text = body.isEmpty ? Array("{}".utf8) : body
        bytes = text + [UInt8](repeating: 0, count: JSONScanner.padding)
        length = text.count
    }

    /// The members at these paths.
    private func scan(_ paths: [[String]]) throws(BodyProblem) -> [JSONSlice] {
        let compiled = paths.compactMap { JSONPath(segments: $0.map { Array($0.utf8) }) }
        guard compiled.count == paths.count, let set = JSONPathSet([.root] + compiled) else {
            throw BodyProblem(text: "the body has too many members")
        }
        var slices: [JSONSlice] = []
        let outcome = bytes.withUnsafeBytes { buffer in
            JSONScanner(bytesMax: length).scan(UnsafeRawBufferPointer(rebasing: buffer[..<length]), paths: set, into: &slices)
        }
        guard outcome == .scanned, slices.first?.kind == .object else { throw BodyProblem(text: "the body is not a JSON object") }
        return Array(slices.dropFirst())
    }

    private func read<T>(_ body: (JSONValueReader) -> T) -> T {
        bytes.withUnsafeBytes { body(JSONValueReader(UnsafeRawBufferPointer(rebasing: $0[..<length]))) }
    }

    /// The text of a member; nil when it is absent or null.
    func text(_ path: [String]) throws(BodyProblem) -> [UInt8]? {
        let slice = try scan([path])[0]
        switch slice.kind {
        case .missing, .null: return nil
        case .string: return read { $0.stringBytes(slice) }
        default: throw BodyProblem(text: "\(path.last ?? "") is no text")
        }
    }

    /// `[["Name", "value"], …]`; nil when it is absent or null.
    func pairs(_ path: [String]) throws(BodyProblem) -> [(name: String, value: String)]? {
        let slice = try scan([path])[0]
        if slice.kind == .missing || slice.kind == .null { return nil }
        let pairs: [(name: String, value: String)]? = bytes.withUnsafeBytes { bytes in
            let text = UnsafeRawBufferPointer(rebasing: bytes[..<length])
            return slice.kind == .array ? Self.pairs(JSONCursor(text, inside: slice), text) : nil
        }
        guard let pairs else { throw BodyProblem(text: "\(path.last ?? "") is no list of pairs of name and value") }
        return pairs
    }

    private static func pairs(_ list: JSONCursor, _ text: UnsafeRawBufferPointer) -> [(name: String, value: String)]? {
        var list = list
        var pairs: [(name: String, value: String)] = []
        func string(_ slice: JSONSlice) -> String { String(decoding: JSONValueReader(text).stringBytes(slice), as: UTF8.self) }
        while let pair = list.element() {
            var parts = JSONCursor(text, inside: pair)
            guard pair.kind == .array, let name = parts.element(), let value = parts.element(), parts.element() == nil,
                name.kind == .string, value.kind == .string
            else { return nil }
            pairs.append((string(name), string(value)))
        }
        return pairs
    }

    func holds(_ path: [String]) throws(BodyProblem) -> Bool {
        let kind = try scan([path])[0].kind
        return kind != .missing && kind != .null
    }

    /// `{"token", "refresh_token", "expires_in"}` below `path`, as a login's answer has them.
    func credential(at path: [String], now: Int64) throws(BodyProblem) -> NewCredential {
        guard let token = try text(path + ["token"]) else { throw BodyProblem(text: "token is missing") }
        let refreshToken = try text(path + ["refresh_token"])
        if let flaw = Self.flaw(of: token) { throw BodyProblem(text: "token \(flaw)") }
        if let refreshToken, let flaw = Self.flaw(of: refreshToken) { throw BodyProblem(text: "refresh_token \(flaw)") }
        let slice = try scan([path + ["expires_in"]])[0]
        var expiresAt: Int64?
        if slice.kind != .missing, slice.kind != .null {
            let seconds = slice.kind == .bool ? nil : read { $0.integer(slice, acceptStrings: true) }
            guard let seconds, (1...Self.lifetimeSecondsMax).contains(seconds) else {
                throw BodyProblem(text: "expires_in is no number of seconds from 1 to ten years")
            }
            expiresAt = now + seconds
        }
        return NewCredential(token: Secret(token), refreshToken: refreshToken.map { Secret($0) }, expiresAt: expiresAt)
    }

    /// A longer life is a mistake in the unit.
    static let lifetimeSecondsMax: Int64 = 315_360_000

    /// A control character could end the header that the value is put into (RFC 9110 §5.5).
    private static func flaw(of value: [UInt8]) -> String? {
        if value.isEmpty { return "is empty" }
        return value.contains { $0 < 0x20 || $0 == 0x7F } ? "holds a control character" : nil
    }
}

/// Times as the admin side writes them.
enum AdminTime {
    static func text(unixSeconds: Int64) -> String {
        // The fraction is always zero: left out.
        let whole = RFC3339.text(unixMicroseconds: unixSeconds &* 1_000_000)
        return String(decoding: whole.prefix(19), as: UTF8.self) + "Z"
    }
}
