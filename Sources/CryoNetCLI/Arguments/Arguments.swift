// The words of a command line, checked against what a command accepts.
// Domain: cold

/// One option of a command. `value` names what follows it; nil is a flag.
struct Option: Sendable {
    let name: String
    let value: String?
    let help: String
}

struct UsageError: Error {
    let message: String
}

/// Options may be written `--name value` or `--name=value`; everything after `--` is an operand.
struct Arguments {
    private var values: [String: [String]] = [:]
    private(set) var operands: [String] = []

    init(_ words: [String], options: [Option], operandsMax: Int) throws(UsageError) {
        var index = 0
        var onlyOperands = false
        while index < words.count {
            let word = words[index]
            index += 1
            if onlyOperands || !word.hasPrefix("-") || word == "-" {
                operands.append(word)
                continue
            }
            if word == "--" {
                onlyOperands = true
                continue
            }
            let name = String(word.prefix { $0 != "=" })
            guard let option = options.first(where: { $0.name == name }) else { throw UsageError(message: "unknown option \(name)") }
            if option.value == nil {
                guard name == word else { throw UsageError(message: "\(name) takes no value") }
                values[name, default: []].append("")
            } else if name != word {
                values[name, default: []].append(String(word.dropFirst(name.count + 1)))
            } else if index < words.count {
                values[name, default: []].append(words[index])
                index += 1
            } else {
                throw UsageError(message: "\(name) needs a value")
            }
        }
        if operands.count > operandsMax { throw UsageError(message: "unexpected argument \(operands[operandsMax])") }
    }

    func has(_ name: String) -> Bool { values[name] != nil }
    func value(_ name: String) -> String? { values[name]?.last }
    func all(_ name: String) -> [String] { values[name] ?? [] }
}
