// Reads the section `audit`.
// Domain: cold

import CryoPipeline

extension ConfigurationReader {
    mutating func audit(_ node: YAMLNode) -> AuditSettings? {
        guard let file = node["file"]?.text else { return nil }
        var settings = AuditSettings(file: file)
        choose(node["level"], &settings.level)
        choose(node["bodies"], &settings.bodies)
        assign(node["max_body_bytes"], to: &settings.bodyBytesMax)
        let redact = node["redact"]
        func add(_ key: String, to names: inout [String]) {
            for name in texts(redact?[key]).map({ $0.lowercased() }) where !names.contains(name) { names.append(name) }
        }
        add("headers", to: &settings.redaction.headers)
        add("json", to: &settings.redaction.json)
        add("query", to: &settings.redaction.query)
        add("form", to: &settings.redaction.form)
        add("cookies", to: &settings.redaction.cookies)
        choose(redact?["mode"], &settings.redaction.mode)
        settings.redaction.keyFile = redact?["hmac_key"]?.text
        if settings.redaction.mode == .hmac, settings.redaction.keyFile == nil {
            note(redact?["mode"], "audit.redact.mode: hmac needs audit.redact.hmac_key")
        }
        settings.sink = auditSink(node)
        return settings
    }

    private mutating func auditSink(_ node: YAMLNode) -> AuditSinkSettings {
        var settings = AuditSinkSettings()
        if let text = node["chain"]?.text { settings.chain.isOn = text == "on" }
        settings.chain.keyFile = node["signing_key"]?.text
        assign(node["checkpoint_records"], to: &settings.chain.checkpointRecords)
        assign(node["checkpoint_s"], to: &settings.chain.checkpointSeconds)
        choose(node["on_full"], &settings.onFull)
        assign(node["patience_ms"], to: &settings.blockMilliseconds)
        choose(node["sync"], &settings.sync)
        assign(node["min_free_bytes"], to: &settings.freeBytesMin)
        choose(node["also"], &settings.copy)
        if let path = node["syslog_socket"]?.text {
            settings.syslogPath = path
            // `sun_path` has 108 bytes, the last of them zero.
            if path.utf8.count > 107 { note(node["syslog_socket"], "audit.syslog_socket: longer than a socket's path can be (107 bytes)") }
        }
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
