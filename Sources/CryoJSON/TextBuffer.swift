// Owns growing memory for texts that are written from front to back.
// Domain: pure

/// It owns its memory and is not copied: an array would be asked with each piece whether it is shared and whether it has room, and a text
/// of the source would be copied by a call where a few moves do.
// SAFETY: the memory belongs to the value alone, and a value that can't be copied is in one place at a time.
@usableFromInline
package struct TextBuffer: ~Copyable, @unchecked Sendable {
    @usableFromInline var base: UnsafeMutablePointer<UInt8>?
    @usableFromInline package internal(set) var count = 0
    @usableFromInline package internal(set) var capacity = 0

    @inlinable package init() {}

    @inlinable deinit { base?.deallocate() }

    @inlinable package var isEmpty: Bool { count == 0 }

    /// What has been written, as a copy.
    package var bytes: [UInt8] { withBytes { Array($0) } }

    @inlinable @inline(__always)
    package func withBytes<R>(_ body: (UnsafeRawBufferPointer) -> R) -> R { body(UnsafeRawBufferPointer(start: base, count: count)) }

    /// From here on `size` bytes may come before the memory moves.
    package mutating func reserve(_ size: Int) { if capacity &- count <= size { grow(by: size) } }

    /// Starts over and keeps the memory.
    @inlinable package mutating func removeAll() { count = 0 }

    // MARK: Pieces
    // Lengths of memory that is there do not overflow: they are added without asking.

    @inlinable @inline(__always)
    package mutating func append(_ byte: UInt8) {
        room(for: 1)[0] = byte
        count &+= 1
    }

    /// A text of the source: its length is known where this is compiled, and the copy becomes moves.
    @inlinable @inline(__always)
    package mutating func append(_ text: StaticString) {
        let size = text.utf8CodeUnitCount
        UnsafeMutableRawPointer(room(for: size)).copyMemory(from: text.utf8Start, byteCount: size)
        count &+= size
    }

    @inlinable
    package mutating func append(_ content: UnsafeRawBufferPointer) {
        guard let source = content.baseAddress else { return }
        UnsafeMutableRawPointer(room(for: content.count)).copyMemory(from: source, byteCount: content.count)
        count &+= content.count
    }

    @inlinable package mutating func append(_ content: [UInt8]) { content.withUnsafeBytes { append($0) } }

    /// Lets `body` write up to `size` bytes where the text ends; it says how many it wrote.
    @inlinable @inline(__always)
    package mutating func append(upTo size: Int, _ body: (UnsafeMutablePointer<UInt8>) -> Int) {
        let written = body(room(for: size))
        precondition(written >= 0 && written <= size, "written behind the room that was asked for")
        count &+= written
    }

    /// Most numbers of a record are one digit.
    @inlinable @inline(__always)
    package mutating func append(decimal value: UInt64) {
        guard value < 10 else { return append(longDecimal: value) }
        append(UInt8(truncatingIfNeeded: 0x30 + value))
    }

    @usableFromInline
    mutating func append(longDecimal value: UInt64) {
        guard value < 10_000 else { return append(digits: value, count: Self.digits(of: value)) }
        // Nearly all: two pairs, of which the upper one may be half or not there at all.
        let (upper, lower) = (Int(truncatingIfNeeded: value / 100), Int(truncatingIfNeeded: value % 100))
        let start = UnsafeMutableRawPointer(room(for: 4))
        let pairs = UnsafeRawPointer(Self.pairs.utf8Start)
        var size = 0
        if upper >= 10 {
            start.storeBytes(of: pairs.loadUnaligned(fromByteOffset: 2 &* upper, as: UInt16.self), as: UInt16.self)
            size = 2
        } else if upper > 0 {
            start.storeBytes(of: UInt8(truncatingIfNeeded: 0x30 &+ upper), as: UInt8.self)
            size = 1
        }
        start.storeBytes(of: pairs.loadUnaligned(fromByteOffset: 2 &* lower, as: UInt16.self), toByteOffset: size, as: UInt16.self)
        count &+= size &+ 2
    }

    /// The last `size` digits, with zeros before them; two at a time, from the last to the first.
    package mutating func append(digits value: UInt64, count size: Int) {
        let pairs = Self.pairs.utf8Start
        let start = room(for: size)
        var rest = value
        var place = size
        while place >= 2 {
            let pair = 2 * Int(rest % 100)
            rest /= 100
            place -= 2
            start[place] = pairs[pair]
            start[place + 1] = pairs[pair + 1]
        }
        if place == 1 { start[0] = UInt8(truncatingIfNeeded: 0x30 + rest % 10) }
        count &+= size
    }

    /// How many digits a number from 10 on has.
    private static func digits(of value: UInt64) -> Int {
        var size = 2
        var rest = value
        while rest >= 10_000 {
            rest /= 10_000
            size += 4
        }
        return rest < 100 ? (rest < 10 ? size - 1 : size) : (rest < 1_000 ? size + 1 : size + 2)
    }

    private static let pairs: StaticString = """
        0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243444546474849\
        5051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899
        """

    // MARK: Memory

    /// Where the next bytes go; `size` of them have room there.
    @inlinable @inline(__always)
    package mutating func room(for size: Int) -> UnsafeMutablePointer<UInt8> {
        // One byte too many, so that no room at all is refused where there is no memory yet.
        if capacity &- count <= size { grow(by: size) }
        return base.unsafelyUnwrapped + count
    }

    @usableFromInline @inline(never)
    mutating func grow(by size: Int) {
        let wanted = max(count + size + 1, 2 * capacity, 256)
        let grown = UnsafeMutablePointer<UInt8>.allocate(capacity: wanted)
        if let base {
            grown.update(from: base, count: count)
            base.deallocate()
        }
        base = grown
        capacity = wanted
    }
}
