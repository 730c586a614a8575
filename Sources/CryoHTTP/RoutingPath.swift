// Decides whether a path may be routed and forwarded unchanged. The rule: what routing saw is what the upstream gets.
// Domain: pure

/// How a path is to be matched.
package enum RoutingPath: Sendable, Equatable {
    /// No percent-encoding: match the raw bytes, no copy was made.
    case raw
    /// A copy for matching only: unreserved characters decoded, the digits of other encodings in upper case. Forward the original.
    case normalized([UInt8])
    case refused(StaticString)

    package static func == (one: RoutingPath, other: RoutingPath) -> Bool {
        switch (one, other) {
        case (.raw, .raw): true
        case (.normalized(let first), .normalized(let second)): first == second
        case (.refused(let first), .refused(let second)): first.rawBytes.elementsEqual(second.rawBytes)
        default: false
        }
    }
}

/// What to do with `%2F`. Servers disagree on whether it separates segments, so it is refused unless a route asks for it; kept, it is
/// data for matching, but still separates segments when dot segments are looked for.
package enum EncodedSlashRule: Sendable, Equatable {
    case refused
    case kept
}

/// Checks a path (without query) and makes the copy for matching if there is any percent-encoding.
///
/// The path is forwarded byte for byte, so everything that a later server might resolve, decode or strip into a different path is refused:
/// dot segments in any spelling (encoded twice; `..;x`, which some servers read as `..`), encoded or raw backslashes, encoded slashes, encoded
/// controls, overlong UTF-8 for dot, slash and backslash, and broken percent-encoding. Repeated slashes pass, and are matched as written.
package func routingPath(_ path: UnsafeRawBufferPointer, encodedSlash: EncodedSlashRule = .refused) -> RoutingPath {
    guard path.first == 0x2F else { return .refused("path does not begin with a slash") }
    var watch = DotSegmentWatch()
    var index = 0
    while index < path.count, path[index] != 0x25 {
        if path[index] == 0x5C { return .refused("backslash in the path") }
        if !watch.allows(path[index]) { return .refused("dot segment in the path") }
        index += 1
    }
    if index == path.count { return watch.allowsEnd ? .raw : .refused("dot segment in the path") }

    var copy: [UInt8] = []
    copy.reserveCapacity(path.count)
    copy.append(contentsOf: path[..<index])
    var previousEncoded: UInt8 = 0
    var second = SecondDecoding()
    while index < path.count {
        var byte = path[index]
        let isEncoded = byte == 0x25
        if isEncoded {
            guard index + 2 < path.count, let high = hexadecimalValue(path[index + 1]), let low = hexadecimalValue(path[index + 2])
            else { return .refused("malformed percent-encoding in the path") }
            byte = high << 4 | low
            if let reason = refusal(encoded: byte, after: previousEncoded, encodedSlash) { return .refused(reason) }
            appendNormalized(byte, to: &copy)
            previousEncoded = byte
            index += 3
        } else {
            if byte == 0x5C { return .refused("backslash in the path") }
            copy.append(byte)
            previousEncoded = 0
            index += 1
        }
        if !second.allows(byte, &watch) { return .refused("dot segment in the path") }
    }
    return second.allowsEnd(watch) ? .normalized(copy) : .refused("dot segment in the path")
}

private func refusal(encoded byte: UInt8, after previous: UInt8, _ encodedSlash: EncodedSlashRule) -> StaticString? {
    switch byte {
    case 0x2F: return encodedSlash == .refused ? "encoded slash in the path" : nil
    case 0x5C: return "encoded backslash in the path"
    case 0x00..<0x20, 0x7F: return "encoded control character in the path"
    case 0xAE, 0xAF: return previous == 0xC0 ? "overlong encoding in the path" : nil
    case 0x9C: return previous == 0xC1 ? "overlong encoding in the path" : nil
    default: return nil
    }
}

/// RFC 3986 §6.2.2: unreserved characters are equivalent to their encodings, everything else is not.
private func appendNormalized(_ byte: UInt8, to copy: inout [UInt8]) {
    let isAlphanumeric = (byte | 0x20) &- 0x61 < 26 || byte &- 0x30 < 10
    if isAlphanumeric || byte == 0x2D || byte == 0x2E || byte == 0x5F || byte == 0x7E {
        copy.append(byte)
    } else {
        copy.append(0x25)
        copy.append(hexadecimalDigit(byte >> 4))
        copy.append(hexadecimalDigit(byte & 15))
    }
}

@inline(__always)
private func hexadecimalDigit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 + value : 0x37 + value }

/// Decodes a second time what was decoded once, and shows the watch the result: `%252e` and `%25%32%65` are dots to a server that decodes
/// twice. Seen as what they would become, never as what they say now; what is no dot segment then is none before either.
private struct SecondDecoding {
    /// Each case lists what may follow it.
    private enum State {
        /// Then `percent`.
        case plain
        /// Then `digit`, `plain`, or itself.
        case percent
        /// Then `plain` or `percent`.
        case digit(UInt8)
    }
    private var state = State.plain

    /// False when this byte ends a dot segment.
    mutating func allows(_ byte: UInt8, _ watch: inout DotSegmentWatch) -> Bool {
        switch state {
        case .plain: return takePlain(byte, &watch)
        case .percent:
            if let high = hexadecimalValue(byte) {
                state = .digit(high)
                return true
            }
            return watch.allows(0x25) && takePlain(byte, &watch)
        case .digit(let high):
            if let low = hexadecimalValue(byte) {
                state = .plain
                return watch.allows(high << 4 | low)
            }
            return watch.allows(0x25) && takePlain(byte, &watch)
        }
    }

    /// False when the path ends in a dot segment.
    func allowsEnd(_ watch: DotSegmentWatch) -> Bool {
        // A percent sign that stands alone is data, so no segment of dots.
        if case .plain = state { return watch.allowsEnd }
        return true
    }

    private mutating func takePlain(_ byte: UInt8, _ watch: inout DotSegmentWatch) -> Bool {
        if byte == 0x25 {
            state = .percent
            return true
        }
        state = .plain
        return watch.allows(byte)
    }
}

/// Sees decoded path bytes one by one and finds a segment that is `.` or `..`, with or without path parameters after it. A backslash
/// separates too: some servers take it for a slash.
private struct DotSegmentWatch {
    /// Dots seen in a segment of dots only; 3 when the segment is anything else or is decided; 0 at its start.
    private var dots = 0

    /// False when this byte ends a dot segment.
    mutating func allows(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x2F, 0x5C:
            let isAllowed = allowsEnd
            dots = 0
            return isAllowed
        case 0x3B:
            let isAllowed = allowsEnd
            dots = 3
            return isAllowed
        case 0x2E: dots = min(dots + 1, 3)
        default: dots = 3
        }
        return true
    }

    var allowsEnd: Bool { dots == 0 || dots == 3 }
}
