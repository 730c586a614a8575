// test: runs the policies of a configuration over recorded answers, offline, and says where they judge otherwise than was recorded.
// Domain: cold

import CryoConfig
import CryoIO
import CryoJSON
import CryoPipeline
import CryoRecord
import Glibc

extension CommandLineInterface {
    static let testCommand = Command(
        name: "test", summary: "judge recorded answers by the policies of a configuration, offline", operands: "FILE...", operandsMax: 64,
        options: [
            Option(name: "--config", value: "FILE", help: "the configuration with the policies; default cryonet.yaml"),
            Option(name: "-c", value: "FILE", help: "the same"),
            Option(name: "--policy", value: "NAME", help: "judge all by this policy; default that of each record's route"),
            Option(name: "--json", value: nil, help: "one JSON line for each answer, and one for the sum"), StandardOutput.colourOption,
        ],
        examples: [
            "cryonet test audit.jsonl", "cryonet test -c new.yaml --json audit.jsonl.gz", "cryonet test --policy envelope page.har",
        ],
        notes: """
            FILE is an audit file, plain or gzip, or an HTTP archive whose name ends in .har. Only answers whose whole body was kept can be
            judged (audit.bodies: all keeps every body up to max_body_bytes); of an unwrapped answer the envelope is gone. An archive of
            another tool has no outcomes: its answers are judged, and none differs. An entry without a route has the first to its upstream.
            Exit status: 0 all as recorded, 1 some judged otherwise or a file that can't be read, 2 called wrongly.
            """
    ) { arguments throws(UsageError) in
        guard !arguments.operands.isEmpty else { throw UsageError(message: "the file with the recorded answers is missing") }
        let output = try StandardOutput(arguments)
        guard let loaded = AuditInput.configuration(arguments),
            let test = PolicyTest(loaded.configuration, policy: arguments.value("--policy"), output, isJSON: arguments.has("--json"))
        else { return ExitStatus.failed }
        var isWhole = true
        for file in arguments.operands { isWhole = test.run(file) && isWhole }
        test.printSum()
        return output.end(isWhole && test.differing == 0)
    }
}

private final class PolicyTest {
    /// A larger archive is not read.
    private static let archiveBytesMax = 256 << 20

    private let configuration: GatewayConfiguration
    private let policies: [String: PolicyPlan]
    private let named: String?
    private let output: StandardOutput
    private let isJSON: Bool
    private let scanner = JSONScanner()
    private var judged = 0
    private(set) var differing = 0
    private var skipped: [String: Int] = [:]

    /// nil after it was told why.
    init?(_ configuration: GatewayConfiguration, policy: String?, _ output: StandardOutput, isJSON: Bool) {
        var policies: [String: PolicyPlan] = [:]
        for settings in configuration.policies { policies[settings.name] = PolicyPlan(settings) }
        if let policy, policies[policy] == nil {
            print(error: "there is no policy \(PrintableText.text(policy))")
            return nil
        }
        self.configuration = configuration
        self.policies = policies
        named = policy
        self.output = output
        self.isJSON = isJSON
    }

    /// False when the file could not be read, which was told.
    func run(_ file: String) -> Bool {
        if file.hasSuffix(".har") {
            guard let archive = Self.archive(file), let lines = HARReading.lines(archive) else {
                print(error: "\(PrintableText.text(file)) is no HTTP archive that can be read")
                return false
            }
            lines.forEach(take)
            return true
        }
        return AuditSearch.everyBlock(file) { block in
            AuditSearch.everyLine(block) { line, _ in
                take(Array(line))
                return output.failure == nil
            }
        }
    }

