// Owns the check of a document against the catalogue: unknown keys, types, ranges, texts, required keys. It goes on after a
// problem, so that all of them are found.
// Domain: pure

struct CatalogueCheck {
    let fileName: String
    private(set) var problems: [ConfigurationProblem] = []

    init(fileName: String) { self.fileName = fileName }

    mutating func check(_ node: YAMLNode, _ shape: Shape, at path: String) {
        switch shape {
        case .section(let section): check(node, section, at: path)
        case .map(let rule, let values):
            guard node.isMapping else { return wrongType(node, "a mapping", at: path) }
            for entry in node.entries {
                let entryPath = join(path, entry.key)
                if let wrong = rule.wrong(entry.key) { note(entry.keyOrigin, entryPath, wrong) }
                check(entry.value, values, at: entryPath)
            }
        case .list(let items):
            guard case .sequence(let nodes) = node.content else { return wrongType(node, "a list", at: path) }
            for (index, item) in nodes.enumerated() { check(item, items, at: "\(path)[\(index)]") }
        case .text(let rule):
            guard let text = node.text else { return wrongType(node, "text", at: path) }
            if let wrong = rule.wrong(text) { note(node.origin, path, wrong) }
        case .boolean:
            if node.boolean == nil { wrongType(node, "true or false", at: path) }
        case .integer(let range):
            guard let value = node.integer, range.contains(value) else {
                return wrongType(node, "a whole number from \(range.lowerBound) to \(range.upperBound)", at: path)
            }
        case .decimal(let range):
            guard let value = node.decimal, range.contains(value) else {
                return wrongType(node, "a number from \(Int(range.lowerBound)) to \(Int(range.upperBound))", at: path)
            }
        case .choice(let words):
            guard let text = node.text, words.contains(text) else {
                let nearest = node.text.flatMap { suggestion(for: $0, among: words) }
                return wrongType(node, words.joined(separator: ", "), at: path, suggestion: nearest)
            }
        case .scalar:
            guard case .scalar = node.content else { return wrongType(node, "text, a number, true, false or null", at: path) }
        case .template:
            checkTemplate(node, at: path)
        case .brief(let short, let section):
            if node.isMapping { check(node, section, at: path) } else { check(node, short, at: path) }
        case .condition(let names):
            if names.isEmpty || node.isMapping { check(node, Catalogue.condition, at: path) } else { check(node, .choice(names), at: path) }
        }
    }

    private mutating func check(_ node: YAMLNode, _ section: Section, at path: String) {
        guard node.isMapping else { return wrongType(node, "a mapping", at: path) }
        for entry in node.entries {
            if let key = section[entry.key] {
                check(entry.value, key.shape, at: join(path, key.name))
            } else if section.notYet.contains(entry.key) {
                note(entry.keyOrigin, join(path, entry.key), WrongText("not supported yet"))
            } else {
                let nearest = suggestion(for: entry.key, among: section.keys.map(\.name))
                note(entry.keyOrigin, path, WrongText("unknown key \(quoted(entry.key))", suggestion: nearest))
            }
        }
        for key in section.keys where key.isRequired && node[key.name] == nil {
            note(node.origin, path, WrongText("missing key \(quoted(key.name))"))
        }
        checkAlternatives(node, section, at: path)
    }

    private mutating func checkAlternatives(_ node: YAMLNode, _ section: Section, at path: String) {
        let sources = node.entries.filter { section.exactlyOne.contains($0.key) }
        if sources.isEmpty, !section.exactlyOne.isEmpty, !node.entries.contains(where: { section.notYet.contains($0.key) }) {
            note(node.origin, path, WrongText("needs one of \(section.exactlyOne.joined(separator: ", "))"))
        }
        let rivals = node.entries.filter { section.atMostOne.contains($0.key) }
        for group in [sources, rivals] {
            guard let first = group.first else { continue }
            for entry in group.dropFirst() {
                note(entry.keyOrigin, path, WrongText("\(entry.key) and \(first.key) exclude each other"))
            }
        }
    }

    /// `{token}` without quotes is a YAML mapping: nobody means that.
    private mutating func checkTemplate(_ node: YAMLNode, at path: String) {
        for entry in node.entries {
            let isPlaceholder = entry.value.isNull && ["token", "refresh_token"].contains(entry.key) && node.entries.count == 1
            if isPlaceholder {
                note(node.origin, path, WrongText("a placeholder needs quotes", suggestion: "{\(entry.key)}"))
            } else {
                checkTemplate(entry.value, at: join(path, entry.key))
            }
        }
        for (index, item) in node.items.enumerated() { checkTemplate(item, at: "\(path)[\(index)]") }
    }

    private mutating func wrongType(_ node: YAMLNode, _ expected: String, at path: String, suggestion: String? = nil) {
        let found =
            switch node.content {
            case .mapping: "a mapping"
            case .sequence: "a list"
            case .scalar(let text, let isPlain):
                node.isNull ? "nothing" : text.utf8.count > 40 ? "other text" : isPlain ? escaped(text) : quoted(text)
            }
        note(node.origin, path, WrongText("expected \(expected), found \(found)", suggestion: suggestion))
    }

    private mutating func note(_ origin: ConfigurationOrigin, _ path: String, _ wrong: WrongText) {
        let message = path.isEmpty ? wrong.message : "\(escaped(path)): \(wrong.message)"
        problems.append(
            ConfigurationProblem(fileName: fileName, origin: origin, message: message, suggestion: wrong.suggestion))
    }
}

func join(_ path: String, _ key: String) -> String { path.isEmpty ? key : "\(path).\(key)" }

/// Without the quotes, control characters escaped all the same.
private func escaped(_ text: String) -> String { String(quoted(text).dropFirst().dropLast()) }
