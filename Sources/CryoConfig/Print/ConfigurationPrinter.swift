// Owns the text of `cryonet config`: the effective configuration as YAML that can be read again, each value with its origin,
// secrets masked.
// Domain: cold

package struct ConfigurationPrinter {
    private let loaded: LoadedConfiguration
    private var lines: [String] = []

    /// The whole text, ending in a newline.
    package static func text(of loaded: LoadedConfiguration) -> String {
        var printer = ConfigurationPrinter(loaded)
        printer.print(Catalogue.root, loaded.document, indent: "")
        return printer.lines.map { $0 + "\n" }.joined()
    }

    private init(_ loaded: LoadedConfiguration) { self.loaded = loaded }

    private mutating func print(_ section: Section, _ node: YAMLNode?, indent: String) {
        let usesAnother = section.atMostOne.dropFirst().contains { node?[$0] != nil }
        for key in section.keys {
            // An alternative that was not chosen has no defaults to show.
            if section.exactlyOne.contains(key.name), node?[key.name] == nil { continue }
            if usesAnother, node?[key.name] == nil, section.onlyWithFirst.contains(key.name) { continue }
            print(key, node?[key.name], indent: indent)
        }
    }

    private mutating func print(_ key: CatalogueKey, _ node: YAMLNode?, indent: String) {
        guard let node else {
            if let standard = key.standard {
                add("\(indent)\(key.name): \(standard)", "default")
            } else if case .section(let inner) = key.shape, !inner.keys.contains(where: \.isRequired), inner.exactlyOne.isEmpty {
                // A section that is not named applies all the same, with its defaults.
                nest(key.name, indent) { $0.print(inner, nil, indent: indent + "  ") }
            }
            return
        }
        switch key.shape {
        case .section(let inner):
            nest(key.name, indent) { $0.print(inner, node, indent: indent + "  ") }
        case .brief(_, let inner) where node.isMapping:
            nest(key.name, indent) { $0.print(inner, node, indent: indent + "  ") }
        case .brief(let short, _):
            add("\(indent)\(key.name): \(flow(node, short))", place(of: node))
        case .list(.section(let inner)):
            nest(key.name, indent) { printer in
                for item in node.items { printer.printItem(inner, item, indent: indent + "  ") }
            }
        case .map(_, let values) where !node.entries.isEmpty:
            nest(key.name, indent) { printer in
                for entry in node.entries { printer.print(entry, values, indent: indent + "  ") }
            }
        case .map, .template, .list, .condition:
            add("\(indent)\(key.name): \(flow(node, key.shape))", place(of: firstScalar(node) ?? node))
        default:
            add("\(indent)\(key.name): \(masked(node, key.shape, key: key.name))", place(of: node))
        }
    }

    private mutating func print(_ entry: YAMLEntry, _ values: Shape, indent: String) {
        let name = word(entry.key, isPlain: entry.key.contains { !$0.isNumber })
        switch values {
        case .section(let section):
            nest(name, indent) { $0.print(section, entry.value, indent: indent + "  ") }
        case .brief(_, let section) where entry.value.isMapping:
            nest(name, indent) { $0.print(section, entry.value, indent: indent + "  ") }
        case .brief(let short, _):
            add("\(indent)\(name): \(masked(entry.value, short, key: entry.key))", place(of: entry.value))
        default:
            add("\(indent)\(name): \(masked(entry.value, values, key: entry.key))", place(of: entry.value))
        }
    }

    private mutating func printItem(_ section: Section, _ node: YAMLNode, indent: String) {
        let first = lines.count
        print(section, node, indent: indent + "  ")
        guard first < lines.count else { return }
        lines[first] = indent + "- " + lines[first].dropFirst(indent.utf8.count + 2)
    }

    /// The heading is taken back when nothing follows it.
    private mutating func nest(_ name: String, _ indent: String, _ body: (inout ConfigurationPrinter) -> Void) {
        lines.append("\(indent)\(name):")
        let heading = lines.count
        body(&self)
        if lines.count == heading { lines.removeLast() }
    }

    private mutating func add(_ text: String, _ origin: String) {
        let width = 56
        let padding = String(repeating: " ", count: max(2, width - text.count))
        lines.append("\(text)\(padding)# \(origin)")
    }

    private func place(of node: YAMLNode) -> String {
        switch node.origin {
        case .file(let mark): "file:\(mark.line)"
        case .flag: "flag"
        case .environment(let name): "env \(name)"
        }
    }

    private func firstScalar(_ node: YAMLNode) -> YAMLNode? {
        switch node.content {
        case .scalar: node
        case .sequence(let items): items.first
        case .mapping(let entries): entries.first?.value
        }
    }
}

// MARK: values

private func flow(_ node: YAMLNode, _ shape: Shape, key: String = "") -> String {
    switch node.content {
    case .scalar: return masked(node, shape, key: key)
    case .sequence(let items):
        let itemShape = if case .list(let inner) = shape { inner } else { shape }
        return "[" + items.map { flow($0, itemShape, key: key) }.joined(separator: ", ") + "]"
    case .mapping(let entries):
        guard !entries.isEmpty else { return "{}" }
        let members = entries.map { "\(word($0.key, isPlain: true)): \(flow($0.value, shape, key: $0.key))" }
        return "{ " + members.joined(separator: ", ") + " }"
    }
}

/// A scalar as YAML. References to secrets stay, secrets do not; a URL loses its query, where keys of APIs like to be.
private func masked(_ node: YAMLNode, _ shape: Shape, key: String) -> String {
    guard case .scalar(let text, let isPlain) = node.content else { return "" }
    let mask = "\"***\""
    switch shape {
    case .text(.secret):
        if !isSecretReference(text) { return mask }
    case .text(.headerValue):
        if isSensitive(header: key), !hasPlaceholder(text) { return mask }
    case .template, .text(.any):
        let isSecret = isSensitive(member: key) && !hasPlaceholder(text)
        if isSecret, !node.isNull, !text.isEmpty { return mask }
    case .text(.callURL):
        if let query = text.firstIndex(of: "?") { return word(String(text[...query]) + "***", isPlain: false) }
    default: break
    }
    return word(text, isPlain: isPlain)
}

/// Without quotes only what reads the same in every YAML.
private func word(_ text: String, isPlain: Bool) -> String {
    guard isPlain, let first = text.utf8.first, text.utf8.last != UInt8(ascii: ":") else { return quoted(text) }
    let others: [UInt8] = Array("_./:-*".utf8)
    let isSafe = text.utf8.allSatisfy { isDigit($0) || isLetter($0) || others.contains($0) }
    let begins = isDigit(first) || isLetter(first) || first == UInt8(ascii: "/") || first == UInt8(ascii: "_") || isJSONNumber(text)
    return isSafe && begins ? text : quoted(text)
}
