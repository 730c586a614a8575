// Owns the catalogue's keys of streams.
// Domain: pure

import CryoPipeline

extension Catalogue {
    private static let streamStandards = StreamSettings()

    static let streams = Section([
        CatalogueKey(
            "idle_ms", .integer(milliseconds), standard: "\(streamStandards.idleMilliseconds)", units: "milliseconds",
            "between two reads of a stream, in the place of the upstream's idle_ms"),
        CatalogueKey(
            "heartbeat_ms", .integer(millisecondsOrNone), standard: "\(streamStandards.heartbeatMilliseconds)", units: "milliseconds",
            "a comment to a client of an event stream that has had nothing for so long, between events; 0: none"),
        CatalogueKey(
            "on_loss", .choice(StreamSettings.Loss.allCases.map(\.rawValue)), standard: streamStandards.onLoss.rawValue,
            "an event stream whose upstream is lost: cut it; error_event: tell the failure in an event first; reconnect: go on by "
                + "Last-Event-ID, and as error_event when that fails"),
        CatalogueKey("reconnect", .section(reconnect), "how on_loss: reconnect tries; GET only"),
    ])

    private static let reconnect = Section([
        CatalogueKey(
            "limit", .integer(1...20), standard: "\(streamStandards.reconnect.limit)", "attempts without an event between them"),
        CatalogueKey(
            "delay_ms", .integer(millisecondsOrNone), standard: "\(streamStandards.reconnect.delayMilliseconds)", units: "milliseconds",
            "the wait before the first, doubled for each further one; a retry field of the stream goes before"),
        CatalogueKey(
            "total_ms", .integer(milliseconds), standard: "\(streamStandards.reconnect.totalMilliseconds)", units: "milliseconds",
            "from the loss to the answer that goes on"),
    ])
}
