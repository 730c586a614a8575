// A token that a command prints.
// Domain: cold (called on the token's own queue)

import CryoIO
import CryoPipeline
import Glibc

struct ExecTokenProducer: TokenProducer {
    let settings: ExecSettings
    let lifetime: TokenLifetime
    let timeoutMilliseconds: UInt32

    var canIssue: Bool { true }

    /// The gateway's environment holds secrets of its own: a command sees these two, and what it is given.
    private static let inherited = ["PATH", "HOME"]

    func produce(_ current: Credential?) -> SourceResult {
        let now = Clock.unixSeconds()
        var secrets = [current?.token].compactMap(\.self)
        let environment: [(name: String, value: String)]
        do throws(SourceTrouble) {
            environment = try self.environment(&secrets)
        } catch {
            return .trouble(error)
        }
        let run = CommandRun(command: settings.command, environment: environment, timeoutMilliseconds: timeoutMilliseconds)
        let answer = judge(run.run(), secrets: secrets)
        switch answer.flatMap({ lifetime.issued($0.token, told: $0.told, now: now, random: .random(in: 0...UInt64.max)) }) {
        case .failure(let trouble): return .trouble(trouble)
        case .success(let new):
            if let current, current.token.matches(new.credential.token) { return .nothingNewer(.unchanged) }
            return .token(new, .issued)
        }
    }

    private func judge(_ report: CommandRun.Report, secrets: [Secret]) -> Result<CommandAnswer, SourceTrouble> {
        switch report.end {
        case .exited(0): return CommandAnswer.read(report.output)
        case .exited(let code): return .failure(SourceTrouble(.commandFailed, told("the command ended with \(code)", report, secrets)))
        case .signalled(let signal):
            return .failure(SourceTrouble(.commandKilled, told("the command was ended by signal \(signal)", report, secrets)))
        case .timedOut:
            let text = "the command took longer than \(timeoutMilliseconds) ms and was killed"
            return .failure(SourceTrouble(.commandTimedOut, told(text, report, secrets)))
        case .tooMuchOutput:
            let text = "the command printed more than \(CommandRun.outputBytesMax) bytes and was killed"
            return .failure(SourceTrouble(.commandOutputTooLarge, text))
        case .notStarted(let error): return .failure(SourceTrouble(.commandNotStarted, "the command can't be started: \(error)"))
        }
    }

    private func told(_ text: String, _ report: CommandRun.Report, _ secrets: [Secret]) -> String {
        CommandErrors.excerpt(of: report.errors, secrets: secrets).map { "\(text): \($0)" } ?? text
    }

    private func environment(_ secrets: inout [Secret]) throws(SourceTrouble) -> [(name: String, value: String)] {
        var environment = Self.inherited.filter { name in !settings.environment.contains { $0.name == name } }
            .compactMap { name in getenv(name).map { (name: name, value: String(cString: $0)) } }
        for variable in settings.environment {
            let value = try TemplateValues().fill(variable.value)
            if !TemplateText(variable.value).isLiteral { secrets.append(Secret(value)) }
            environment.append((name: variable.name, value: String(decoding: value, as: UTF8.self)))
        }
        return environment
    }
}
