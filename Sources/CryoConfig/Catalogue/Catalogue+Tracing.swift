// Owns the catalogue's keys of traces and timings.
// Domain: pure

import CryoPipeline

extension Catalogue {
    private static let standard = TracingSettings()
    private static let section = Section([
        CatalogueKey(
            "traceparent", .choice(TracingSettings.Traceparent.allCases.map(\.rawValue)), standard: standard.traceparent.rawValue,
            "pass: the client's goes on as it is; join: with the gateway as the parent; make: also begins a trace where there is none"),
        CatalogueKey(
            "server_timing", .boolean, standard: "\(standard.tellsTiming)",
            "tell clients in Server-Timing how long the gateway and the upstream took"),
        CatalogueKey(
            "events", .text(.any), example: "/var/log/cryonet/events.jsonl",
            "a file for what happens inside exchanges, as JSON lines; -: standard output; absent: none"),
    ])

    static let tracing = CatalogueKey("tracing", .section(section), "W3C traces and timings")
}
