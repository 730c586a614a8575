// curl, replay: a recorded request once more, as a command to look at or sent at once.
// Domain: cold

import CryoConfig
import CryoIO
import CryoJSON
import CryoPipeline
import CryoRecord
import CryoUpstream
import Glibc

private let gatewayOption = Option(
    name: "--gateway", value: "URL", help: "where the gateway listens, http://127.0.0.1:8080 or unix:PATH; default: as configured")
private let readyOption = Option(name: "--ready-file", value: "PATH", help: "find the gateway by its ready file")

extension CommandLineInterface {
    static let curlCommand = Command(
        name: "curl", summary: "print a recorded request as a curl command", operands: "ID", operandsMax: 1,
        options: AuditInput.options + [
            gatewayOption, readyOption, Option(name: "--direct", value: nil, help: "to the upstream itself, with the token as $TOKEN"),
            Option(name: "--reveal", value: nil, help: "--direct with the token itself, where the configuration says it"),
        ],
        examples: [
            "cryonet curl 01JDX0000000000000000000A1", "cryonet curl --direct -c cryonet.yaml 01JDX0000000000000000000A1",
            "cryonet curl 0A1B | sh",
        ],
        notes: "The command is quoted for a POSIX shell. Values that were taken out of the record are variables: $TOKEN, $COOKIE, $SECRET."
    ) { arguments throws(UsageError) in
        guard let id = arguments.operands.first else { throw UsageError(message: "the id of a record is missing") }
        if arguments.has("--reveal"), !arguments.has("--direct") {
            throw UsageError(message: "--reveal goes with --direct: the gateway injects the token itself")
        }
        guard let (record, request, loaded) = try recorded(id, arguments) else { return ExitStatus.failed }
        var problems: [String] = []
        let destination: RequestDestination
        if arguments.has("--direct") {
            guard let configuration = loaded ?? AuditInput.configuration(arguments) else { return ExitStatus.failed }
            guard
                let upstream = RequestDestination.upstream(
                    of: record, in: configuration.configuration, injects: true, reveals: arguments.has("--reveal"), problems: &problems)
            else {
                for problem in problems { print(error: problem) }
                return ExitStatus.failed
            }
            destination = upstream
        } else {
            guard let address = try gateway(arguments, loaded) else { return ExitStatus.failed }
            destination = address.destination(request)
        }
        let command = CurlCommand(request, to: destination)
        for note in command.notes + problems { printToError("cryonet: note: \(PrintableText.text(note))") }
        print(String(decoding: command.text, as: UTF8.self))
        return ExitStatus.done
    }

    static let replayCommand = Command(
        name: "replay", summary: "send a recorded request once more, through the gateway or to the upstream itself", operands: "ID",
        operandsMax: 1,
        options: AuditInput.options + [
            gatewayOption, readyOption,
            Option(name: "--verbatim", value: nil, help: "to the upstream itself, with the recorded fields and no policy"),
            Option(name: "--header", value: "LINE", help: "'Name: value' in place of the recorded field; may be repeated"),
            Option(name: "--ca", value: "FILE", help: "authority of the other side's certificate"),
            Option(name: "--timeout-s", value: "N", help: "how long to wait; default 60"),
            Option(name: "--json", value: nil, help: "print status and body as JSON"),
        ],
        examples: [
            "cryonet replay 01JDX0000000000000000000A1",
            "cryonet replay --verbatim --header \"Authorization: Bearer $TOKEN\" 01JDX0000000000000000000A1",
        ],
        notes: """
            Only what the record keeps whole is sent: `audit.bodies: all` keeps bodies of successes too. What was taken out of the record is never
            sent as it stands there: name the value by --header. The gateway injects its token itself. Exit status: 0 for an answer below 400.
            """
    ) { arguments throws(UsageError) in
        guard let id = arguments.operands.first else { throw UsageError(message: "the id of a record is missing") }
        guard let seconds = UInt32(arguments.value("--timeout-s") ?? "60"), (1...3600).contains(seconds) else {
            throw UsageError(message: "--timeout-s needs a positive number of seconds")
        }
        let replacements = try replacements(arguments)
        guard let (record, request, loaded) = try recorded(id, arguments) else { return ExitStatus.failed }
        var destination: RequestDestination
        if arguments.has("--verbatim") {
            guard let configuration = loaded ?? AuditInput.configuration(arguments) else { return ExitStatus.failed }
            var problems: [String] = []
            let upstream = RequestDestination.upstream(
                of: record, in: configuration.configuration, injects: false, reveals: false, problems: &problems)
            for problem in problems { print(error: problem) }
            guard let upstream else { return ExitStatus.failed }
            destination = upstream
        } else {
            guard let address = try gateway(arguments, loaded) else { return ExitStatus.failed }
            destination = address.destination(request)
        }
        destination.fields += replacements.map { (name: $0.name, value: [.text($0.value)]) }
        return Replay(id: record.id, request: request, destination: destination).run(
            caFile: arguments.value("--ca"), seconds: seconds, isJSON: arguments.has("--json"))
    }

    private static func replacements(_ arguments: Arguments) throws(UsageError) -> [RecordedField] {
        var fields: [RecordedField] = []
        for line in arguments.all("--header") {
            guard let colon = line.firstIndex(of: ":"), colon > line.startIndex else {
                throw UsageError(message: "--header needs 'Name: value'")
            }
            fields.append(RecordedField(name: String(line[..<colon]), value: String(line[line.index(after: colon)...].drop { $0 == " " })))
        }
        return fields
    }

