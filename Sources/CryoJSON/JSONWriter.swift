// Owns the writing of JSON texts: commas, escapes, and where in the text lies what others said.
// Domain: worker

/// Appends one JSON text after another value by value. Commas are its business, nesting is the caller's: every `begin`
/// has its `end`, inside an object every value has its key. Where a text is written for every request, names, commas and brackets come
/// in pieces of the source (`text`, `member(_:…)`), and its business is the values alone.
///
/// It owns its memory and is not copied.
@usableFromInline
package struct JSONWriter: ~Copyable {
    @usableFromInline var out = TextBuffer()
    @usableFromInline var needsComma = false
    /// Where the first text that may be from outside begins, and where the last ends: strings and raw values are, numbers and the
    /// source's own texts are not.
    @usableFromInline var foreignStart = Int.max
    @usableFromInline var foreignEnd = 0

    @inlinable package init() {}

    @inlinable package var count: Int { out.count }
    @inlinable package var capacity: Int { out.capacity }

    /// What has been written, as a copy.
    package var bytes: [UInt8] { out.bytes }

    @inlinable @inline(__always)
    package func withBytes<R>(_ body: (UnsafeRawBufferPointer) -> R) -> R { out.withBytes(body) }

    /// All that may be from outside, and whatever stands between.
    @inlinable @inline(__always)
    package func withForeignBytes<R>(_ body: (UnsafeRawBufferPointer) -> R) -> R {
        out.withBytes { body(UnsafeRawBufferPointer(rebasing: foreignStart < foreignEnd ? $0[foreignStart..<foreignEnd] : $0[..<0])) }
    }

    package mutating func reserveCapacity(_ size: Int) { out.reserve(size - out.count) }

    /// Starts over and keeps the memory.
    @inlinable
    package mutating func reset() {
        out.removeAll()
        needsComma = false
        foreignStart = .max
        foreignEnd = 0
    }

    /// Ends a text so that the next one may follow on its own line (JSON Lines).
    package mutating func endLine() {
        out.append("\n")
        needsComma = false
    }

    package mutating func beginObject() { open(UInt8(ascii: "{")) }

    package mutating func endObject() { close(UInt8(ascii: "}")) }

    package mutating func beginArray() { open(UInt8(ascii: "[")) }

    package mutating func endArray() { close(UInt8(ascii: "]")) }

    // MARK: Keys

    /// A name in the source needs no escape: it is written as it is.
    package mutating func key(_ name: StaticString) {
        if needsComma { out.append(",") }
        out.append("\"")
        out.append(name)
        out.append(#"":"#)
        needsComma = false
    }

    package mutating func key(_ name: String) {
        string(name)
        out.append(":")
        needsComma = false
    }

    // MARK: Values

    /// Invalid UTF-8 is replaced with U+FFFD, one for each maximal ill-formed part.
    package mutating func string(bytes content: UnsafeRawBufferPointer) {
        beginValue()
        foreign(content)
    }

    package mutating func string(_ content: StaticString) {
        beginValue()
        content.withUTF8Buffer { quote(UnsafeRawBufferPointer($0)) }
    }

    package mutating func string(_ content: String) {
        var native = content
        native.withUTF8 { string(bytes: UnsafeRawBufferPointer($0)) }
    }

    /// A text of our own that needs no escape, which the caller guarantees: digits, identifiers, times.
    package mutating func plain(_ content: [UInt8]) {
        beginValue()
        out.append("\"")
        out.append(content)
        out.append("\"")
    }

    package mutating func integer(_ value: Int64) {
        beginValue()
        if value < 0 { out.append("-") }
        out.append(decimal: value.magnitude)
    }

    package mutating func integer(_ value: UInt64) {
        beginValue()
        out.append(decimal: value)
    }

    package mutating func integer(_ value: Int) { integer(Int64(value)) }

    package mutating func bool(_ value: Bool) {
        beginValue()
        if value { out.append("true") } else { out.append("false") }
    }

    package mutating func null() {
        beginValue()
        out.append("null")
    }

    /// Appends a value as it is. The caller guarantees one valid JSON value (``JSONScanner/validate(_:)`` or a slice
    /// of a scanned document).
    package mutating func raw(_ value: UnsafeRawBufferPointer) {
        beginValue()
        foreignStart = min(foreignStart, out.count)
        out.append(value)
        foreignEnd = out.count
    }

    // MARK: Fields

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

    // MARK: Pieces of the source

    /// A piece of the text as it is, brackets, names, commas and all. The next value that is not a piece gets a comma.
    @inlinable @inline(__always)
    package mutating func text(_ piece: StaticString) {
        out.append(piece)
        needsComma = true
    }

    /// Several such pieces that somebody has put together for many texts.
    @inlinable
    package mutating func text(_ piece: [UInt8]) {
        out.append(piece)
        needsComma = true
    }

    /// `name` has its comma, its quotes and its colon: `,"status":`.
    @inlinable @inline(__always)
    package mutating func member(_ name: StaticString, _ value: UInt64) {
        out.append(name)
        out.append(decimal: value)
        needsComma = true
    }

    @inlinable @inline(__always)
    package mutating func member(_ name: StaticString, _ value: Bool) {
        out.append(name)
        if value { out.append("true") } else { out.append("false") }
        needsComma = true
    }

    /// A text of our own, with the condition of ``plain(_:)``. `name` ends in the quote that opens the value: `,"id":"`.
    @inlinable @inline(__always)
    package mutating func member(_ name: StaticString, plain value: UnsafeRawBufferPointer) {
        out.append(name)
        out.append(value)
        out.append("\"")
        needsComma = true
    }

    @inlinable @inline(__always)
    package mutating func member(_ name: StaticString, bytes value: UnsafeRawBufferPointer) {
        out.append(name)
        foreign(value)
        needsComma = true
    }

    /// The last `count` digits of a number, zeros and all, within a text.
    package mutating func digits(_ value: UInt64, count: Int) { out.append(digits: value, count: count) }

    // MARK: Parts

    private mutating func beginValue() {
        if needsComma { out.append(",") }
        needsComma = true
    }

    private mutating func open(_ bracket: UInt8) {
        beginValue()
        out.append(bracket)
        needsComma = false
    }

    private mutating func close(_ bracket: UInt8) {
        out.append(bracket)
        needsComma = true
    }

    @usableFromInline
    mutating func foreign(_ content: UnsafeRawBufferPointer) {
        foreignStart = min(foreignStart, out.count)
        quote(content)
        foreignEnd = out.count
    }

    private mutating func quote(_ content: UnsafeRawBufferPointer) {
        out.append("\"")
        if JSONEscape.isPlain(content) { out.append(content) } else { JSONEscape.append(content, to: &out) }
        out.append("\"")
    }
}
