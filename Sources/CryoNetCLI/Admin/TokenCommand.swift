// token, session: what the admin side knows of tokens and logins, and the calls that change them.
// Domain: cold

import CryoConfig
import Glibc

extension CommandLineInterface {
    static let tokenCommand = Command(
        name: "token", summary: "show, set, refresh and clear the tokens of a running gateway",
        operands: "list | status NAME | set NAME | refresh NAME | clear NAME", operandsMax: 2,
        options: AdminClient.options + [Option(name: "--expires-in", value: "SECONDS", help: "set: the token's life from now on")],
        examples: [
            "cryonet token list", "cryonet token status app --json", "pass show api/token | cryonet token set app --expires-in 3600",
            "printf '%s\\n%s\\n' \"$TOKEN\" \"$REFRESH_TOKEN\" | cryonet token set app", "cryonet token refresh app",
        ]
    ) { arguments throws(UsageError) in
        let (verb, name) = try words(arguments, verbs: ["list"], verbsWithName: ["status", "set", "refresh", "clear"])
        guard let client = try AdminClient.find(arguments) else { return ExitStatus.failed }
        let path = "/api/tokens/\(AdminClient.segment(name))"
        let answer: AdminAnswer?
        switch verb {
        case "list": answer = client.ask("GET", "/api/tokens")
        case "set":
            guard let body = SecretInput.login(expiresIn: arguments.value("--expires-in")) else { return ExitStatus.failed }
            answer = client.ask("PUT", path, body: body)
        case "status": answer = client.ask("GET", path)
        default: answer = client.ask("POST", "\(path)/\(verb)")
        }
        guard let answer else { return ExitStatus.failed }
        if arguments.has("--json") {
            print(answer.text, terminator: "")
        } else if let json = answer.json {
            printTokens(verb == "list" ? json["tokens"]?.items ?? [] : [json])
        }
        return ExitStatus.done
    }

    static let sessionCommand = Command(
        name: "session", summary: "show, begin and end the logins of a running gateway",
        operands: "list | login NAME | logout NAME", operandsMax: 2,
        options: AdminClient.options + [
            Option(name: "--expires-in", value: "SECONDS", help: "login: the token's life from now on"),
            Option(name: "--revision", value: "UUID", help: "logout: only if the login still is this one"),
        ],
        examples: [
            "cryonet session list", "cryonet session login app < token.txt",
            "echo '{\"tokens\":{\"api\":{\"token\":\"…\"},\"files\":{\"token\":\"…\"}}}' | cryonet session login user",
            "cryonet session logout app",
        ]
    ) { arguments throws(UsageError) in
        let (verb, name) = try words(arguments, verbs: ["list"], verbsWithName: ["login", "logout"])
        guard let client = try AdminClient.find(arguments) else { return ExitStatus.failed }
        let answer: AdminAnswer?
        switch verb {
        case "list": answer = client.ask("GET", "/api/sessions")
        case "login":
            guard let body = SecretInput.login(expiresIn: arguments.value("--expires-in")) else { return ExitStatus.failed }
            answer = client.ask("POST", "/api/sessions/\(AdminClient.segment(name))/login", body: body)
        default:
            let body = arguments.value("--revision").map { Array("{\"revision\":\(quoted($0))}".utf8) } ?? []
            answer = client.ask("POST", "/api/sessions/\(AdminClient.segment(name))/logout", body: body)
        }
        guard let answer else { return ExitStatus.failed }
        if arguments.has("--json") {
            print(answer.text, terminator: "")
        } else if let json = answer.json {
            printSessions(verb == "list" ? json["sessions"]?.items ?? [] : [json])
        }
        return ExitStatus.done
    }

    /// The verb, and the name that some verbs need.
    private static func words(
        _ arguments: Arguments, verbs: [String], verbsWithName: [String]
    ) throws(UsageError) -> (verb: String, name: String) {
        guard let verb = arguments.operands.first else {
            throw UsageError(message: "what is to be done is missing: \((verbs + verbsWithName).joined(separator: ", "))")
        }
        let name = arguments.operands.dropFirst().first
        if verbs.contains(verb) {
            if let name { throw UsageError(message: "unexpected argument \(name)") }
            return (verb, "")
        }
        guard verbsWithName.contains(verb) else { throw UsageError(message: "unknown word \(verb)") }
        guard let name, !name.isEmpty else { throw UsageError(message: "\(verb) needs a name") }
        return (verb, name)
    }

    private static func printTokens(_ tokens: [YAMLNode]) {
        Table.print(
            ["TOKEN", "SOURCE", "STATE", "VERSION", "EXPIRES", "CHANGED", "SESSION", "ROUTES"],
            tokens.map { token in
                [
                    text(token["name"]), text(token["source"]), text(token["state"]), text(token["version"]), text(token["expiresAt"]),
                    text(token["changedAt"]), "\(text(token["session"]?["name"])) \(text(token["session"]?["state"]))",
                    (token["routes"]?.items ?? []).map { text($0) }.joined(separator: ","),
                ]
            })
    }

    private static func printSessions(_ sessions: [YAMLNode]) {
        Table.print(
            ["SESSION", "STATE", "REVISION", "TOKENS"],
            sessions.map { session in
                [
                    text(session["name"]), text(session["state"]), text(session["revision"]),
                    (session["tokens"]?.items ?? []).map { text($0) }.joined(separator: ","),
                ]
            })
    }

    private static func text(_ node: YAMLNode?) -> String { node.flatMap { $0.isNull ? nil : $0.text } ?? "-" }
}
