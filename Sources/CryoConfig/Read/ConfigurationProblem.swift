// Owns how a problem of a configuration is told: place, message, suggestion.
// Domain: cold

package struct ConfigurationProblem: Sendable, Equatable, CustomStringConvertible {
    package var fileName: String
    package var origin: ConfigurationOrigin
    package var message: String
    /// What was probably meant.
    package var suggestion: String?

    /// `file:line:col: message, did you mean "x"`; a flag or an environment variable stands in the place of the file.
    package var description: String {
        let place =
            switch origin {
            case .file(let mark): "\(fileName):\(mark.line):\(mark.column)"
            case .flag(let name): name
            case .environment(let name): name
            }
        guard let suggestion else { return "\(place): \(message)" }
        return "\(place): \(message), did you mean \(quoted(suggestion))"
    }

    /// Flags, then the environment, then the file from top to bottom.
    var order: (Int, YAMLMark) {
        switch origin {
        case .flag: (0, YAMLMark(line: 0, column: 0))
        case .environment: (1, YAMLMark(line: 0, column: 0))
        case .file(let mark): (2, mark)
        }
    }
}

/// Everything that is wrong with a configuration; never empty.
package struct ConfigurationProblems: Error, Sendable, Equatable, CustomStringConvertible {
    package var problems: [ConfigurationProblem]

    /// One line each.
    package var description: String { problems.map(\.description).joined(separator: "\n") }
}

/// Text as it stands between quotes in a message or in JSON and YAML: control characters cannot reach a terminal.
package func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
        switch scalar {
        case "\"": result += "\\\""
        case "\\": result += "\\\\"
        case "\n": result += "\\n"
        case "\r": result += "\\r"
        case "\t": result += "\\t"
        default:
            if scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value) {
                let digits = String(scalar.value, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
    }
    return result + "\""
}
