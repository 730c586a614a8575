// Reads configuration files for the commands and prints their problems.
// Domain: cold

import CryoConfig
import CryoIO
import Glibc

/// Why there is no configuration.
enum ConfigurationTrouble: Error {
    /// The file can't be read.
    case unreadable(String)
    case problems(ConfigurationProblems)

    /// One line each.
    var lines: [String] {
        switch self {
        case .unreadable(let cause): [cause]
        case .problems(let problems): problems.problems.map(\.description)
        }
    }
}

enum ConfigurationFile {
    /// Larger files are refused.
    private static let bytesMax = 1 << 20

    /// nil after the problems were printed, each as `file:line:col: message`.
    static func load(_ path: String, overrides: [ConfigurationOverride], showsWarnings: Bool = true) -> LoadedConfiguration? {
        try? take(path, overrides: overrides, showsWarnings: showsWarnings).get()
    }

    /// As `load`, with the problems, which are printed all the same.
    static func take(
        _ path: String, overrides: [ConfigurationOverride], showsWarnings: Bool = true
    ) -> Result<LoadedConfiguration, ConfigurationTrouble> {
        let bytes: [UInt8]
        switch read(path) {
        case .success(let read): bytes = read
        case .failure(let trouble):
            for line in trouble.lines { print(error: line) }
            return .failure(trouble)
        }
        let result = readConfiguration(bytes, fileName: path, overrides: overrides, environment: environment)
        _ = report(result, showsWarnings: showsWarnings)
        return result.mapError { .problems($0) }
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

    private static func read(_ path: String) -> Result<[UInt8], ConfigurationTrouble> {
        guard let file = fopen(path, "rb") else { return .failure(.unreadable("\(SystemError("can't read \(path)"))")) }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: bytesMax + 1)
        let count = fread(&bytes, 1, bytes.count, file)
        if ferror(file) != 0 { return .failure(.unreadable("\(SystemError("can't read \(path)"))")) }
        if count > bytesMax { return .failure(.unreadable("\(path) is larger than 1 MiB")) }
        return .success(Array(bytes[..<count]))
    }
}
