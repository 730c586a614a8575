// What every command is: a name, its help, and a body that returns the exit status.
// Domain: cold

import Glibc

/// 0: done. 1: it did not work. 2: it was called wrongly.
enum ExitStatus {
    static let done: Int32 = 0
    static let failed: Int32 = 1
    static let usage: Int32 = 2
}

struct Command: Sendable {
    let name: String
    /// One line for the list of commands.
    let summary: String
    /// Operands as written in the usage line.
    let operands: String
    let operandsMax: Int
    let options: [Option]
    let examples: [String]
    /// What the help says after the examples.
    var notes = ""
    let run: @Sendable (Arguments) throws(UsageError) -> Int32

    var usage: String { "usage: cryonet \(name)\(options.isEmpty ? "" : " [options]")\(operands.isEmpty ? "" : " \(operands)")" }

    var help: String {
        var text = "\(summary)\n\n\(usage)\n"
        if !options.isEmpty {
            text += "\nOptions:\n"
            let optionWords = options.map { option in option.value.map { "\(option.name) \($0)" } ?? option.name }
            let width = (optionWords.map(\.count).max() ?? 0) + 2
            for (option, word) in zip(options, optionWords) {
                text += "  \(word)\(String(repeating: " ", count: width - word.count))\(option.help)\n"
            }
        }
        if !examples.isEmpty {
            text += "\nExamples:\n"
            for example in examples { text += "  \(example)\n" }
        }
        if !notes.isEmpty { text += "\n\(notes)\n" }
        return text
    }
}

/// Writes a line to standard error.
func printToError(_ line: String) {
    var bytes = Array((line + "\n").utf8)[...]
    while !bytes.isEmpty {
        let count = bytes.withUnsafeBytes { write(2, $0.baseAddress, $0.count) }
        if count <= 0 { return }
        bytes = bytes.dropFirst(count)
    }
}

func print(error message: String) { printToError("cryonet: \(message)") }

func environment(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
