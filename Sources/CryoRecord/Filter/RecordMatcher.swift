// Holds lines of an audit file against a filter, looking no closer than it must.
// Domain: worker

package import CryoJSON

/// Belongs to one thread: its scanner keeps memory between lines.
package final class RecordMatcher {
    private let filter: RecordFilter
    private let paths: JSONPathSet?
    private let positions: [JSONPath: Int]
    private let scanner = JSONScanner()

    /// A text that every match holds; nil where there is none. A caller with many lines in one buffer can jump to it.
    package let required: ByteNeedle?

    package init(_ filter: RecordFilter) {
        self.filter = filter
        required = filter.required
        let wanted = filter.paths
        paths = JSONPathSet(wanted)
        positions = Dictionary(uniqueKeysWithValues: wanted.enumerated().map { ($1, $0) })
    }

    /// `line` without its line end. The caller guarantees ``JSONScanner/padding`` readable bytes beyond it. False for what is no record.
    package func matches(padded line: UnsafeRawBufferPointer) -> Bool {
        if let required, required.first(in: line) == nil { return false }
        guard let paths, scanner.scan(line, paths: paths) == .scanned, scanner.slice(at: 0).kind == .string else { return false }
        return evaluate(filter.root, line)
    }

    package func matches(_ line: [UInt8]) -> Bool { Padded.withPadding(line) { matches(padded: $0) } }

    private func evaluate(_ node: RecordFilter.Node, _ line: UnsafeRawBufferPointer) -> Bool {
        switch node {
        case .all(let nodes): return nodes.allSatisfy { evaluate($0, line) }
        case .any(let nodes): return nodes.contains { evaluate($0, line) }
        case .not(let node): return !evaluate(node, line)
        case .word(let needle): return needle.first(in: line) != nil
        case .condition(let condition): return evaluate(condition, line)
        }
    }

    private func evaluate(_ condition: FilterCondition, _ line: UnsafeRawBufferPointer) -> Bool {
        let slice = positions[condition.source.path].map { scanner.slice(at: $0) } ?? .missing
        switch condition.source {
        case .member: return matches(condition, slice, line)
        case .path, .query: return matchesTarget(condition, slice, line)
        case .header(_, let name): return matchesHeader(condition, slice, name, line)
        case .attemptCount:
            var cursor = JSONCursor(line, inside: slice)
            var count = 0
            while cursor.element() != nil { count += 1 }
            return Array(String(count).utf8).withUnsafeBytes { condition.matches($0, isString: false) }
        case .attempt(let member):
            var cursor = JSONCursor(line, inside: slice)
            while let attempt = cursor.element() {
                var members = JSONCursor(line, inside: attempt)
                while let (key, value) = members.member() {
                    let isWanted = line[key.range].dropFirst().dropLast().elementsEqual(member)
                    if isWanted, matches(condition, value, line) { return true }
                }
            }
            return false
        }
    }

    private func matches(_ condition: FilterCondition, _ slice: JSONSlice, _ line: UnsafeRawBufferPointer) -> Bool {
        switch slice.kind {
        case .missing, .null: return condition.matches(nil, isString: false)
        case .string: return withContent(slice, line) { condition.matches($0, isString: true) }
        case .number, .bool, .array, .object: return condition.matches(UnsafeRawBufferPointer(rebasing: line[slice.range]), isString: false)
        }
    }

    private func matchesTarget(_ condition: FilterCondition, _ slice: JSONSlice, _ line: UnsafeRawBufferPointer) -> Bool {
        guard slice.kind == .string else { return condition.matches(nil, isString: false) }
        return withContent(slice, line) { target in
            let mark = target.firstIndex(of: UInt8(ascii: "?"))
            if condition.source == .path {
                return condition.matches(UnsafeRawBufferPointer(rebasing: target[..<(mark ?? target.count)]), isString: true)
            }
            guard let mark else { return condition.matches(nil, isString: false) }
            return condition.matches(UnsafeRawBufferPointer(rebasing: target[(mark + 1)...]), isString: true)
        }
    }

    /// Any of the lines of that name.
    private func matchesHeader(_ condition: FilterCondition, _ slice: JSONSlice, _ name: [UInt8], _ line: UnsafeRawBufferPointer) -> Bool {
        var cursor = JSONCursor(line, inside: slice)
        var isThere = false
        while let pair = cursor.element() {
            var parts = JSONCursor(line, inside: pair)
            guard let key = parts.element(), key.kind == .string, let value = parts.element() else { continue }
            let isNamed = withContent(key, line) { key in
                key.count == name.count && zip(key, name).allSatisfy { ($0 &- 0x41 < 26 ? $0 | 0x20 : $0) == $1 }
            }
            guard isNamed else { continue }
            isThere = true
            if matches(condition, value, line) { return true }
        }
        return !isThere && condition.matches(nil, isString: false)
    }

    /// A string's content; copied only when it holds an escape.
    private func withContent<Result>(
        _ slice: JSONSlice, _ line: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Result
    ) -> Result {
        let reader = JSONValueReader(line)
        guard let content = reader.rawStringContent(slice), !content.contains(UInt8(ascii: "\\")) else {
            return reader.stringBytes(slice).withUnsafeBytes(body)
        }
        return body(content)
    }
}
