// drill: plays the faults of a login against the demo upstream, or a route that is marked for it, and tells what held.
// Domain: cold

import CryoConfig
import CryoGateway
import Glibc

extension CommandLineInterface {
    static let drillCommand = Command(
        name: "drill", summary: "play faults of the login against a demo API, or a marked route, and check what must hold",
        operands: "[\((Drill.allCases.map(\.rawValue) + ["all"]).joined(separator: "|"))]", operandsMax: 1,
        options: [
            Option(name: "--config", value: "FILE", help: "against the real API, on a route that this file marks by routes[].drill"),
            Option(name: "--route", value: "NAME", help: "which one, if several are marked"),
            Option(name: "--json", value: nil, help: "print the checks as JSON"),
            Option(name: "--redis", value: "ADDRESS", help: "rotate-race with two gateways that share a login in this Redis"),
        ],
        examples: [
            "cryonet drill", "cryonet drill idp-down --json", "cryonet drill rotate-race --redis 127.0.0.1:6379",
            "cryonet drill storm --config cryonet.yaml --route api",
        ]
    ) { arguments throws(UsageError) in
        var drills = Drill.allCases
        if let name = arguments.operands.first, name != "all" {
            guard let drill = Drill(rawValue: name) else { throw UsageError(message: "there is no drill \(name)") }
            drills = [drill]
        }
        if arguments.has("--config"), arguments.has("--redis") {
            throw UsageError(message: "--redis is for the demo API: with --config the token's own store counts")
        }
        if arguments.has("--route"), !arguments.has("--config") { throw UsageError(message: "--route needs --config") }
        do throws(GatewayError) {
            var reports: [DrillReport] = []
            if let file = arguments.value("--config") {
                guard let loaded = ConfigurationFile.load(file, overrides: []) else { return ExitStatus.failed }
                let route = try RouteDrill(loaded.configuration, route: arguments.value("--route"))
                for drill in drills { reports.append(try route.run(drill)) }
            } else {
                for drill in drills { reports.append(try drill.run(redis: arguments.value("--redis"))) }
            }
            print(arguments.has("--json") ? DrillReport.json(of: reports) : DrillReport.table(of: reports), terminator: "")
            return reports.allSatisfy(\.isPassed) ? ExitStatus.done : ExitStatus.failed
        } catch {
            print(error: error.description)
            return ExitStatus.failed
        }
    }
}
