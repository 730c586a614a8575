// Owns values said outside the file: flags and `CRYONET_*` variables, merged in front of the check.
// Domain: cold

package struct ConfigurationOverride: Sendable {
    /// Dotted path of a key outside maps and lists of sections, such as `listen.address`.
    package var path: String
    package var value: String
    /// The option as problems and origins name it, such as `--listen`.
    package var flag: String

    package init(path: String, value: String, flag: String) {
        self.path = path
        self.value = value
        self.flag = flag
    }
}

extension YAMLNode {
    /// Flag > environment > file. A variable that is set but empty counts as unset.
    mutating func apply(
        _ overrides: [ConfigurationOverride], environment: (String) -> String?, fileName: String
    ) -> [ConfigurationProblem] {
        for (path, key) in Catalogue.settable {
            let name = Catalogue.environmentName(of: path)
            guard let text = environment(name), !text.isEmpty else { continue }
            set(path[...], to: scalarOrList(text, key.shape, .environment(name: name)))
        }
        var problems: [ConfigurationProblem] = []
        for override in overrides {
            let origin = ConfigurationOrigin.flag(override.flag)
            guard let (path, key) = Catalogue.settable.first(where: { $0.path.joined(separator: ".") == override.path }) else {
                let nearest = suggestion(for: override.path, among: Catalogue.settable.map { $0.path.joined(separator: ".") })
                let message = "\(quoted(override.path)) is no key that can be set outside the file"
                problems.append(ConfigurationProblem(fileName: fileName, origin: origin, message: message, suggestion: nearest))
                continue
            }
            set(path[...], to: scalarOrList(override.value, key.shape, origin))
        }
        return problems
    }
}

/// A list is written with commas.
private func scalarOrList(_ text: String, _ shape: Shape, _ origin: ConfigurationOrigin) -> YAMLNode {
    guard case .list = shape else { return YAMLNode(.scalar(text: text, isPlain: true), origin) }
    let items = text.split(separator: ",").map { part in
        YAMLNode(.scalar(text: String(part.drop { $0 == " " }), isPlain: true), origin)
    }
    return YAMLNode(.sequence(items), origin)
}
