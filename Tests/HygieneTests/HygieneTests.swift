// Reads the source tree and holds it to its own rules: who imports whom, how long files and functions may be, what a file says first.
// Domain: cold

import Foundation
import Testing

struct SourceFile {
    let path: String
    let module: String
    let lines: [Substring]
}

let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

func sources(under folder: String) -> [SourceFile] {
    let base = root.appendingPathComponent(folder)
    guard let walker = FileManager.default.enumerator(atPath: base.path) else { return [] }
    return walker.compactMap { $0 as? String }.filter { $0.hasSuffix(".swift") }.sorted().compactMap { relative in
        guard let text = try? String(contentsOf: base.appendingPathComponent(relative), encoding: .utf8) else { return nil }
        let module = relative.split(separator: "/").first.map(String.init) ?? ""
        return SourceFile(
            path: "\(folder)/\(relative)", module: module, lines: text.split(separator: "\n", omittingEmptySubsequences: false))
    }
}

func imports(of file: SourceFile) -> Set<String> {
    Set(
        file.lines.compactMap { line in
            let words = line.split(separator: " ")
            guard let index = words.firstIndex(of: "import"), index <= 2, index + 1 < words.count, !line.hasPrefix("//") else { return nil }
            // `import struct Module.Type` names the module one word later.
            let isScoped = ["struct", "class", "enum", "protocol", "typealias", "func", "let", "var"].contains(words[index + 1])
            let name = words.dropFirst(isScoped ? index + 2 : index + 1).first
            return name?.split(separator: ".").first.map(String.init)
        })
}

@Suite struct HygieneTests {
    /// design §3: what each module may import at most.
    static let allowed: [String: Set<String>] = [
        "CryoHTTP": [],
        "CryoSync": ["Glibc", "Synchronization"],
        "CryoJSON": ["CSimdJSON", "Glibc"],
        "CryoCoding": ["CCoding"],
        "CryoPipeline": ["CryoHTTP", "CryoJSON", "CryoSync"],
        "CryoRecord": ["CryoHTTP", "CryoJSON", "Glibc"],
        "CryoIO": ["CEpoll", "COpenSSL", "Dispatch", "Glibc", "CryoSync"],
        "CryoServer": ["CryoPipeline", "CryoHTTP", "CryoIO", "CEpoll", "Dispatch", "Glibc", "CryoSync"],
        "CryoUpstream": ["CryoPipeline", "CryoHTTP", "CryoIO", "CCurl", "CEpoll", "Dispatch", "Glibc", "CryoSync"],
        "CryoAdmin": [
            "CInspector", "CryoPipeline", "CryoHTTP", "CryoJSON", "CryoRecord", "CryoIO", "CryoAudit", "CryoSync", "Dispatch",
        ],
        "CryoHooks": [
            "CryoPipeline", "CryoJSON", "CryoUpstream", "CryoIO", "CEpoll", "COpenSSL", "Dispatch", "Glibc", "CryoSync",
        ],
        "CryoAudit": ["CCoding", "CISAL", "COpenSSL", "CryoPipeline", "CryoJSON", "CryoIO", "CEpoll", "Dispatch", "Glibc", "CryoSync"],
    ]

    @Test("Every module imports only what its row of the design allows, and the data path no Foundation")
    func importsFollowTheTable() {
        let files = sources(under: "Sources")
        #expect(files.count > 50)
        for file in files {
            guard let allowed = Self.allowed[file.module] else { continue }
            let extra = imports(of: file).subtracting(allowed)
            #expect(extra.isEmpty, "\(file.path) imports \(extra.sorted())")
        }
    }

