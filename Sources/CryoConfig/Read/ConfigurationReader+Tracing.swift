// Reads the section of traces and timings.
// Domain: pure

import CryoPipeline

extension ConfigurationReader {
    func tracing(_ node: YAMLNode?) -> TracingSettings {
        var settings = TracingSettings()
        if let word = node?["traceparent"]?.text, let mode = TracingSettings.Traceparent(rawValue: word) { settings.traceparent = mode }
        settings.tellsTiming = node?["server_timing"]?.boolean ?? false
        settings.eventsFile = node?["events"]?.text
        return settings
    }
}
