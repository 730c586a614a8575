// Fuzz entry: configuration files. Time and memory are bounded by libFuzzer's own -timeout and -rss_limit_mb.
// Domain: cold

import CryoConfig
import CryoPipeline

func fuzzYAML(_ bytes: UnsafeRawBufferPointer) throws(Broken) {
    let input = Array(bytes)
    let lines = input.count { $0 == 0x0A || $0 == 0x0D } + 2
    // NEL, LS and PS end lines of YAML too; each takes more bytes than one.
    let linesMax = lines + input.count / 2
    switch readConfiguration(input, fileName: "fuzz.yaml", environment: { _ in nil }) {
    case .failure(let problems):
        try claim(!problems.problems.isEmpty, "a refusal has a reason")
        for problem in problems.problems {
            try claim(!problem.message.isEmpty, "a problem says what it is")
            if case .file(let mark) = problem.origin {
                try claim(mark.line >= 1 && mark.column >= 1 && mark.line <= linesMax, "a problem lies within the file: \(problem)")
            }
        }
    case .success(let loaded):
        try claim(!loaded.configuration.upstreams.isEmpty, "a configuration has an upstream")
        try claim(!loaded.configuration.routes.isEmpty, "a configuration has a route")
        let names = Set(loaded.configuration.upstreams.map(\.name))
        for route in loaded.configuration.routes {
            try claim(names.contains(route.upstream), "a route's upstream exists")
        }
        let printed = ConfigurationPrinter.text(of: loaded)
        switch readConfiguration(Array(printed.utf8), fileName: "printed.yaml", environment: { _ in nil }) {
        case .failure(let problems): throw Broken(property: "what is printed reads back: \(problems)\n\(printed)")
        case .success(let again):
            try claim(values(ConfigurationPrinter.text(of: again)) == values(printed), "what is printed reads back to the same")
        }
    }
}

/// Lines without the comment that tells where a value came from.
private func values(_ text: String) -> [Substring] {
    text.split(separator: "\n").map { line in
        guard let comment = line.range(ofLastComment: " # ") else { return line }
        return line[..<comment].trimmedEnd
    }
}

extension Substring {
    /// Where the last ` # ` begins; origins hold none.
    fileprivate func range(ofLastComment mark: String) -> Index? {
        var index = endIndex
        while index > startIndex {
            formIndex(before: &index)
            if self[index...].hasPrefix(mark) { return index }
        }
        return nil
    }

    fileprivate var trimmedEnd: Substring {
        var end = endIndex
        while end > startIndex, self[self.index(before: end)] == " " { end = self.index(before: end) }
        return self[..<end]
    }
}
