// wait, reload, drain: the life of a running gateway, from outside.
// Domain: cold

import CryoConfig
import CryoIO
import Glibc

extension CommandLineInterface {
    private static let pollMicroseconds: UInt32 = 100_000

    static let waitCommand = Command(
        name: "wait", summary: "wait until a gateway is ready: started, with its tokens and its audit", operands: "", operandsMax: 0,
        options: AdminClient.options.filter { $0.name != "--json" } + [
            Option(name: "--timeout-s", value: "N", help: "how long to wait; default 30")
        ],
        examples: ["cryonet run --config cryonet.yaml & cryonet wait --admin http://127.0.0.1:8081 && npm start"]
    ) { arguments throws(UsageError) in
        guard let seconds = UInt64(arguments.value("--timeout-s") ?? "30"), (1...86_400).contains(seconds) else {
            throw UsageError(message: "--timeout-s needs a positive number of seconds")
        }
        let end = Clock.monotonicNanoseconds() + seconds * 1_000_000_000
        var cause = "no running gateway with an admin side found"
        while Clock.monotonicNanoseconds() < end {
            if let client = try probe(arguments) {
                do throws(SystemError) {
                    let answer = try client.call("GET", "/readyz", seconds: 3)
                    if answer.status == 200 {
                        print("ready")
                        return ExitStatus.done
                    }
                    cause = "not ready: \(answer.text.filter { !$0.isNewline })"
                } catch {
                    cause = "the admin side can't be reached: \(error)"
                }
            }
            usleep(pollMicroseconds)
        }
        print(error: "\(cause) within \(seconds) s")
        return ExitStatus.failed
    }

    /// A gateway that is yet to come has no file: that is no error as long as there is time. Readiness needs no key.
    private static func probe(_ arguments: Arguments) throws(UsageError) -> AdminClient? {
        if let address = arguments.value("--admin") {
            guard let client = AdminClient(address: address, key: nil) else {
                throw UsageError(message: "\(address) is no http URL with a port, and no unix:PATH")
            }
            return client
        }
        if let path = arguments.value("--ready-file") {
            return AdminKeyFile.read(AdminKeyFile.beside(path)).flatMap { AdminClient(address: $0.address, key: nil) }
        }
        let running = AdminKeyFile.running()
        return running.count == 1 ? AdminClient(address: running[0].address, key: nil) : nil
    }

    static let reloadCommand = life("reload", "make a running gateway read its configuration again", "/api/reload", "reloaded")
    static let drainCommand = life("drain", "make a running gateway end: open exchanges first", "/api/drain", "draining")

    private static func life(_ name: String, _ summary: String, _ path: String, _ word: String) -> Command {
        Command(
            name: name, summary: summary, operands: "", operandsMax: 0, options: AdminClient.options,
            examples: ["cryonet \(name)", "cryonet \(name) --admin http://127.0.0.1:8081 --key env:ADMIN_KEY"]
        ) { arguments throws(UsageError) in
            guard let client = try AdminClient.find(arguments) else { return ExitStatus.failed }
            guard let answer = client.ask("POST", path) else { return ExitStatus.failed }
            if arguments.has("--json") { print(answer.text, terminator: "") } else { print(word) }
            for note in answer.json?["needsRestart"]?.items ?? [] { printToError(note.text ?? "") }
            return ExitStatus.done
        }
    }
}
