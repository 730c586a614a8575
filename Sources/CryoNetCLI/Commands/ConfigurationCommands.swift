// check, config, schema: what a configuration says, without running it.
// Domain: cold

import CryoConfig
import Glibc

private let configOption = Option(name: "--config", value: "FILE", help: "the configuration; default cryonet.yaml")
private let setOption = Option(name: "--set", value: "KEY=VALUE", help: "as for run; may be repeated")

extension CommandLineInterface {
    static let checkCommand = Command(
        name: "check", summary: "check a configuration and print every problem", operands: "FILE", operandsMax: 1, options: [],
        examples: ["cryonet check cryonet.yaml"]
    ) { arguments throws(UsageError) in
        guard let file = arguments.operands.first else { throw UsageError(message: "the file is missing") }
        guard let loaded = ConfigurationFile.load(file, overrides: []) else { return ExitStatus.failed }
        let routes = loaded.configuration.routes.count
        print(
            "\(file): good; \(routes) route\(routes == 1 ? "" : "s"), \(loaded.warnings.count) warning\(loaded.warnings.count == 1 ? "" : "s")"
        )
        return ExitStatus.done
    }

    static let configCommand = Command(
        name: "config", summary: "print the effective configuration with the origin of each value", operands: "", operandsMax: 0,
        options: [configOption, setOption], examples: ["cryonet config --config cryonet.yaml", "CRYONET_WORKERS=1 cryonet config"]
    ) { arguments throws(UsageError) in
        let overrides = try ConfigurationFile.overrides(arguments)
        guard let loaded = ConfigurationFile.load(arguments.value("--config") ?? "cryonet.yaml", overrides: overrides) else {
            return ExitStatus.failed
        }
        print(ConfigurationPrinter.text(of: loaded), terminator: "")
        return ExitStatus.done
    }

    static let schemaCommand = Command(
        name: "schema", summary: "print the JSON Schema of the configuration", operands: "", operandsMax: 0, options: [],
        examples: ["cryonet schema > cryonet.schema.json"]
    ) { _ throws(UsageError) in
        print(ConfigurationSchema.text())
        return ExitStatus.done
    }
}
