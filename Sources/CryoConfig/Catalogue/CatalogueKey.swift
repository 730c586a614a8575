// Owns what the catalogue says about one key: its shape, default and meaning.
// Domain: pure

package struct CatalogueKey: Sendable {
    package var name: String
    package var shape: Shape
    /// As YAML; nil: absent means off, or the key is required.
    package var standard: String?
    /// One line.
    package var meaning: String
    package var units: String?
    /// As YAML, for documentation.
    package var example: String
    package var isRequired: Bool

    package init(
        _ name: String, _ shape: Shape, standard: String? = nil, units: String? = nil, required isRequired: Bool = false,
        example: String? = nil, _ meaning: String
    ) {
        self.name = name
        self.shape = shape
        self.standard = standard
        self.units = units
        self.isRequired = isRequired
        self.example = example ?? standard ?? ""
        self.meaning = meaning
    }
}

package struct Section: Sendable {
    package var keys: [CatalogueKey]
    /// Exactly one of these keys must be there.
    package var exactlyOne: [String] = []
    /// Not more than one of these keys may be there.
    package var atMostOne: [String] = []
    /// Keys of the design that do not exist yet: named apart from slips.
    package var notYet: [String] = []
    /// Keys whose defaults hold only while the first of `atMostOne` is used, or none of them.
    package var onlyWithFirst: [String] = []

    package init(
        _ keys: [CatalogueKey], exactlyOne: [String] = [], atMostOne: [String] = [], notYet: [String] = [], onlyWithFirst: [String] = []
    ) {
        self.keys = keys
        self.exactlyOne = exactlyOne
        self.atMostOne = atMostOne
        self.notYet = notYet
        self.onlyWithFirst = onlyWithFirst
    }

    package subscript(name: String) -> CatalogueKey? { keys.first { $0.name == name } }
}

package enum Shape: Sendable {
    case text(TextRule)
    case integer(ClosedRange<Int64>)
    case decimal(ClosedRange<Double>)
    case boolean
    case choice([String])
    /// Text, number, true, false or null, compared as such.
    case scalar
    indirect case list(Shape)
    case section(Section)
    /// Keys are the user's: names, header names, codes.
    indirect case map(keys: TextRule, values: Shape)
    /// Any value, kept as written.
    case template
    /// A scalar that stands for the section's most wanted form, or the section itself.
    indirect case brief(Shape, Section)
    /// A condition (`Catalogue.condition`) beyond the first place where one may stand, so it is not descended into; or one of these names.
    case condition(names: [String])
}

extension Catalogue {
    /// What is wrong with a key's own default and example; for the test of the catalogue.
    package static func problems(of key: CatalogueKey) -> [String] {
        [key.standard, key.example].compactMap(\.self).flatMap { text -> [String] in
            guard let node = YAMLDocument(Array(text.utf8)).root else { return ["not readable: \(text)"] }
            var check = CatalogueCheck(fileName: key.name)
            check.check(node, key.shape, at: key.name)
            return check.problems.map(\.description)
        }
    }
}
