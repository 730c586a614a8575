// Reads configuration files for the commands and prints their problems.
// Domain: cold

import CryoConfig
import CryoIO
import Glibc

enum ConfigurationFile {
    /// Larger files are refused.
    private static let bytesMax = 1 << 20

    /// nil after the problems were printed, each as `file:line:col: message`.
    static func load(_ path: String, overrides: [ConfigurationOverride], showsWarnings: Bool = true) -> LoadedConfiguration? {
        guard let bytes = read(path) else { return nil }
        return report(
            readConfiguration(bytes, fileName: path, overrides: overrides, environment: environment), showsWarnings: showsWarnings)
    }

    static func report(
        _ result: Result<LoadedConfiguration, ConfigurationProblems>, showsWarnings: Bool = true
    ) -> LoadedConfiguration? {
        switch result {
        case .success(let loaded):
            if showsWarnings {
                for warning in loaded.warnings { printToError("\(warning) (warning)") }
            }
            return loaded
        case .failure(let problems):
            printToError("\(problems)")
            return nil
        }
    }

    static func overrides(_ arguments: Arguments) throws(UsageError) -> [ConfigurationOverride] {
        var overrides: [ConfigurationOverride] = []
        if let address = arguments.value("--listen") {
            overrides.append(ConfigurationOverride(path: "listen.address", value: address, flag: "--listen"))
        }
        if arguments.has("--unsafe-listen") {
            overrides.append(ConfigurationOverride(path: "listen.unsafe_listen", value: "true", flag: "--unsafe-listen"))
        }
        for text in arguments.all("--set") {
            guard let equals = text.firstIndex(of: "=") else { throw UsageError(message: "--set needs KEY=VALUE") }
            let value = String(text[text.index(after: equals)...])
            overrides.append(ConfigurationOverride(path: String(text[..<equals]), value: value, flag: "--set"))
        }
        return overrides
    }

    private static func read(_ path: String) -> [UInt8]? {
        guard let file = fopen(path, "rb") else {
            print(error: "\(SystemError("can't read \(path)"))")
            return nil
        }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: bytesMax + 1)
        let count = fread(&bytes, 1, bytes.count, file)
        if ferror(file) != 0 {
            print(error: "\(SystemError("can't read \(path)"))")
            return nil
        }
        if count > bytesMax {
            print(error: "\(path) is larger than 1 MiB")
            return nil
        }
        return Array(bytes[..<count])
    }
}