    private static func archive(_ path: String) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 1 << 20)
        while bytes.count <= archiveBytesMax {
            let count = piece.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return count == 0 ? bytes : nil }
            bytes.append(contentsOf: piece[..<count])
        }
        return nil
    }

    // MARK: One record

    private func take(_ line: [UInt8]) {
        guard let record = RecordView(line) else { return }
        let recorded = record.steps.first { $0.step == "normalize" }?.outcome
        let status = UInt16(clamping: record.attempts.last?.status ?? record.status)
        guard let body = record.responseBody else { return skip("no body was kept") }
        if record.isResponseBodyCut { return skip("the body was cut") }
        if recorded == NormalizeOutcome.unwrapped.rawValue { return skip("unwrapped, the envelope was not kept") }
        if recorded == nil, !record.steps.isEmpty { return skip("no answer was judged") }
        let isCoded = record.responseField("content-encoding").map { $0 != "identity" } ?? false
        if isCoded, recorded == NormalizeOutcome.passedThrough.rawValue {
            return skip("the body was kept as it was coded")
        }
        guard 200..<300 ~= status else { return skip("the status is no 2xx, no policy looks inside") }
        let route = route(of: record)
        guard let name = named ?? route?.policy, let policy = policies[name] else { return skip("no policy") }
        let codes = configuration.tokens.first { $0.name == route?.token }?.refresh.onBusinessCodes ?? []
        let judgement = PolicyProbe.judge(
            body, status: status, contentType: record.responseField("content-type"), by: policy, refreshCodes: codes, scanner: scanner)
        judged += 1
        let differs = recorded.map { isOther(judgement, than: record, $0) } ?? false
        if differs { differing += 1 }
        if isJSON { printJSON(record, name, judgement, recorded, differs) } else { printText(record, name, judgement, recorded, differs) }
    }

    private func skip(_ cause: String) { skipped[cause, default: 0] += 1 }

    private func route(of record: RecordView) -> RouteSettings? {
        if let name = record.route { return configuration.routes.first { $0.name == name } }
        guard let target = record.target else { return nil }
        return configuration.routes.first { route in
            guard let url = configuration.upstreams.first(where: { $0.name == route.upstream })?.url else { return false }
            return target.hasPrefix(url.origin + url.basePath + "/")
        }
    }

    private func isOther(_ judgement: PolicyProbe.Judgement, than record: RecordView, _ recorded: String) -> Bool {
        // Passed on whole or in part, it is a success.
        let outcome = judgement.outcome == .unwrapped ? NormalizeOutcome.accepted : judgement.outcome
        if outcome.rawValue != recorded || judgement.code != record.businessCode { return true }
        // What ended otherwise, as by a refused refresh, has a status of its own.
        let ownReasons: [FailureReason] = [.businessRejected, .responseNotJSON, .responseTooLarge]
        let isOwn = record.failure.map { failure in ownReasons.contains { $0.rawValue == failure.reason } } ?? true
        return isOwn && Int(judgement.status) != record.status
    }

    // MARK: Printing

    private func printText(
        _ record: RecordView, _ policy: String, _ judgement: PolicyProbe.Judgement, _ recorded: String?, _ differs: Bool
    ) {
        func words(_ outcome: String, _ code: String?, _ status: Int) -> String {
            [outcome, code, "→ \(status)"].compactMap { $0 }.joined(separator: " ")
        }
        var text = "\(differs ? "!" : "=")  \(record.id)  \(record.method ?? "-") \(record.target ?? "-")  \(policy): "
        text += words(judgement.outcome.rawValue, judgement.code, Int(judgement.status))
        if let name = judgement.codeName { text += " \(name)" }
        if let message = judgement.message { text += " \"\(message)\"" }
        if differs { text += "; recorded: \(words(recorded ?? "-", record.businessCode, record.status))" }
        output.line(output.painted(PrintableText.text(text), differs ? .red : nil))
    }

    private func printJSON(
        _ record: RecordView, _ policy: String, _ judgement: PolicyProbe.Judgement, _ recorded: String?, _ differs: Bool
    ) {
        var writer = JSONWriter()
        func field(_ name: StaticString, _ value: String?) { if let value { writer.field(name, value) } else { writer.nullField(name) } }
        writer.beginObject()
        writer.field("id", record.id)
        field("method", record.method)
        field("target", record.target)
        writer.field("policy", policy)
        writer.field("differs", differs)
        writer.field("outcome", judgement.outcome.rawValue)
        field("reason", judgement.reason?.rawValue)
        writer.field("status", Int64(judgement.status))
        field("business_code", judgement.code)
        field("code_name", judgement.codeName)
        field("message", judgement.message)
        if let recorded {
            writer.key("recorded")
            writer.beginObject()
            writer.field("outcome", recorded)
            writer.field("status", Int64(record.status))
            field("business_code", record.businessCode)
            writer.endObject()
        } else {
            writer.nullField("recorded")
        }
        writer.endObject()
        output.line(writer.bytes)
    }

    func printSum() {
        let causes = skipped.sorted { $0.key < $1.key }
        guard isJSON else {
            output.line("\(judged) judged, \(differing) otherwise than recorded")
            for (cause, count) in causes { output.line("\(count) not judged: \(cause)") }
            return
        }
        var writer = JSONWriter()
        writer.beginObject()
        writer.field("judged", Int64(judged))
        writer.field("differing", Int64(differing))
        writer.key("skipped")
        writer.beginObject()
        for (cause, count) in causes {
            writer.key(cause)
            writer.integer(Int64(count))
        }
        writer.endObject()
        writer.endObject()
        output.line(writer.bytes)
    }
}
