// Owns the writing of JSON texts: commas, escapes, one growing buffer.
// Domain: worker

/// Appends one JSON text after another value by value. Commas are its business, nesting is the caller's: every `begin`
/// has its `end`, inside an object every value has its key.
///
/// It owns its memory and is not copied: an array would be asked for each byte whether it is shared and whether it has room.
package struct JSONWriter: ~Copyable {
    private var base: UnsafeMutablePointer<UInt8>?
    package private(set) var count = 0
    package private(set) var capacity = 0
    private var needsComma = false

    package init() {}

    deinit { base?.deallocate() }

    /// What has been written, as a copy.
    package var bytes: [UInt8] { withBytes { Array($0) } }

    package func withBytes<R>(_ body: (UnsafeRawBufferPointer) -> R) -> R { body(UnsafeRawBufferPointer(start: base, count: count)) }

    package mutating func reserveCapacity(_ size: Int) { if size > capacity { grow(to: size) } }

    /// Starts over and keeps the memory.
    package mutating func reset() {
        count = 0
        needsComma = false
    }

    /// Ends a text so that the next one may follow on its own line (JSON Lines).
    package mutating func endLine() {
        put(UInt8(ascii: "\n"))
        needsComma = false
    }

    package mutating func beginObject() { open(UInt8(ascii: "{")) }

    package mutating func endObject() { close(UInt8(ascii: "}")) }

    package mutating func beginArray() { open(UInt8(ascii: "[")) }

    package mutating func endArray() { close(UInt8(ascii: "]")) }

    /// A name in the source needs no escape: it is written as it is.
    package mutating func key(_ name: StaticString) {
        let size = name.utf8CodeUnitCount
        let start = room(for: size + 4)
        var at = start
        if needsComma {
            at[0] = UInt8(ascii: ",")
            at += 1
        }
        at[0] = UInt8(ascii: "\"")
        (at + 1).update(from: name.utf8Start, count: size)
        at[size + 1] = UInt8(ascii: "\"")
        at[size + 2] = UInt8(ascii: ":")
        count += at - start + size + 3
        needsComma = false
    }

    /// A name with its quotes and its colon, `"time":`: one piece where ``key(_:)`` lays down three.
    package mutating func member(_ text: StaticString) {
        beginValue()
        text.withUTF8Buffer { put(UnsafeRawBufferPointer($0)) }
        needsComma = false
    }

    /// A text that needs no escape, which the caller guarantees: digits, identifiers, times.
    package mutating func plain(_ content: [UInt8]) { content.withUnsafeBytes { plain($0) } }

    package mutating func key(_ name: String) {
        string(name)
        put(UInt8(ascii: ":"))
        needsComma = false
    }

    /// Invalid UTF-8 is replaced with U+FFFD, one for each maximal ill-formed part.
    package mutating func string(bytes content: UnsafeRawBufferPointer) {
        guard JSONEscape.isPlain(content) else { return escaped(content) }
        plain(content)
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
        if value < 0 { put(UInt8(ascii: "-")) }
        digits(value.magnitude)
    }

    package mutating func integer(_ value: UInt64) {
        beginValue()
        digits(value)
    }

    package mutating func integer(_ value: Int) { integer(Int64(value)) }

    package mutating func bool(_ value: Bool) { raw((value ? Self.trueText : Self.falseText)) }

    package mutating func null() { raw(Self.nullText) }

    /// Appends a value as it is. The caller guarantees one valid JSON value (``JSONScanner/validate(_:)`` or a slice
    /// of a scanned document).
    package mutating func raw(_ value: UnsafeRawBufferPointer) {
        beginValue()
        put(value)
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

    private mutating func raw(_ text: StaticString) {
        text.withUTF8Buffer { raw(UnsafeRawBufferPointer($0)) }
    }

    // MARK: Values

    private mutating func beginValue() {
        if needsComma { put(UInt8(ascii: ",")) }
        needsComma = true
    }

    private mutating func open(_ bracket: UInt8) {
        beginValue()
        put(bracket)
        needsComma = false
    }

    private mutating func close(_ bracket: UInt8) {
        put(bracket)
        needsComma = true
    }

    package mutating func plain(_ content: UnsafeRawBufferPointer) {
        let start = room(for: content.count + 3)
        var at = start
        if needsComma {
            at[0] = UInt8(ascii: ",")
            at += 1
        }
        needsComma = true
        at[0] = UInt8(ascii: "\"")
        if let source = content.baseAddress { UnsafeMutableRawPointer(at + 1).copyMemory(from: source, byteCount: content.count) }
        at[content.count + 1] = UInt8(ascii: "\"")
        count += at - start + content.count + 2
    }

    private mutating func escaped(_ content: UnsafeRawBufferPointer) {
        var text: [UInt8] = []
        text.reserveCapacity(content.count + content.count / 8 + 16)
        JSONEscape.append(content, to: &text)
        text.withUnsafeBytes { plain($0) }
    }

    private mutating func digits(_ value: UInt64) {
        var size = 1
        var rest = value
        while rest >= 10 {
            rest /= 10
            size += 1
        }
        let at = room(for: size)
        rest = value
        for position in stride(from: size - 1, through: 0, by: -1) {
            at[position] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        }
        count += size
    }

    // MARK: Memory

    private mutating func put(_ byte: UInt8) {
        room(for: 1)[0] = byte
        count += 1
    }

    private mutating func put(_ content: UnsafeRawBufferPointer) {
        guard let source = content.baseAddress else { return }
        UnsafeMutableRawPointer(room(for: content.count)).copyMemory(from: source, byteCount: content.count)
        count += content.count
    }

    /// Where the next bytes go; `size` of them have room there.
    private mutating func room(for size: Int) -> UnsafeMutablePointer<UInt8> {
        if count + size > capacity { grow(to: count + size) }
        // `grow` has left a base for any size above zero, and nobody writes none without one.
        return base.unsafelyUnwrapped + count
    }

    @inline(never)
    private mutating func grow(to size: Int) {
        let wanted = max(size, 2 * capacity, 256)
        let grown = UnsafeMutablePointer<UInt8>.allocate(capacity: wanted)
        if let base {
            grown.update(from: base, count: count)
            base.deallocate()
        }
        base = grown
        capacity = wanted
    }
}
