// Finds the values at given paths in a JSON body, also in one that is cut off or broken.
// Domain: pure

import CryoHTTP

/// A path is names joined by dots, compared without case; arrays on the way are passed through: `items.card` is the card of each item.
struct JSONPathRedaction: Sendable {
    /// Values nested deeper are not looked at.
    static let depthMax = 64

    private let paths: [[[UInt8]]]

    /// Names without a dot are not paths.
    init(_ names: [String]) {
        paths = names.filter { $0.contains(".") }.map { name in name.lowercased().split(separator: ".").map { Array($0.utf8) } }
    }

    var isEmpty: Bool { paths.isEmpty }

    /// The bytes of each value at one of the paths, in order. An unclosed value reaches to the end.
    func values(in body: UnsafeRawBufferPointer) -> [Range<Int>] {
        var walk = Walk(body)
        var found: [Range<Int>] = []
        // The names that lead to where the walk is, and how many there were before each open object or array.
        var names: [Range<Int>] = []
        var levels: [Int] = []
        var current: Range<Int>?
        while let token = walk.next() {
            switch token {
            case .open:
                let path = names + (current.map { [$0] } ?? [])
                if current != nil, isWanted(path, body) {
                    let start = walk.tokenStart
                    found.append(start..<walk.skipValue(from: start))
                    current = nil
                    continue
                }
                levels.append(names.count)
                if levels.count > Self.depthMax { return found }
                if let name = current { names.append(name) }
                current = nil
            case .close:
                if let count = levels.popLast() { names.removeLast(names.count - count) }
                current = nil
            case .comma: current = nil
            case .string(let range):
                if walk.isFollowedByColon {
                    current = (range.lowerBound + 1)..<max(range.lowerBound + 1, range.upperBound - 1)
                } else {
                    note(range, names, &current, body, &found)
                }
            case .scalar(let range): note(range, names, &current, body, &found)
            }
        }
        return found
    }

    private func note(
        _ range: Range<Int>, _ names: [Range<Int>], _ current: inout Range<Int>?, _ body: UnsafeRawBufferPointer,
        _ found: inout [Range<Int>]
    ) {
        // In an array the names around it count.
        if isWanted(names + (current.map { [$0] } ?? []), body) { found.append(range) }
        current = nil
    }

    private func isWanted(_ names: [Range<Int>], _ body: UnsafeRawBufferPointer) -> Bool {
        for path in paths where path.count == names.count {
            if names.indices.allSatisfy({ Self.isSame(path[$0], UnsafeRawBufferPointer(rebasing: body[names[$0]])) }) { return true }
        }
        return false
    }

    private static func isSame(_ wanted: [UInt8], _ name: UnsafeRawBufferPointer) -> Bool {
        wanted.withUnsafeBytes { equalsIgnoringCase(name, lowercased: $0) }
    }

    private enum Token {
        case open, close, comma
        case string(Range<Int>)
        case scalar(Range<Int>)
    }

    private struct Walk {
        let body: UnsafeRawBufferPointer
        var index = 0
        var tokenStart = 0

        init(_ body: UnsafeRawBufferPointer) { self.body = body }

        mutating func next() -> Token? {
            while index < body.count {
                let byte = body[index]
                tokenStart = index
                switch byte {
                case 0x7B, 0x5B:
                    index += 1
                    return .open
                case 0x7D, 0x5D:
                    index += 1
                    return .close
                case 0x2C:
                    index += 1
                    return .comma
                case 0x22:
                    index = stringEnd(from: index)
                    return .string(tokenStart..<index)
                case 0...0x20, 0x3A: index += 1
                default:
                    while index < body.count, !isEnd(body[index]) { index += 1 }
                    return .scalar(tokenStart..<index)
                }
            }
            return nil
        }

        var isFollowedByColon: Bool {
            var place = index
            while place < body.count, body[place] <= 0x20 { place += 1 }
            return place < body.count && body[place] == 0x3A
        }

        /// Past the value that opens there; the walk goes on behind it.
        mutating func skipValue(from start: Int) -> Int {
            var depth = 1
            while depth > 0, let token = next() {
                switch token {
                case .open: depth += 1
                case .close: depth -= 1
                default: break
                }
            }
            return index
        }

        private func isEnd(_ byte: UInt8) -> Bool {
            byte <= 0x20 || byte == 0x2C || byte == 0x7D || byte == 0x5D || byte == 0x3A || byte == 0x22
        }

        private func stringEnd(from start: Int) -> Int {
            var place = start + 1
            while place < body.count {
                if body[place] == 0x5C {
                    place += 2
                } else if body[place] == 0x22 {
                    return place + 1
                } else {
                    place += 1
                }
            }
            return body.count
        }
    }
}
