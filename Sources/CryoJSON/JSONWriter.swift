// Owns the writing of JSON texts: commas, escapes, one growing buffer.
// Domain: worker

/// Appends one JSON text after another value by value. Commas are its business, nesting is the caller's: every `begin`
/// has its `end`, inside an object every value has its key.
package struct JSONWriter {
    package private(set) var bytes: [UInt8] = []
    private var needsComma = false

    package init() {}

    package mutating func reserveCapacity(_ count: Int) { bytes.reserveCapacity(count) }

    /// Starts over and keeps the memory.
    package mutating func reset() {
        bytes.removeAll(keepingCapacity: true)
        needsComma = false
    }

    /// Ends a text so that the next one may follow on its own line (JSON Lines).
    package mutating func endLine() {
        bytes.append(UInt8(ascii: "\n"))
        needsComma = false
    }

    package mutating func beginObject() { open(UInt8(ascii: "{")) }

    package mutating func endObject() { close(UInt8(ascii: "}")) }

    package mutating func beginArray() { open(UInt8(ascii: "[")) }

    package mutating func endArray() { close(UInt8(ascii: "]")) }

    /// A name in the source needs no escape: it is written as it is.
    package mutating func key(_ name: StaticString) {
        beginValue()
        bytes.append(UInt8(ascii: "\""))
        bytes.append(contentsOf: UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
        bytes.append(UInt8(ascii: "\""))
        endKey()
    }

    /// A name with its quotes and its colon, `"time":`: one piece where ``key(_:)`` appends three.
    package mutating func member(_ text: StaticString) {
        beginValue()
        bytes.append(contentsOf: text)
        needsComma = false
    }

    /// A text that needs no escape, which the caller guarantees: digits, identifiers, times.
    package mutating func plain(_ content: [UInt8]) { plain { $0.append(contentsOf: content) } }

    package mutating func plain(_ append: (inout [UInt8]) -> Void) {
        beginValue()
        bytes.append(UInt8(ascii: "\""))
        append(&bytes)
        bytes.append(UInt8(ascii: "\""))
    }

    package mutating func key(_ name: String) {
        string(name)
        endKey()
    }

    /// Invalid UTF-8 is replaced with U+FFFD, one for each maximal ill-formed part.
    package mutating func string(bytes content: UnsafeRawBufferPointer) {
        beginValue()
        bytes.append(UInt8(ascii: "\""))
        JSONEscape.append(content, to: &bytes)
        bytes.append(UInt8(ascii: "\""))
    }

    package mutating func string(_ content: StaticString) {
        content.withUTF8Buffer { string(bytes: UnsafeRawBufferPointer($0)) }
    }

    package mutating func string(_ content: String) {
        var native = content
        native.withUTF8 { string(bytes: UnsafeRawBufferPointer($0)) }
    }

    package mutating func integer(_ value: Int64) {
        beginValue()
        if value < 0 { bytes.append(UInt8(ascii: "-")) }
        appendDigits(value.magnitude)
    }

    package mutating func integer(_ value: UInt64) {
        beginValue()
        appendDigits(value)
    }

    package mutating func integer(_ value: Int) { integer(Int64(value)) }

    package mutating func bool(_ value: Bool) {
        beginValue()
        if value { bytes.append(contentsOf: Self.trueText) } else { bytes.append(contentsOf: Self.falseText) }
    }

    package mutating func null() {
        beginValue()
        bytes.append(contentsOf: Self.nullText)
    }

    /// Appends a value as it is. The caller guarantees one valid JSON value (``JSONScanner/validate(_:)`` or a slice
    /// of a scanned document).
    package mutating func raw(_ value: UnsafeRawBufferPointer) {
        beginValue()
        bytes.append(contentsOf: value)
    }

    package mutating func field(_ name: StaticString, _ value: StaticString) {
        key(name)
        string(value)
    }

    package mutating func field(_ name: StaticString, _ value: String) {
        key(name)
        string(value)
    }

    package mutating func field(_ name: StaticString, _ value: Int64) {
        key(name)
        integer(value)
    }

    package mutating func field(_ name: StaticString, _ value: Bool) {
        key(name)
        bool(value)
    }

    package mutating func field(_ name: StaticString, bytes value: UnsafeRawBufferPointer) {
        key(name)
        string(bytes: value)
    }

    package mutating func nullField(_ name: StaticString) {
        key(name)
        null()
    }

    /// ``raw(_:)`` under a key, with its condition.
    package mutating func rawField(_ name: StaticString, _ value: UnsafeRawBufferPointer) {
        key(name)
        raw(value)
    }

    private static let trueText: StaticString = "true"
    private static let falseText: StaticString = "false"
    private static let nullText: StaticString = "null"

    private mutating func beginValue() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        needsComma = true
    }

    private mutating func endKey() {
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    private mutating func open(_ bracket: UInt8) {
        beginValue()
        bytes.append(bracket)
        needsComma = false
    }

    private mutating func close(_ bracket: UInt8) {
        bytes.append(bracket)
        needsComma = true
    }

    private mutating func appendDigits(_ value: UInt64) {
        var rest = value
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
            var at = 20
            repeat {
                at -= 1
                digits[at] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
                rest /= 10
            } while rest > 0
            bytes.append(contentsOf: digits[at...])
        }
    }
}

extension [UInt8] {
    fileprivate mutating func append(contentsOf text: StaticString) {
        text.withUTF8Buffer { append(contentsOf: $0) }
    }
}
