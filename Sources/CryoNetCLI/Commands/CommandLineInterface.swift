// The list of commands, and which one a command line means.
// Domain: cold

enum CommandLineInterface {
    static let version = "0.1.0"

    static let commands: [Command] = [
        runCommand, proxyCommand, demoCommand, checkCommand, configCommand, schemaCommand, healthCommand, waitCommand,
        tokenCommand, sessionCommand, reloadCommand, drainCommand, explainCommand, testCommand, auditCommand, curlCommand, replayCommand,
        drillCommand, versionCommand,
    ]

    /// `words` without the program's name. Returns the exit status.
    static func run(_ words: [String]) -> Int32 {
        guard let first = words.first else {
            print(overview)
            return ExitStatus.usage
        }
        switch first {
        case "--help", "-h":
            print(overview)
            return ExitStatus.done
        case "help":
            guard words.count > 1, let command = find(words[1]) else {
                print(overview)
                return words.count > 1 ? ExitStatus.usage : ExitStatus.done
            }
            print(command.help)
            return ExitStatus.done
        case "--version": return run(["version"])
        default: break
        }
        guard let command = find(first) else {
            print(error: "unknown command \(first)\n\n\(overview)")
            return ExitStatus.usage
        }
        let rest = Array(words.dropFirst())
        if rest.contains("--help") || rest.contains("-h") {
            print(command.help)
            return ExitStatus.done
        }
        do {
            return try command.run(Arguments(rest, options: command.options, operandsMax: command.operandsMax))
        } catch {
            print(error: "\(error.message)\n\(command.usage)\nTry: cryonet \(command.name) --help")
            return ExitStatus.usage
        }
    }

    private static func find(_ name: String) -> Command? { commands.first { $0.name == name } }

    static var overview: String {
        var text = """
            cryonet \(version): a local HTTP gateway that injects tokens, refreshes them once for everybody,
            judges envelopes and audits every exchange.

            usage: cryonet COMMAND [options]

            Commands:

            """
        for command in commands {
            text += "  \(command.name)\(String(repeating: " ", count: 10 - command.name.count))\(command.summary)\n"
        }
        text += """

            Examples:
              cryonet demo
              cryonet proxy https://api.example.com --bearer env:TOKEN --success code=0
              cryonet run --config cryonet.yaml

            cryonet COMMAND --help tells more.
            """
        return text
    }
}
