// Owns the configuration of `cryonet proxy URL`: a document made of the arguments, read like a file, so that it has the same
// checks, warnings and defaults.
// Domain: cold

import CryoPipeline

package struct QuickConfiguration: Sendable {
    /// The upstream's.
    package var url: String
    /// `env:NAME`, `file:PATH` or the token itself; nil injects nothing.
    package var bearer: String?
    /// `code=0`: field, equals sign, value. Quotes around the value make it text. Or the name of a preset. nil judges no envelope.
    package var success: String?
    package var listen: String?
    package var unsafeListen = false
    package var auditFile: String?
    /// Where the admin side listens.
    package var admin: String?

    package init(url: String) { self.url = url }

    /// Problems name the option in the place of a file. `CRYONET_*` variables count, below the arguments.
    package func load(environment: (String) -> String?) -> Result<LoadedConfiguration, ConfigurationProblems> {
        let start = ConfigurationOrigin.flag("proxy")
        var root = YAMLNode(.mapping([]), start)
        root.set(["listen", "address"], to: plain("127.0.0.1:8080", .flag("--listen")))
        let problems = root.apply(overrides, environment: environment, fileName: "")
        let upstreamName = "upstream"
        root.set(["upstreams", upstreamName, "url"], to: plain(url, .flag("URL")))
        var route = YAMLNode(.mapping([]), start)
        route.set(["name"], to: plain("all", start))
        route.set(["path"], to: plain("/*", start))
        route.set(["upstream"], to: plain(upstreamName, start))
        if let bearer {
            root.set(["tokens", "bearer"], to: tokenNode(bearer))
            route.set(["token"], to: plain("bearer", start))
        }
        if let success {
            root.set(["policies", "envelope", "success"], to: successNode(success))
            route.set(["policy"], to: plain("envelope", start))
        }
        root.set(["routes"], to: YAMLNode(.sequence([route]), start))
        return readConfiguration(root, fileName: "", problems: problems, environment: environment)
    }

    private var overrides: [ConfigurationOverride] {
        var overrides: [ConfigurationOverride] = []
        if let listen { overrides.append(ConfigurationOverride(path: "listen.address", value: listen, flag: "--listen")) }
        if unsafeListen {
            overrides.append(ConfigurationOverride(path: "listen.unsafe_listen", value: "true", flag: "--unsafe-listen"))
        }
        if let admin { overrides.append(ConfigurationOverride(path: "admin.address", value: admin, flag: "--admin")) }
        if let auditFile { overrides.append(ConfigurationOverride(path: "audit.file", value: auditFile, flag: "--audit")) }
        return overrides
    }

    /// References become the sources of their own, which read again on change.
    private func tokenNode(_ text: String) -> YAMLNode {
        let origin = ConfigurationOrigin.flag("--bearer")
        var node = YAMLNode(.mapping([]), origin)
        if text.hasPrefix("env:") {
            node.set(["env", "name"], to: quotedText(String(text.dropFirst(4)), origin))
        } else if text.hasPrefix("file:") {
            node.set(["file", "path"], to: quotedText(String(text.dropFirst(5)), origin))
        } else {
            node.set(["static", "token"], to: quotedText(text, origin))
        }
        return node
    }

    private func successNode(_ text: String) -> YAMLNode {
        let origin = ConfigurationOrigin.flag("--success")
        var node = YAMLNode(.mapping([]), origin)
        guard let equals = text.firstIndex(of: "=") else {
            if EnvelopePreset.named(text) != nil { return quotedText(text, origin) }
            node.set(["field"], to: quotedText(text, origin))
            return node
        }
        node.set(["field"], to: quotedText(String(text[..<equals]), origin))
        let value = String(text[text.index(after: equals)...])
        let isQuoted = value.count >= 2 && value.hasPrefix("\"") && value.hasSuffix("\"")
        node.set(["equals"], to: isQuoted ? quotedText(String(value.dropFirst().dropLast()), origin) : plain(value, origin))
        return node
    }

    private func plain(_ text: String, _ origin: ConfigurationOrigin) -> YAMLNode {
        YAMLNode(.scalar(text: text, isPlain: true), origin)
    }

    private func quotedText(_ text: String, _ origin: ConfigurationOrigin) -> YAMLNode {
        YAMLNode(.scalar(text: text, isPlain: false), origin)
    }
}
