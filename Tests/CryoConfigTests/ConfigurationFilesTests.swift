// Owns the tests of the files in conf/ and of the catalogue that documents them.
// Domain: cold

import CryoConfig
import Glibc
import Testing

/// The file beside the sources this test was built from.
func confFile(_ name: String) throws -> [UInt8] {
    let root = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3).joined(separator: "/")
    let file = try #require(fopen("\(root)/conf/\(name)", "r"))
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: YAMLDocument.bytesMax)
    let count = fread(&bytes, 1, bytes.count, file)
    return Array(bytes.prefix(count))
}

/// Every variable a file refers to is set, none of the gateway's own.
func setEnvironment(_ name: String) -> String? { name.hasPrefix("CRYONET_") ? nil : "value" }

@Suite struct ConfigurationFilesTests {
    @Test("Each file in conf has neither problems nor unexpected warnings", arguments: ["cryonet.yaml", "minimal.yaml", "sidecar.yaml"])
    func valid(name: String) throws {
        let loaded = try readConfiguration(try confFile(name), fileName: name, environment: setEnvironment).get()
        let expected =
            name == "sidecar.yaml" ? ["sidecar.yaml:6:18: listen.unsafe_listen: whoever can reach this address uses the tokens"] : []
        #expect(loaded.warnings.map(\.description) == expected)
    }

    @Test("conf/minimal.yaml is six lines")
    func minimal() throws {
        #expect(try confFile("minimal.yaml").count { $0 == UInt8(ascii: "\n") } == 6)
    }

    @Test("conf/cryonet.yaml mentions every key of the catalogue, with its default where it has one")
    func complete() throws {
        let root = try #require(YAMLDocument(try confFile("cryonet.yaml")).root)
        var found: [String: [YAMLNode]] = [:]
        func visit(_ node: YAMLNode, _ path: String) {
            found[path, default: []].append(node)
            for entry in node.entries {
                let isNamed = ["upstreams", "tokens", "policies", "policies.*.failure.codes", "policies.*.failure.messages"].contains(path)
                visit(entry.value, isNamed ? "\(path).*" : path.isEmpty ? entry.key : "\(path).\(entry.key)")
            }
            for item in node.items { visit(item, "\(path)[]") }
        }
        visit(root, "")
        for (path, key) in Catalogue.flattened {
            let nodes = try #require(found[path], "\(path) is not in conf/cryonet.yaml")
            guard let standard = key.standard, key.example == standard, case .scalar = nodes[0].content else { continue }
            let expected = YAMLDocument(Array(standard.utf8)).root?.text
            #expect(nodes.contains { $0.text == expected }, "\(path) has not its default \(standard)")
        }
    }

    @Test("Each key of the catalogue has a meaning of one line and an example that its shape accepts")
    func catalogue() throws {
        var paths: Set<String> = []
        for (path, key) in Catalogue.flattened {
            #expect(!key.meaning.isEmpty && !key.meaning.contains("\n") && !key.meaning.hasSuffix("."), "\(path)")
            #expect(paths.insert(path).inserted, "\(path) is there twice")
            if key.name.hasSuffix("_ms") { #expect(key.units == "milliseconds", "\(path)") }
            switch key.shape {
            case .section, .list(.section): continue
            case .map(_, .section): continue
            default: break
            }
            #expect(!key.example.isEmpty, "\(path) has no example")
            #expect(YAMLDocument(Array(key.example.utf8)).problems.isEmpty, "\(path): \(key.example)")
            #expect(Catalogue.problems(of: key) == [], "\(path)")
        }
        #expect(paths.count > 110)
    }

    @Test("The schema names every key and is JSON")
    func schema() throws {
        let text = ConfigurationSchema.text()
        let document = YAMLDocument(Array(text.utf8))
        #expect(document.problems == [])
        for (path, key) in Catalogue.flattened { #expect(text.contains("\"\(key.name)\": {"), "\(path)") }
        let tokens = try #require(document.root?["properties"]?["tokens"]?["additionalProperties"])
        #expect(tokens["oneOf"]?.items.count == 6)
        let timeout = tokens["properties"]?["refresh"]?["properties"]?["timeout_ms"]
        #expect(timeout?["default"]?.integer == 10000)
        #expect(timeout?["maximum"]?.integer == 86_400_000)
    }
}
