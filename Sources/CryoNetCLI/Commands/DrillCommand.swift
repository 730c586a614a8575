// drill: plays the faults of a login against the demo upstream and tells what held.
// Domain: cold

import CryoGateway
import Glibc

extension CommandLineInterface {
    static let drillCommand = Command(
        name: "drill", summary: "play faults of the login against a demo API and check what must hold",
        operands: "[\((Drill.allCases.map(\.rawValue) + ["all"]).joined(separator: "|"))]", operandsMax: 1,
        options: [
            Option(name: "--json", value: nil, help: "print the checks as JSON"),
            Option(name: "--redis", value: "ADDRESS", help: "rotate-race with two gateways that share a login in this Redis"),
        ],
        examples: ["cryonet drill", "cryonet drill idp-down --json", "cryonet drill rotate-race --redis 127.0.0.1:6379"]
    ) { arguments throws(UsageError) in
        var drills = Drill.allCases
        if let name = arguments.operands.first, name != "all" {
            guard let drill = Drill(rawValue: name) else { throw UsageError(message: "there is no drill \(name)") }
            drills = [drill]
        }
        do throws(GatewayError) {
            var reports: [DrillReport] = []
            for drill in drills { reports.append(try drill.run(redis: arguments.value("--redis"))) }
            print(arguments.has("--json") ? DrillReport.json(of: reports) : DrillReport.table(of: reports), terminator: "")
            return reports.allSatisfy(\.isPassed) ? ExitStatus.done : ExitStatus.failed
        } catch {
            print(error: error.description)
            return ExitStatus.failed
        }
    }
}
