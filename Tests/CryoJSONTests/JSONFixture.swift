// Owns the shortcuts of the JSON tests: padded documents, scans by path text.
// Domain: cold

@testable import CryoJSON

/// A document followed by padding that would change its meaning if anything read it as data.
struct JSONFixture {
    let storage: [UInt8]
    let count: Int

    init(_ bytes: [UInt8], padding: UInt8 = UInt8(ascii: "}")) {
        storage = bytes + [UInt8](repeating: padding, count: JSONScanner.padding)
        count = bytes.count
    }

    init(_ text: String, padding: UInt8 = UInt8(ascii: "}")) {
        self.init(Array(text.utf8), padding: padding)
    }

    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        storage.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[0..<count])) }
    }

    func outcome(_ scanner: JSONScanner = JSONScanner()) -> JSONScanOutcome {
        guard let set = JSONPathSet([]) else { return .noMemory }
        var slices: [JSONSlice] = []
        return withBytes { scanner.scan($0, paths: set, into: &slices) }
    }

    /// The raw text found at each path; nil where it is missing.
    func find(_ paths: [JSONPath]) -> [String?] {
        guard let set = JSONPathSet(paths) else { return [] }
        var slices: [JSONSlice] = []
        return withBytes { bytes in
            guard JSONScanner().scan(bytes, paths: set, into: &slices) == .scanned else { return [] }
            return slices.map { slice in
                slice.kind == .missing ? nil : String(decoding: bytes[slice.range], as: UTF8.self)
            }
        }
    }

    func find(_ path: String) -> String? {
        find([JSONPath(path)].compactMap { $0 }).first.flatMap { $0 }
    }

    /// Reads this document as one value.
    func read<Result>(_ body: (JSONValueReader, JSONSlice) -> Result) -> Result? {
        guard let set = JSONPathSet([.root]) else { return nil }
        var slices: [JSONSlice] = []
        return withBytes { bytes in
            guard JSONScanner().scan(bytes, paths: set, into: &slices) == .scanned, let slice = slices.first else { return nil }
            return body(JSONValueReader(bytes), slice)
        }
    }
}
