// Owns the JSON Schema (draft 2020-12) of the configuration, made from the catalogue.
// Domain: cold

package enum ConfigurationSchema {
    /// JSON text, ending in a newline.
    package static func text() -> String {
        var members: [(String, SchemaValue)] = [
            ("$schema", .string("https://json-schema.org/draft/2020-12/schema")),
            ("$id", .string("urn:cryonet:configuration")),
            ("title", .string("CryoNet Gateway configuration")),
        ]
        members += schema(of: Catalogue.root)
        members.append(("$defs", .object([("condition", .object(schema(of: Catalogue.condition)))])))
        var text = ""
        SchemaValue.object(members).write(to: &text, indent: "")
        return text + "\n"
    }

    private static func schema(of section: Section) -> [(String, SchemaValue)] {
        var members: [(String, SchemaValue)] = [("type", .string("object"))]
        members.append(("properties", .object(section.keys.map { ($0.name, schema(of: $0)) })))
        members.append(("additionalProperties", .literal("false")))
        let required = section.keys.filter(\.isRequired).map { SchemaValue.string($0.name) }
        if !required.isEmpty { members.append(("required", .array(required))) }
        if !section.exactlyOne.isEmpty {
            members.append(("oneOf", .array(section.exactlyOne.map { .object([("required", .array([.string($0)]))]) })))
        }
        if !section.atMostOne.isEmpty {
            // No two of them.
            let pairs = section.atMostOne.enumerated().flatMap { index, first in
                section.atMostOne.dropFirst(index + 1).map { [first, $0] }
            }
            members.append(
                ("not", .object([("anyOf", .array(pairs.map { .object([("required", .array($0.map { .string($0) }))]) }))])))
        }
        return members
    }

    private static func schema(of key: CatalogueKey) -> SchemaValue {
        let units = key.units.map { " (\($0))" } ?? ""
        var members = [("description", SchemaValue.string(key.meaning + units))] + schema(of: key.shape)
        if let standard = key.standard, let value = json(standard, key.shape) { members.append(("default", value)) }
        return .object(members)
    }

    private static func schema(of shape: Shape) -> [(String, SchemaValue)] {
        switch shape {
        case .text(let rule):
            let type: SchemaValue = rule.allowsNumber ? .array([.string("string"), .string("number")]) : .string("string")
            return [("type", type)] + (rule.pattern.map { [("pattern", .string($0))] } ?? [])
        case .integer(let range):
            return [
                ("type", .string("integer")), ("minimum", .literal("\(range.lowerBound)")), ("maximum", .literal("\(range.upperBound)")),
            ]
        case .decimal(let range):
            return [
                ("type", .string("number")), ("minimum", .literal("\(Int(range.lowerBound))")),
                ("maximum", .literal("\(Int(range.upperBound))")),
            ]
        case .boolean: return [("type", .string("boolean"))]
        case .choice(let words): return [("enum", .array(words.map { .string($0) }))]
        case .scalar: return [("type", .array(["string", "number", "boolean", "null"].map { .string($0) }))]
        case .list(let items): return [("type", .string("array")), ("items", .object(schema(of: items)))]
        case .section(let section): return schema(of: section)
        case .map(let keys, let values):
            var members: [(String, SchemaValue)] = [("type", .string("object"))]
            if let pattern = keys.pattern { members.append(("propertyNames", .object([("pattern", .string(pattern))]))) }
            return members + [("additionalProperties", .object(schema(of: values)))]
        case .template: return []
        case .brief(let short, let section):
            return [("anyOf", .array([.object(schema(of: short)), .object(schema(of: section))]))]
        case .condition(let names):
            let reference = [("$ref", SchemaValue.string("#/$defs/condition"))]
            return names.isEmpty ? reference : [("anyOf", .array([.object(schema(of: .choice(names))), .object(reference)]))]
        }
    }

    /// A default, written as YAML in the catalogue, as JSON.
    private static func json(_ standard: String, _ shape: Shape) -> SchemaValue? {
        guard let node = YAMLDocument(Array(standard.utf8)).root else { return nil }
        return value(of: node)
    }

    private static func value(of node: YAMLNode) -> SchemaValue {
        switch node.content {
        case .mapping(let entries): .object(entries.map { ($0.key, value(of: $0.value)) })
        case .sequence(let items): .array(items.map(value))
        case .scalar(let text, let isPlain):
            node.boolean != nil || (isPlain && isJSONNumber(text)) ? .literal(text) : .string(text)
        }
    }
}

private enum SchemaValue {
    case object([(String, SchemaValue)])
    case array([SchemaValue])
    case string(String)
    case literal(String)

    func write(to text: inout String, indent: String) {
        switch self {
        case .literal(let literal): text += literal
        case .string(let string): text += quoted(string)
        case .array(let items):
            text += "["
            for (index, item) in items.enumerated() {
                if index > 0 { text += ", " }
                item.write(to: &text, indent: indent)
            }
            text += "]"
        case .object(let members):
            guard !members.isEmpty else { return text += "{}" }
            text += "{"
            for (index, member) in members.enumerated() {
                text += (index > 0 ? ",\n" : "\n") + indent + "  " + quoted(member.0) + ": "
                member.1.write(to: &text, indent: indent + "  ")
            }
            text += "\n" + indent + "}"
        }
    }
}
