// A JSON text whose values are looked up as they are asked for: the raw bytes stay, so that a part can be passed on unchanged.
// Domain: shared (immutable)

import CryoJSON
public import Foundation

/// A value in a JSON text, after the manner of SwiftyJSON: looking up what is not there gives a value that `exists()` not, and
/// reading what is of another type gives nil, or the `…Value` members' zero (ledger BX2).
///
/// Of a member named twice the last one counts. Texts up to 64 MiB and 1024 levels are read.
public struct JSON: Sendable {
    private let document: JSONDocument
    private let slice: JSONSlice

    private init(_ document: JSONDocument, _ slice: JSONSlice) {
        self.document = document
        self.slice = slice
    }

    /// Parses one complete JSON text (RFC 8259); nil when it is none.
    public init?(data: Data) {
        let document = JSONDocument(data)
        guard let root = document.find(.root, in: 0..<document.count) else { return nil }
        self.init(document, root)
    }

    /// The member of that name; not there when this is no object.
    public subscript(key: String) -> JSON { slice.kind == .object ? child(key) : JSON(document, .missing) }

    /// The element at that position; not there when this is no array or has no such element.
    public subscript(index: Int) -> JSON { slice.kind == .array && index >= 0 ? child("\(index)") : JSON(document, .missing) }

    private func child(_ segment: String) -> JSON {
        guard let path = JSONPath(segments: [Array(segment.utf8)]), let found = document.find(path, in: slice.range) else {
            return JSON(document, .missing)
        }
        return JSON(document, found)
    }

    /// Whether the value is there; null is.
    public func exists() -> Bool { slice.kind != .missing }

    /// Whether the value is null or not there.
    public var isNull: Bool { slice.kind == .null || slice.kind == .missing }

    /// A string's content; nil for other types.
    public var string: String? {
        slice.kind == .string ? document.read { String(decoding: $0.stringBytes(slice), as: UTF8.self) } : nil
    }

    /// A string's content, a number's or boolean's text, else "".
    public var stringValue: String {
        switch slice.kind {
        case .string: string ?? ""
        case .number, .bool: String(decoding: document.bytes[slice.range], as: UTF8.self)
        case .missing, .null, .array, .object: ""
        }
    }

    /// A number, decimals cut off, or a boolean as 1 or 0; nil for other types, strings among them, and for what does not fit.
    public var int: Int? { document.read { $0.integer(slice) }.flatMap { Int(exactly: $0) } }

    /// As `int`, and a string by the number it begins with; 0 for everything else. A number that does not fit gives `Int.min`, which
    /// no code is, rather than one it could be mistaken for.
    public var intValue: Int { document.read { $0.seedIntValue(slice) }.map { Int($0) } ?? .min }

    /// A number; nil for other types.
    public var double: Double? { slice.kind == .number ? Double(stringValue) : nil }

    /// As `double`, and a string that is a number as a whole; 0 for everything else.
    public var doubleValue: Double { slice.kind == .bool ? Double(intValue) : Double(stringValue) ?? 0 }

    /// A boolean; nil for other types.
    public var bool: Bool? { document.read { $0.bool(slice) } }

    /// Truth as in JavaScript.
    public var boolValue: Bool { document.read { $0.isTruthy(slice) } }

    /// The value's bytes as they stand in the text; empty when it is not there.
    public var rawData: Data { Data(document.bytes[slice.range]) }

    /// Whether this is that string.
    public static func == (json: JSON, string: String) -> Bool { json.string == string }

    /// The part of an answer a business model is made of (ledger BX4): an object's or array's own bytes, a string's content without
    /// quotes, a number's or boolean's text; the whole `originalData` when the value is null or not there.
    public static func extractDataFromJSON(_ json: JSON, originalData: Data) -> Result<Data, any Error> {
        switch json.slice.kind {
        case .missing, .null: .success(originalData)
        case .object, .array: .success(json.rawData)
        case .string, .number, .bool: .success(Data(json.stringValue.utf8))
        }
    }
}

/// The bytes of a text with the scanner's padding behind them.
private final class JSONDocument: Sendable {
    let bytes: [UInt8]
    let count: Int

    init(_ data: Data) {
        count = data.count
        var bytes = [UInt8]()
        bytes.reserveCapacity(data.count + JSONScanner.padding)
        bytes.append(contentsOf: data)
        bytes.append(contentsOf: repeatElement(0, count: JSONScanner.padding))
        self.bytes = bytes
    }

    /// The value at `path` of the one in `range`, with its place in the whole text; nil when that is no JSON. A scanner belongs to one
    /// thread, so each lookup has its own.
    func find(_ path: JSONPath, in range: Range<Int>) -> JSONSlice? {
        guard let paths = JSONPathSet([path]) else { return nil }
        return bytes.withUnsafeBytes { bytes in
            var slices: [JSONSlice] = []
            let part = UnsafeRawBufferPointer(rebasing: bytes[range])
            guard JSONScanner().scan(part, paths: paths, into: &slices) == .scanned, let found = slices.first else {
                return nil
            }
            if found.kind == .missing { return .missing }
            let start = range.lowerBound
            return JSONSlice(kind: found.kind, range: start + found.range.lowerBound..<start + found.range.upperBound)
        }
    }

    func read<Value>(_ body: (JSONValueReader) -> Value) -> Value {
        bytes.withUnsafeBytes { body(JSONValueReader($0)) }
    }
}