    /// nil after it was told what is missing.
    private static func recorded(
        _ id: String, _ arguments: Arguments
    ) throws(UsageError) -> (RecordView, RecordedRequest, LoadedConfiguration?)? {
        guard let input = AuditInput.find(arguments), let record = input.record(id) else { return nil }
        guard let request = RecordedRequest(record) else {
            print(error: "record \(PrintableText.text(record.id)) holds no request that could be sent: a malformed head, or a tunnel")
            return nil
        }
        // With --file the configuration is only read where it was named.
        if input.loaded == nil, AuditInput.configurationFile(arguments) != nil {
            guard let loaded = AuditInput.configuration(arguments) else { return nil }
            return (record, request, loaded)
        }
        return (record, request, input.loaded)
    }

    private static func gateway(_ arguments: Arguments, _ loaded: LoadedConfiguration?) throws(UsageError) -> GatewayAddress? {
        if let text = arguments.value("--gateway") {
            guard let address = GatewayAddress(text) else { throw UsageError(message: "--gateway \(text): http://HOST:PORT or unix:PATH") }
            return address
        }
        if let path = arguments.value("--ready-file") {
            let isTLS = loaded?.configuration.listen.tls != nil
            if let listen = ReadyFile.listen(path), let address = GatewayAddress(isTLS ? "https://\(listen)" : listen) { return address }
            print(error: "\(path) names no address: the gateway does not run")
            return nil
        }
        guard let loaded else { return GatewayAddress("http://127.0.0.1:8080") }
        if let address = GatewayAddress(loaded.configuration.listen) { return address }
        print(error: "the configured port is chosen by the system: name the gateway by --gateway URL or --ready-file PATH")
        return nil
    }
}

/// Sends a recorded request and shows what came back.
private struct Replay {
    let id: String
    let request: RecordedRequest
    let destination: RequestDestination

    func run(caFile: String?, seconds: UInt32, isJSON: Bool) -> Int32 {
        let replaced = Set(destination.fields.map { $0.name.lowercased() })
        let hindrances = request.obstacles.filter { hinders($0, replaced) }
        guard request.target != "*" else {
            print(error: "\(PrintableText.text(id)) asked the server itself (\(request.method) *): cryonet curl writes a command for that")
            return ExitStatus.failed
        }
        guard hindrances.isEmpty else {
            for obstacle in hindrances { print(error: "\(PrintableText.text(id)) can't be replayed: \(PrintableText.text(obstacle.text))") }
            return ExitStatus.failed
        }
        // Fields without a value are libcurl's own, which are not sent.
        let own = ["accept", "content-type"].filter { name in
            !replaced.contains(name) && !request.fields.contains { $0.name.lowercased() == name }
        }
        var headers: [(name: String, value: String)] = own.map { ($0, "") }
        if let host = destination.host { headers.append(("Host", host)) }
        for field in request.fields where !replaced.contains(field.name.lowercased()) && !isLeftToGateway(field) {
            // The answer is to be read.
            if field.name.lowercased() == "accept-encoding" { continue }
            headers.append((field.name, field.value))
        }
        for field in destination.fields {
            let value = field.value.map { if case .text(let text) = $0 { text } else { "" } }.joined()
            headers.append((field.name, value))
        }
        // The new exchange can be found by it.
        if !destination.isDirect { headers.append(("X-Request-Id", "replay-\(id)")) }
        let result = BlockingHTTPClient.perform(
            method: request.method, url: destination.base + CurlCommand.target(request, destination), headers: headers,
            body: request.body ?? [],
            timeoutMilliseconds: seconds * 1000, caFile: caFile, unixSocket: destination.unixSocket)
        switch result {
        case .success(let answer): return show(answer, isJSON)
        case .failure(let failure):
            print(error: "no answer: \(failure)")
            return ExitStatus.failed
        }
    }

    /// What a record lacks, and a value in the place of which a mask would be sent.
    private func hinders(_ obstacle: RecordedRequest.Obstacle, _ replaced: Set<String>) -> Bool {
        guard case .maskedField(let name) = obstacle else { return true }
        return !replaced.contains(name.lowercased()) && !isLeftToGateway(RecordedField(name: name, value: RecordView.mask))
    }

    /// The gateway has a token of its own; a client's was taken out of the record.
    private func isLeftToGateway(_ field: RecordedField) -> Bool {
        !destination.isDirect && field.name.lowercased() == "authorization" && RecordedRequest.isMasked(field.value)
    }

    private func show(_ answer: HTTPAnswer, _ isJSON: Bool) -> Int32 {
        if isJSON {
            var writer = JSONWriter()
            writer.beginObject()
            writer.field("status", Int64(answer.status))
            answer.body.withUnsafeBytes { writer.field("body", bytes: $0) }
            writer.endObject()
            print(String(decoding: writer.bytes, as: UTF8.self))
        } else {
            printToError("\(answer.status)")
            let text = String(decoding: answer.body, as: UTF8.self)
            // A terminal is shown text, a pipe gets the bytes.
            if isatty(1) == 1 { print(PrintableText.text(text, keepsLines: true)) } else { writeAll(answer.body) }
        }
        return answer.status < 400 ? ExitStatus.done : ExitStatus.failed
    }

    private func writeAll(_ bytes: [UInt8]) {
        var start = 0
        while start < bytes.count {
            let count = bytes.withUnsafeBytes { write(1, $0.baseAddress?.advanced(by: start), $0.count - start) }
            if count < 0, errno == EINTR { continue }
            if count <= 0 { return }
            start += count
        }
    }
}
