// Owns the tests that go over every key and over damaged files.
// Domain: cold

import CryoConfig
import Testing

private let base = """
    listen: { address: 127.0.0.1:0, tls: { certificate: a.pem, key: a.key } }
    admin: { address: 127.0.0.1:0 }
    upstreams: { api: { url: https://a.example } }
    routes: [ { name: r, path: /*, upstream: api } ]
    audit: { file: a.jsonl }
    """

@Suite struct ConfigurationSettableTests {
    @Test("Every key outside maps and lists of sections can be set by its variable", arguments: Catalogue.settable.map(\.path))
    func variables(path: [String]) throws {
        let key = try #require(Catalogue.settable.first { $0.path == path }?.key)
        let name = Catalogue.environmentName(of: path)
        #expect(name == "CRYONET_" + path.joined(separator: "_").uppercased())
        var text = key.example
        if case .list = key.shape { text = String(text.dropFirst().dropLast()) }
        guard !text.isEmpty else { return }
        let loaded = try readConfiguration(Array(base.utf8), fileName: "c.yaml", environment: { $0 == name ? text : nil }).get()
        let line = ConfigurationPrinter.text(of: loaded).split(separator: "\n").first { $0.hasSuffix("# env \(name)") }
        #expect(line != nil)
    }

    @Test("No two keys have the same variable")
    func variablesDiffer() {
        let names = Catalogue.settable.map { Catalogue.environmentName(of: $0.path) }
        #expect(Set(names).count == names.count)
    }

    @Test("A key of any kind refuses a value of another kind, with its path", arguments: Catalogue.settable.map(\.path))
    func wrongKind(path: [String]) {
        var text = "{ }"
        for name in path.reversed() { text = "{ \(name): \(text) }" }
        guard case .failure(let problems) = readConfiguration(Array(text.utf8), fileName: "c.yaml", environment: { _ in nil }) else {
            Issue.record("accepted")
            return
        }
        let prefix = "\(path.joined(separator: ".")): expected "
        #expect(problems.problems.contains { $0.message.hasPrefix(prefix) && $0.message.hasSuffix(", found a mapping") })
    }

    @Test("A damaged file is told about, never a trap", arguments: ["cryonet.yaml", "minimal.yaml", "sidecar.yaml"])
    func damaged(name: String) throws {
        let whole = try confFile(name)
        var state: UInt64 = 0x9E37_79B9_7F4A_7C15
        func next(_ bound: Int) -> Int {
            // xorshift64: the same damage on every run.
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return Int(state % UInt64(bound))
        }
        let pieces = [
            "\0", "\n", "\t", "{", "}", "[", "]", ": ", "- ", "*", "&a ", "!x ", "\"", "'", "-1", "99999999999999999999", "é", "null",
        ]
        for _ in 0..<300 {
            var bytes = whole
            for _ in 0...next(4) {
                let start = next(bytes.count)
                let end = min(bytes.count, start + next(6))
                bytes.replaceSubrange(start..<end, with: next(8) == 0 ? [UInt8(next(256))] : Array(pieces[next(pieces.count)].utf8))
            }
            if case .failure(let problems) = readConfiguration(bytes, fileName: name, environment: setEnvironment) {
                #expect(!problems.problems.isEmpty)
                #expect(problems.problems.allSatisfy { $0.description.hasPrefix("\(name):") })
            }
        }
    }
}
