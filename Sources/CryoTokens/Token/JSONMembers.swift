// Reads a few members of a small JSON text by path.
// Domain: cold

import CryoJSON
import CryoPipeline

/// Owns the bytes it reads. Members are addressed by their position in the list of paths.
struct JSONMembers {
    private let bytes: [UInt8]
    private let length: Int
    private let slices: [JSONSlice]
    /// What the program says of the text; true without one.
    let isSuccess: Bool

    /// nil when the text is not JSON or the paths are too many. The positions of `success` are those of `paths`.
    init?(_ text: [UInt8], paths: [JSONPath], success: SuccessProgram? = nil) {
        guard let set = JSONPathSet(paths) else { return nil }
        var slices: [JSONSlice] = []
        let padded = text + [UInt8](repeating: 0, count: JSONScanner.padding)
        let isSuccess = padded.withUnsafeBytes { buffer -> Bool? in
            let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<text.count])
            let scanner = JSONScanner(bytesMax: max(text.count, 1))
            guard scanner.scan(bytes, paths: set, into: &slices) == .scanned else { return nil }
            return success?.holds(scanner, JSONValueReader(bytes)) ?? true
        }
        guard let isSuccess else { return nil }
        self.isSuccess = isSuccess
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

    /// A number, or a string that is one; its fraction is cut off.
    func seconds(_ index: Int) -> Int64? {
        if let integer = integer(index) { return integer }
        guard let text = code(index), let number = Double(text), number.isFinite, abs(number) < 1e15 else { return nil }
        return Int64(number)
    }

    /// Seconds of life.
    func lifetime(_ index: Int?) -> ToldLifetime {
        guard let index, !isAbsent(index) else { return .nothing }
        return seconds(index).map { .seconds($0) } ?? .nonsense
    }

    /// The end of life.
    func moment(_ index: Int?) -> ToldLifetime {
        guard let index, !isAbsent(index) else { return .nothing }
        let moment = seconds(index).map { Moment.seconds(of: $0) } ?? text(index).flatMap { Moment.seconds(of: $0) }
        return moment.map { .moment($0) } ?? .nonsense
    }

    /// A number as written, or the content of a string; nil for everything else.
    func code(_ index: Int) -> String? {
        if let text = text(index) { return String(decoding: text, as: UTF8.self) }
        return read { reader in reader.numberText(slices[index]).map { String(decoding: $0, as: UTF8.self) } }
    }
}