    @Test("No source file is longer than 500 lines")
    func filesAreShort() {
        for file in sources(under: "Sources") { #expect(file.lines.count <= 500, "\(file.path): \(file.lines.count) lines") }
    }

    @Test("No function is longer than 70 lines")
    func functionsAreShort() {
        for file in sources(under: "Sources") {
            var start: (line: Int, indent: Int)?
            for (index, line) in file.lines.enumerated() {
                let indent = line.prefix { $0 == " " }.count
                let text = line.drop { $0 == " " }
                if start == nil, text.contains("func ") || text.hasPrefix("init("), text.hasSuffix("{"), !text.hasPrefix("//") {
                    start = (index, indent)
                } else if let opened = start, text.hasPrefix("}"), indent == opened.indent {
                    #expect(index - opened.line <= 70, "\(file.path):\(opened.line + 1) is \(index - opened.line) lines long")
                    start = nil
                }
            }
        }
    }

    @Test("Every source file says first what it owns and in which domain it lives")
    func filesOpenWithTheirPurpose() {
        for file in sources(under: "Sources") {
            let opening = file.lines.prefix { $0.hasPrefix("//") }
            #expect(opening.count >= 2, "\(file.path) has no opening comment")
            let domain = opening.first { $0.hasPrefix("// Domain: ") }
            let words = ["pure", "worker", "shared", "cold"]
            #expect(words.contains { domain?.contains($0) ?? false }, "\(file.path) names no domain")
        }
    }

    @Test("A TODO names somebody and a reason")
    func todosHaveReasons() {
        for file in sources(under: "Sources") {
            for (index, line) in file.lines.enumerated() where line.contains("TODO") {
                #expect(line.contains("TODO(") && line.contains("): "), "\(file.path):\(index + 1)")
            }
        }
    }

    @Test("Nothing traps on purpose in the data path, and every escape hatch says why it is safe")
    func escapeHatchesAreExplained() {
        let dataPath = Set(Self.allowed.keys)
        for file in sources(under: "Sources") {
            for (index, line) in file.lines.enumerated() {
                let text = line.drop { $0 == " " }
                if text.hasPrefix("//") { continue }
                if dataPath.contains(file.module) {
                    for banned in ["fatalError(", "try!", "preconditionFailure("] {
                        #expect(!text.contains(banned), "\(file.path):\(index + 1) uses \(banned)")
                    }
                }
                for hatch in ["@unchecked Sendable", "nonisolated(unsafe)", "Unmanaged"] where text.contains(hatch) {
                    let before = file.lines[max(0, index - 6)...index]
                    #expect(before.contains { $0.contains("SAFETY:") }, "\(file.path):\(index + 1): \(hatch) without SAFETY")
                }
            }
        }
    }

    @Test("Every failure reason is in the README's table")
    func reasonsAreDocumented() throws {
        let readme = try String(contentsOf: root.appendingPathComponent("README.md"), encoding: .utf8)
        let table = sources(under: "Sources/CryoPipeline").first { $0.path.hasSuffix("FailureReason.swift") }
        let cases = (table?.lines ?? []).filter { $0.hasPrefix("    case ") && !$0.contains("case .") && !$0.contains(",") }
        let reasons = cases.compactMap { line -> String? in
            if let quote = line.firstIndex(of: "\"") { return String(line[line.index(after: quote)...].dropLast()) }
            return line.split(separator: " ").last.map(String.init)
        }
        #expect(reasons.count > 25)
        for reason in reasons { #expect(readme.contains("`\(reason)`"), "the README's failure table lacks \(reason)") }
    }

    @Test("Every bound of the code has a line in Limits.md")
    func boundsAreDocumented() throws {
        let page = root.appendingPathComponent("Sources/CryoGateway/CryoGateway.docc/Limits.md")
        let limits = try String(contentsOf: page, encoding: .utf8)
        for file in sources(under: "Sources") {
            for line in file.lines where line.contains("static let ") && line.contains("Max") {
                guard let name = line.split(separator: " ").first(where: { $0.hasSuffix("Max") || $0.hasSuffix("Max:") }) else { continue }
                let bound = name.hasSuffix(":") ? String(name.dropLast()) : String(name)
                #expect(limits.contains("`\(bound)`"), "\(file.path): \(bound) has no line in Limits.md")
            }
        }
    }
}
