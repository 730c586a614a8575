// Owns the node tree of a configuration: values with the place each came from.
// Domain: cold

/// A place in a file; both count from 1, columns in characters.
package struct YAMLMark: Sendable, Equatable, Comparable {
    package var line: Int
    package var column: Int

    package init(line: Int, column: Int) {
        self.line = line
        self.column = column
    }

    package static func < (one: YAMLMark, other: YAMLMark) -> Bool {
        (one.line, one.column) < (other.line, other.column)
    }
}

/// Where a value was said.
package enum ConfigurationOrigin: Sendable, Equatable {
    case file(YAMLMark)
    /// The option as the user wrote it, such as `--listen`.
    case flag(String)
    case environment(name: String)
}

package struct YAMLNode: Sendable {
    package enum Content: Sendable {
        /// `isPlain`: without quotes, so it may mean a number, a truth value or nothing.
        case scalar(text: String, isPlain: Bool)
        case sequence([YAMLNode])
        case mapping([YAMLEntry])
    }
    package var content: Content
    package var origin: ConfigurationOrigin

    package init(_ content: Content, _ origin: ConfigurationOrigin) {
        self.content = content
        self.origin = origin
    }
}

package struct YAMLEntry: Sendable {
    package var key: String
    package var keyOrigin: ConfigurationOrigin
    package var value: YAMLNode

    package init(key: String, keyOrigin: ConfigurationOrigin, value: YAMLNode) {
        self.key = key
        self.keyOrigin = keyOrigin
        self.value = value
    }
}

extension YAMLNode {
    package subscript(key: String) -> YAMLNode? {
        entries.first { $0.key == key }?.value
    }

    package var entries: [YAMLEntry] {
        if case .mapping(let entries) = content { entries } else { [] }
    }

    package var items: [YAMLNode] {
        if case .sequence(let items) = content { items } else { [] }
    }

    package var isMapping: Bool {
        if case .mapping = content { true } else { false }
    }

    /// Nothing, in the spellings of the YAML core schema.
    package var isNull: Bool {
        guard case .scalar(let text, true) = content else { return false }
        return ["", "~", "null", "Null", "NULL"].contains(text)
    }

    /// Any scalar as written, except nothing.
    package var text: String? {
        guard case .scalar(let text, _) = content, !isNull else { return nil }
        return text
    }

    package var boolean: Bool? {
        guard case .scalar(let text, true) = content else { return nil }
        return text == "true" ? true : text == "false" ? false : nil
    }

    /// Decimal digits with an optional sign; no octal, hexadecimal or underscores, which YAML versions read differently.
    package var integer: Int64? {
        guard case .scalar(let text, true) = content, let first = text.utf8.first else { return nil }
        guard first == UInt8(ascii: "-") || isDigit(first) else { return nil }
        let digits = first == UInt8(ascii: "-") ? text.utf8.dropFirst() : text.utf8[...]
        guard digits.allSatisfy(isDigit), digits.count == 1 || digits.first != UInt8(ascii: "0") else { return nil }
        return Int64(text)
    }

    package var decimal: Double? {
        guard case .scalar(let text, true) = content, isJSONNumber(text) else { return nil }
        return Double(text)
    }

    /// Sets the value at a path of mappings, making those that are missing. A value that is no mapping on the way stays:
    /// the check reports it.
    mutating func set(_ path: ArraySlice<String>, to value: YAMLNode) {
        guard let key = path.first else {
            self = value
            return
        }
        guard case .mapping(var entries) = content else { return }
        let index = entries.firstIndex { $0.key == key } ?? entries.endIndex
        if index == entries.endIndex {
            entries.append(YAMLEntry(key: key, keyOrigin: value.origin, value: YAMLNode(.mapping([]), value.origin)))
        }
        entries[index].value.set(path.dropFirst(), to: value)
        content = .mapping(entries)
    }
}

func isDigit(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") }

/// RFC 8259 §6.
func isJSONNumber(_ text: String) -> Bool {
    var rest = text.utf8[...]
    func takeDigits() -> Int {
        let count = rest.prefix(while: isDigit).count
        rest = rest.dropFirst(count)
        return count
    }
    if rest.first == UInt8(ascii: "-") { rest = rest.dropFirst() }
    let startsWithZero = rest.first == UInt8(ascii: "0")
    let whole = takeDigits()
    guard whole > 0, !startsWithZero || whole == 1 else { return false }
    if rest.first == UInt8(ascii: ".") {
        rest = rest.dropFirst()
        guard takeDigits() > 0 else { return false }
    }
    if let letter = rest.first, letter == UInt8(ascii: "e") || letter == UInt8(ascii: "E") {
        rest = rest.dropFirst()
        if let sign = rest.first, sign == UInt8(ascii: "-") || sign == UInt8(ascii: "+") { rest = rest.dropFirst() }
        guard takeDigits() > 0 else { return false }
    }
    return rest.isEmpty
}
