// Reads a few members of a small JSON text by path.
// Domain: cold

import CryoJSON
import CryoPipeline

/// Owns the bytes it reads. Members are addressed by their position in the list of paths.
struct JSONMembers {
    private let bytes: [UInt8]
    private let length: Int
    private let slices: [JSONSlice]

    /// nil when the text is not JSON or the paths are too many.
    init?(_ text: [UInt8], paths: [JSONPath]) {
        guard let set = JSONPathSet(paths) else { return nil }
        var slices: [JSONSlice] = []
        let padded = text + [UInt8](repeating: 0, count: JSONScanner.padding)
        let outcome = padded.withUnsafeBytes { buffer in
            JSONScanner(bytesMax: max(text.count, 1))
                .scan(UnsafeRawBufferPointer(rebasing: buffer[..<text.count]), paths: set, into: &slices)
        }
        guard outcome == .scanned else { return nil }
        bytes = padded
        length = text.count
        self.slices = slices
    }

    /// Members of the root object.
    init?(_ text: [UInt8], names: [String]) {
        self.init(text, paths: names.compactMap { JSONPath(segments: [Array($0.utf8)]) })
    }

    private func read<T>(_ body: (JSONValueReader) -> T) -> T {
        bytes.withUnsafeBytes { body(JSONValueReader(UnsafeRawBufferPointer(rebasing: $0[..<length]))) }
    }

    /// Missing or null.
    func isAbsent(_ index: Int) -> Bool { slices[index].kind == .missing || slices[index].kind == .null }

    /// The content of a string that is not empty; nil for everything else.
    func text(_ index: Int) -> [UInt8]? {
        read { reader in reader.isNonEmptyString(slices[index]) ? reader.stringBytes(slices[index]) : nil }
    }

    /// A number, or a string that is one.
    func integer(_ index: Int) -> Int64? {
        guard slices[index].kind != .bool else { return nil }
        return read { $0.integer(slices[index], acceptStrings: true) }
    }

    /// Judges a member as a policy does: null is as good as missing (ledger BX2).
    func satisfies(_ rule: SuccessRule, at index: Int) -> Bool {
        let slice = slices[index]
        if slice.kind == .missing || (slice.kind == .null && rule.equals != .null) { return rule.missing == .success }
        return read { $0.equals(slice, rule.equals, strict: rule.isStrict) }
    }
}
