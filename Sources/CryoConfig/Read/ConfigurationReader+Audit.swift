// Reads the section `audit`.
// Domain: cold

import CryoPipeline

extension ConfigurationReader {
    func audit(_ node: YAMLNode) -> AuditSettings? {
        guard let file = node["file"]?.text else { return nil }
        var settings = AuditSettings(file: file)
        choose(node["bodies"], &settings.bodies)
        assign(node["max_body_bytes"], to: &settings.bodyBytesMax)
        let redact = node["redact"]
        func add(_ key: String, to names: inout [String]) {
            for name in texts(redact?[key]).map({ $0.lowercased() }) where !names.contains(name) { names.append(name) }
        }
        add("headers", to: &settings.redaction.headers)
        add("json", to: &settings.redaction.json)
        add("query", to: &settings.redaction.query)
        settings.sink = auditSink(node)
        return settings
    }

    private func auditSink(_ node: YAMLNode) -> AuditSinkSettings {
        var settings = AuditSinkSettings()
        if let text = node["chain"]?.text { settings.chain.isOn = text == "on" }
        settings.chain.keyFile = node["signing_key"]?.text
        assign(node["checkpoint_records"], to: &settings.chain.checkpointRecords)
        assign(node["checkpoint_s"], to: &settings.chain.checkpointSeconds)
        choose(node["sync"], &settings.sync)
        assign(node["min_free_bytes"], to: &settings.freeBytesMin)
        choose(node["also"], &settings.copy)
        if let rotate = node["rotate"] {
            assign(rotate["max_bytes"], to: &settings.rotation.fileBytes)
            assign(rotate["max_records"], to: &settings.rotation.fileRecords)
            choose(rotate["every"], &settings.rotation.every)
            assign(rotate["keep"], to: &settings.rotation.keepFiles)
            assign(rotate["keep_days"], to: &settings.rotation.keepDays)
            if let isCompressed = rotate["gzip"]?.boolean { settings.rotation.isCompressed = isCompressed }
        }
        return settings
    }
}
